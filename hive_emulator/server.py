"""HTTP/1.1 on asyncio with llhttp's parser (httptools): small, fast to start, and strict with bad clients.

One :class:`Connection` per client (``connection.py``). Every state but answering has a deadline, which one sweep a
second enforces: a client that opens a connection and says nothing, sends slowly, or does not read its answer is cut
off.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from email.utils import formatdate

from hive_emulator.connection import Connection
from hive_emulator.handlers.exchange import Request, Response

Application = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True)
class Limits:
    """What a client may do, in bytes and seconds."""

    body: int = 10 * 1024 * 1024
    idle: float = 120.0  # nothing said, between requests
    first: float = 10.0  # nothing said since the connection was opened
    request: float = 30.0  # from a request's first byte to its last
    answer: float = 30.0  # to read the answer
    connections: int = 1000
    held: int = 256 * 1024 * 1024  # bodies of all connections together


class HttpServer:
    """Listens, and keeps an eye on its connections."""

    def __init__(self, application: Application, limits: Limits | None = None) -> None:
        self.application = application
        self.limits = limits or Limits()
        self.connections: set[Connection] = set()
        self.held = 0  # bytes of bodies not yet answered
        self._server: asyncio.Server | None = None
        self._sweeper: asyncio.Task[None] | None = None
        self._date = (0, "")

    async def start(self, host: str, port: int, tls: ssl.SSLContext | None = None) -> int:
        """Listen; returns the port."""
        loop = asyncio.get_running_loop()
        handshake = self.limits.first if tls else None
        self._server = await loop.create_server(
            lambda: Connection(self), host, port, ssl=tls, backlog=1024, ssl_handshake_timeout=handshake
        )
        self._sweeper = loop.create_task(self._sweep())
        return int(self._server.sockets[0].getsockname()[1])

    async def stop(self, grace: float = 5.0) -> None:
        """Take no more, let requests under way finish for ``grace`` seconds, then close everything."""
        if self._server is None:
            return
        self._server.close()
        for connection in list(self.connections):
            connection.finish()
        until = time.monotonic() + grace
        while self.connections and time.monotonic() < until:
            await asyncio.sleep(0.02)
        for connection in list(self.connections):
            connection.abort()
        if self._sweeper:
            self._sweeper.cancel()

    def date(self) -> str:
        """Now, for the Date header."""
        now = int(time.time())
        if self._date[0] != now:
            self._date = (now, formatdate(now, usegmt=True))
        return self._date[1]

    async def _sweep(self) -> None:
        pause = min(1.0, min(self.limits.first, self.limits.request) / 4)
        while True:
            await asyncio.sleep(pause)
            now = time.monotonic()
            for connection in [c for c in self.connections if c.deadline is not None and c.deadline < now]:
                connection.abort()
