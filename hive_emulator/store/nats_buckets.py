"""The journal carried over into key-value buckets: ``hive-{kind}``, keys ``{account}.{region}.{id}``, JSON values.

Every emulator takes part, through one shared consumer that hands out one entry at a time and hands it out again if
its taker dies. A value's headers say which journal entry it is of, and it is written with compare-and-set on its
revision: a taker that was stopped for an hour and wakes up can't put an old value over a new one.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Awaitable, Callable

from nats.errors import Error as NatsError
from nats.errors import TimeoutError as NatsTimeout
from nats.js import JetStreamContext
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy, KeyValueConfig, RawStreamMsg
from nats.js.errors import APIError, BucketNotFoundError, NotFoundError

from hive_emulator.store.base import Change

log = logging.getLogger("hive_emulator")

CONSUMER = "hive-buckets"
PREFIX = "hive-"
_ENTRY = "Hive-Entry"  # the journal entry that wrote the value
_CREATED = "Hive-Created"  # entry and place in it of the first value: creation order
_OPERATION = "KV-Operation"
_UNSAFE = re.compile(r"[^-/_a-zA-Z0-9]")
_KEEP = 1000  # entries of the journal that stay for emulators which are a little behind
_ACK_WAIT = 30.0

ReadEntry = Callable[[int, RawStreamMsg], Awaitable[list[Change]]]


def key_of(change: Change) -> str:
    """The bucket's key; what a key can't have is written ``=XX``."""
    id = _UNSAFE.sub(lambda found: "".join(f"={byte:02X}" for byte in found[0].encode()), change.id)
    return f"{change.account}.{change.region}.{id}"


def _id_of(text: str) -> str:
    if "=" not in text:
        return text
    raw = re.sub(rb"=([0-9A-F]{2})", lambda found: bytes.fromhex(found[1].decode()), text.encode())
    return raw.decode()


class Buckets:
    """See the module's text."""

    def __init__(self, js: JetStreamContext, stream: str, subject: str, read_entry: ReadEntry) -> None:
        self._js = js
        self._stream = stream
        self._subject = subject
        self._read_entry = read_entry
        self._known: set[str] = set()
        self._task: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """The shared consumer."""
        config = ConsumerConfig(
            durable_name=CONSUMER, ack_policy=AckPolicy.EXPLICIT, max_ack_pending=1, ack_wait=_ACK_WAIT
        )
        self._queue = await self._js.pull_subscribe(
            self._subject, durable=CONSUMER, stream=self._stream, config=config
        )

    def start(self) -> None:
        """Take part in carrying over."""
        self._task = asyncio.get_running_loop().create_task(self._carry_over())

    async def stop(self) -> None:
        # The client library now and then swallows a cancellation, so one is not enough.
        while self._task and not self._task.done():
            self._task.cancel()
            await asyncio.wait([self._task], timeout=0.1)

    async def carried_over(self) -> int:
        """The journal's entry up to which the buckets are complete."""
        info = await self._js.consumer_info(self._stream, CONSUMER)
        return (info.ack_floor and info.ack_floor.stream_seq) or 0

    async def read(self) -> list[Change]:
        """Everything in the buckets, in creation order."""
        found: list[tuple[tuple[int, int], Change]] = []
        for bucket, messages in (await self._there()).items():
            self._known.add(bucket)
            if messages:
                found += await self._read_bucket(bucket)
        found.sort(key=lambda pair: pair[0])
        return [change for _, change in found]

    async def _there(self) -> dict[str, int]:
        """Our buckets and how many messages each has."""
        found: dict[str, int] = {}
        offset = 0
        while page := await self._js.streams_info(offset):
            offset += len(page)
            for info in page:
                name = info.config.name or ""
                if name.startswith(f"KV_{PREFIX}"):
                    found[name.removeprefix("KV_")] = info.state.messages
        return found

    async def _read_bucket(self, bucket: str) -> list[tuple[tuple[int, int], Change]]:
        config = ConsumerConfig(deliver_policy=DeliverPolicy.LAST_PER_SUBJECT)
        values = await self._js.subscribe(f"$KV.{bucket}.>", ordered_consumer=True, config=config)
        found = []
        kind = bucket.removeprefix(PREFIX)
        while True:
            message = await values.next_msg(timeout=10)
            if _OPERATION not in (message.headers or {}):
                account, region, id = message.subject.split(".", 2)[2].split(".", 2)
                record = json.loads(message.data)
                found.append((_created(message.headers), Change(account, region, kind, _id_of(id), record)))
            if message.metadata.num_pending == 0:
                break
        await values.unsubscribe()
        return found

    # --- in the background ---

    async def _carry_over(self) -> None:
        done = 0
        await self._drop_old_markers()
        while True:
            try:
                [message] = await self._queue.fetch(1, timeout=30)
                number = message.metadata.sequence.stream
                raw = RawStreamMsg(seq=number, data=message.data, headers=message.headers)
                for place, change in enumerate(await self._read_entry(number, raw)):
                    await self._write(number, place, change)
                await message.ack_sync()
                done += 1
                if done % _KEEP == 0 and number > _KEEP:
                    await self._js.purge_stream(self._stream, seq=number - _KEEP)
            except NatsTimeout:
                continue
            except NatsError as error:
                log.warning("carrying the journal over into the buckets: %s; trying again", error)
                await asyncio.sleep(1)

    async def _drop_old_markers(self) -> None:
        """What is left of deleted keys: kept an hour, so that a late writer still meets it."""
        for bucket in sorted(self._known):
            try:
                await (await self._js.key_value(bucket)).purge_deletes(olderthan=3600)
            except NatsError as error:
                log.warning("dropping markers of deleted keys in %s: %s", bucket, error)

    async def _write(self, number: int, place: int, change: Change) -> None:
        bucket = PREFIX + change.kind
        await self._make(bucket)
        subject = f"$KV.{bucket}.{key_of(change)}"
        while True:
            revision, headers = await self._last(bucket, subject)
            if int(headers.get(_ENTRY, 0)) >= number:
                return
            try:
                await self._put(subject, revision, headers, number, place, change)
                return
            except APIError as error:
                if error.err_code != 10071:
                    raise

    async def _put(
        self, subject: str, revision: int, before: dict[str, str], number: int, place: int, change: Change
    ) -> None:
        headers = {"Nats-Expected-Last-Subject-Sequence": str(revision), _ENTRY: str(number)}
        if change.record is None:
            headers[_OPERATION] = "DEL"
            await self._js.publish(subject, b"", headers=headers)
            return
        fresh = f"{number}.{place}"
        headers[_CREATED] = fresh if _OPERATION in before else before.get(_CREATED, fresh)
        await self._js.publish(subject, json.dumps(change.record).encode(), headers=headers)

    async def _last(self, bucket: str, subject: str) -> tuple[int, dict[str, str]]:
        try:
            found = await self._js.get_last_msg(f"KV_{bucket}", subject, direct=True)
        except NotFoundError:
            return 0, {}
        return found.seq or 0, found.headers or {}

    async def _make(self, bucket: str) -> None:
        if bucket in self._known:
            return
        try:
            await self._js.key_value(bucket)
        except BucketNotFoundError:
            await self._js.create_key_value(KeyValueConfig(bucket=bucket, history=1, direct=True))
        self._known.add(bucket)


def _created(headers: dict[str, str] | None) -> tuple[int, int]:
    entry, _, place = (headers or {}).get(_CREATED, "0.0").partition(".")
    return int(entry), int(place)
