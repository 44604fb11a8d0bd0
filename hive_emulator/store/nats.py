"""A store on NATS JetStream that several emulators share.

1. A commit is one message in the stream ``hive-journal``, accepted only if it directly follows what this process
   has seen (expected last sequence). So commits are all or nothing, in one order for everybody, and a writer that
   is behind finds out: it catches up and looks whether what it had read still stands.
2. Every process applies the journal to its state in that order. A doorbell (the same subject, without JetStream)
   makes it look at once; ``catch_up`` asks for the journal's last number, so a read sees every acknowledged write.
3. In the background the journal is carried over into a key-value bucket per kind (``nats_buckets``), and its old
   part is dropped. A start reads the buckets, then what the journal has beyond them: nothing is lost by a crash
   between the two.
4. An entry larger than NATS takes as one message is cut into parts, which count when the last one is there.
"""

from __future__ import annotations

import asyncio
import json
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import nats
from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.js import JetStreamContext
from nats.js.api import RawStreamMsg, StreamConfig
from nats.js.errors import APIError, NotFoundError

from hive_emulator.errors import ApiError
from hive_emulator.store.base import Change, Conflict, StoreFailed, without_password
from hive_emulator.store.nats_buckets import Buckets
from hive_emulator.store.state import State

STREAM = "hive-journal"
SUBJECT = "hive.journal"
_WRONG_LAST_SEQUENCE = 10071
_PART = "Hive-Part"  # "2/3"
_CONNECT = 4.0  # seconds
_ROOM = 16 * 1024  # of a message, for its headers


class NatsStore:
    """See the module's text."""

    shared = True

    def __init__(self, url: str) -> None:
        self.state = State()
        self._url = url
        self._seen = 0  # the last journal entry in the state
        self._committing = asyncio.Lock()
        self._reading = asyncio.Lock()
        self._look: asyncio.Task[None] | None = None  # a look at the journal that has not begun yet
        self._nats: Client
        self._js: JetStreamContext
        self._buckets: Buckets

    async def open(self) -> None:
        await self._connect()
        try:
            self._js = self._nats.jetstream(timeout=10)
            await self._js.add_stream(StreamConfig(STREAM, subjects=[SUBJECT], allow_direct=True))
            self._buckets = Buckets(self._js, STREAM, SUBJECT, self._entry)
            await self._buckets.open()
            await self._nats.subscribe(SUBJECT, cb=self._doorbell)
            await self._load()
            self._buckets.start()
        except (NatsError, asyncio.TimeoutError) as error:
            raise StoreFailed(
                f"{without_password(self._url)} can't be used (is JetStream on? nats-server -js): {error}"
            ) from error

    async def _connect(self) -> None:
        problems: list[Exception] = []

        async def note(error: Exception) -> None:
            problems.append(error)
            del problems[:-1]

        # no_echo: our own commits need not ring our own doorbell. Once connected, it reconnects for ever.
        trying = nats.connect(self._url, no_echo=True, max_reconnect_attempts=-1, error_cb=note)
        try:
            self._nats = await asyncio.wait_for(trying, _CONNECT)
        except (NatsError, OSError, asyncio.TimeoutError) as error:
            why = problems[-1] if problems else error
            raise StoreFailed(f"no NATS server at {without_password(self._url)}: {why}") from error

    async def close(self) -> None:
        await self._buckets.stop()
        await self._nats.close()

    async def settled(self) -> None:
        """The state only ever shows what NATS has acknowledged."""

    async def catch_up(self) -> None:
        # Callers share a look that has not begun: it sees whatever was acknowledged before they came.
        if self._look is None:
            self._look = asyncio.get_running_loop().create_task(self._look_now())
        await asyncio.shield(self._look)

    async def commit(self, changes: Sequence[Change], unchanged: Callable[[], bool]) -> None:
        parts = self._parts(changes)
        async with self._committing:
            while True:
                if not unchanged():
                    raise Conflict
                sequence = await self._publish(parts)
                if sequence is not None:
                    break
                await self.catch_up()
            if self._seen == sequence - len(parts):
                self._seen = sequence
                self.state.apply(changes)

    # --- writing ---

    def _parts(self, changes: Sequence[Change]) -> list[bytes]:
        size = self._nats.max_payload - _ROOM
        rows = [json.dumps(change) for change in changes]
        if len(max(rows, key=len)) > size:
            raise ApiError("RequestEntityTooLarge", f"One record would be larger than {size:,} bytes.", 413)
        data = zlib.compress(f"[{','.join(rows)}]".encode(), 1)
        return [data[at : at + size] for at in range(0, len(data), size)]

    async def _publish(self, parts: list[bytes]) -> int | None:
        """The journal's number for the entry; None when somebody else was faster."""
        last = self._seen
        try:
            for number, part in enumerate(parts, 1):
                headers = {
                    "Nats-Expected-Last-Sequence": str(last),
                    "Nats-Expected-Stream": STREAM,
                    _PART: f"{number}/{len(parts)}",
                }
                last = (await self._js.publish(SUBJECT, part, headers=headers)).seq
        except APIError as error:
            if error.err_code == _WRONG_LAST_SEQUENCE:
                return None
            raise StoreFailed(f"NATS refused the commit: {error}") from error
        except (NatsError, asyncio.TimeoutError) as error:
            raise StoreFailed(f"NATS did not acknowledge the commit: {error}") from error
        return last

    # --- reading ---

    async def _doorbell(self, _: Any) -> None:
        try:
            await self.catch_up()
        except StoreFailed:
            pass  # the next request will look again, and say so

    async def _look_now(self) -> None:
        async with self._reading:
            self._look = None
            try:
                await self._read_to(await self._last())
            except (NatsError, asyncio.TimeoutError) as error:
                raise StoreFailed(f"NATS does not answer: {error}") from error

    async def _last(self) -> int:
        return (await self._stream_state())["last_seq"]

    async def _stream_state(self) -> dict[str, Any]:
        answer = await self._nats.request(f"$JS.API.STREAM.INFO.{STREAM}", b"", timeout=5)
        return json.loads(answer.data)["state"]

    async def _read_to(self, last: int) -> None:
        while self._seen < last:
            number = self._seen + 1
            try:
                changes = await self._entry(number, await self._js.get_msg(STREAM, number, direct=True))
            except NotFoundError:  # dropped already: we were away for long
                await self._load()
                return
            if self._seen < number:  # else it was our own commit, applied meanwhile
                self._seen = number
                self.state.apply(changes)

    async def _entry(self, number: int, message: RawStreamMsg) -> list[Change]:
        """The changes of the journal's entry ``number``: none for a part that is not the last."""
        part, parts = map(int, (message.headers or {}).get(_PART, "1/1").split("/"))
        if part < parts:
            return []
        data = message.data or b""
        for before in range(number - 1, number - parts, -1):
            data = ((await self._js.get_msg(STREAM, before, direct=True)).data or b"") + data
        return [Change(*row) for row in json.loads(zlib.decompress(data))]

    async def _load(self) -> None:
        """Everything: the buckets, then the journal from where they end."""
        while True:
            start = await self._buckets.carried_over()
            changes = await self._buckets.read()
            state = await self._stream_state()
            if state["first_seq"] <= start + 1 or state["last_seq"] <= start:
                break
        self.state.clear()
        self.state.apply(changes)
        self._seen = start
        await self._read_to(state["last_seq"])
