"""One line of JSON per request, and its count. Never a signature, a secret or a parameter."""

from __future__ import annotations

import asyncio
import json
import queue
import threading
import time
from functools import lru_cache
from typing import TextIO

from hive_emulator.handlers.exchange import Exchange, Response

_quoted = lru_cache(maxsize=256)(json.JSONEncoder().encode)  # the same few addresses, actions and codes


# When, id, peer, account, region, service, action, status, code, seconds, bytes received and sent.
Entry = tuple[float, str, str, str, str, str, str, int, str, float, int, int]


def line(entry: Entry) -> str:
    """As JSON, put together by hand: only three of its texts may need quotes inside."""
    at, id, peer, account, region, service, action, status, code, seconds, received, sent = entry
    return (
        f'{{"time": "{_second(int(at))}", "id": "{id}", "peer": {_quoted(peer)}, '
        f'"account": "{account}", "region": "{region}", "service": "{service}", '
        f'"action": {_quoted(action)}, "status": {status}, "code": {_quoted(code)}, '
        f'"ms": {seconds * 1000:.2f}, "in": {received}, "out": {sent}}}\n'
    )


@lru_cache(maxsize=1)
def _second(now: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now))


class AccessLog:
    """Collects entries and writes them together, five times a second: a write per request would cost a third of it.

    A thread does the writing, so that whoever does not read our standard error holds up no request; past ``most``
    lines that can't be got rid of, new ones are dropped.
    """

    pause = 0.2
    most = 50_000

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._entries: list[Entry] = []
        self._waiting = 0  # lines handed to the thread and not yet written
        self._batches: queue.SimpleQueue[list[str] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._write, name="hive-access-log", daemon=True)
        self._thread.start()

    def add(self, entry: Entry) -> None:
        """Take one entry; it is written soon."""
        if not self._entries:
            asyncio.get_running_loop().call_later(self.pause, self._hand_over)
        if self._waiting < self.most:
            self._entries.append(entry)

    def _hand_over(self) -> None:
        entries, self._entries = self._entries, []
        self._waiting += len(entries)
        self._batches.put([line(entry) for entry in entries])

    def close(self, timeout: float = 2.0) -> None:
        """Write what was collected, if that can be done in time."""
        self._hand_over()
        self._batches.put(None)
        self._thread.join(timeout)

    def _write(self) -> None:
        while (lines := self._batches.get()) is not None:
            try:
                self._stream.write("".join(lines))
                self._stream.flush()
            except (OSError, ValueError):
                pass  # nobody is there to read it any more
            self._waiting -= len(lines)


def account_for(x: Exchange, response: Response) -> None:
    """Count the request and log it."""
    seconds = time.perf_counter() - x.started
    code = x.error.code if x.error else "OK" if response.status < 400 else "Refused"
    if x.aside:
        service, action = "hive", f"{x.request.method} {x.request.path[:80]}"
    else:
        service, action = x.service, x.action if x.operation else "unknown"
        x.emulator.metrics.count(service, action, code, seconds)
    if x.emulator.access_log is not None:
        x.emulator.access_log.add(
            (
                time.time(),
                x.id,
                x.request.peer,
                x.account,
                x.region,
                service,
                action,
                response.status,
                code,
                seconds,
                len(x.request.body),
                len(response.body),
            )
        )
