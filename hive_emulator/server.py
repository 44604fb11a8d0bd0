"""HTTP/1.1 on asyncio with llhttp's parser (httptools): small, fast to start, and strict with bad clients.

One :class:`Connection` per client. It collects a request, gives it to the application, writes the answer,
and only then looks at the next one. Every state but answering has a deadline, which one sweep a second
enforces: a client that opens a connection and says nothing, sends slowly, or does not read its answer is
cut off.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus

import httptools

from hive_emulator.handlers.exchange import Request, Response
from hive_emulator.protocol.serialise import error_document

log = logging.getLogger("hive_emulator")

Application = Callable[[Request], Awaitable[Response]]

_REASONS = {status.value: status.phrase for status in HTTPStatus}
_MAX_HEADERS = 64 * 1024
_MAX_WAITING = 16  # pipelined requests
_SMALL = 64 * 1024  # bytes of an answer that is sent in one piece: copying it costs less than a second piece


@lru_cache(maxsize=256)
def _lower(name: bytes) -> str:
    """A header's name: the same few come again and again."""
    return name.decode("latin-1").lower()


@dataclass(frozen=True)
class Limits:
    """What a client may do, in bytes and seconds."""

    body: int = 10 * 1024 * 1024
    idle: float = 120.0  # nothing said, between requests
    first: float = 10.0  # nothing said since the connection was opened
    request: float = 30.0  # from a request's first byte to its last
    answer: float = 30.0  # to read the answer
    connections: int = 1000


class HttpServer:
    """Listens, and keeps an eye on its connections."""

    def __init__(self, application: Application, limits: Limits | None = None) -> None:
        self.application = application
        self.limits = limits or Limits()
        self.connections: set[Connection] = set()
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


class Connection(asyncio.Protocol):
    """One client."""

    def __init__(self, server: HttpServer) -> None:
        self._server = server
        self._parser = httptools.HttpRequestParser(self)
        self._transport: asyncio.Transport = None  # type: ignore[assignment]
        self._waiting: deque[tuple[Request, bool]] = deque()
        self._answering: asyncio.Task[None] | None = None
        self._closing = False  # no more requests are taken; what still comes is thrown away
        self._last_word = False  # the client will send no more
        self._peer = ""
        self.deadline: float | None = None
        self.on_message_begin()
        self._receiving = False

    # --- asyncio's side ---

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]
        peer = transport.get_extra_info("peername")
        self._peer = peer[0] if isinstance(peer, tuple) else "local"
        if len(self._server.connections) >= self._server.limits.connections:
            transport.abort()  # type: ignore[attr-defined]
            return
        self._server.connections.add(self)
        self.deadline = time.monotonic() + self._server.limits.first

    def connection_lost(self, exc: Exception | None) -> None:
        self._server.connections.discard(self)
        self.deadline = None
        if self._answering is not None:
            # The work is not undone by a client that went away; only a hanging fault would stay.
            self._closing = True

    def data_received(self, data: bytes) -> None:
        if self._closing:
            return
        if not self._receiving:
            self._receiving = True
            self.deadline = time.monotonic() + self._server.limits.request
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._refuse(400, "MalformedHTTPRequest", "Protocol upgrades are not supported.")
        except httptools.HttpParserError:
            self._refuse(400, "MalformedHTTPRequest", "The request is not valid HTTP/1.1.")
        if not self._headers_done:
            self._header_bytes += len(data)
            if self._header_bytes > _MAX_HEADERS:
                self._refuse(431, "RequestHeaderSectionTooLarge", "The request's headers are too large.")

    def eof_received(self) -> bool:
        # A client that has said its last word still gets its answer.
        self._last_word = True
        return self._answering is not None

    def pause_writing(self) -> None:
        self.deadline = time.monotonic() + self._server.limits.answer

    def resume_writing(self) -> None:
        limits = self._server.limits
        self.deadline = time.monotonic() + (limits.answer if self._closing else limits.idle)

    # --- the parser's side ---

    def on_message_begin(self) -> None:
        self._url = b""
        self._headers: dict[str, str] = {}
        self._body: list[bytes] = []
        self._size = 0
        self._header_bytes = 0
        self._headers_done = False
        self._receiving = True

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        key, text, headers = _lower(name), value.decode("latin-1"), self._headers
        headers[key] = f"{headers[key]},{text}" if key in headers else text

    def on_headers_complete(self) -> None:
        self._headers_done = True
        length = self._headers.get("content-length", "")
        if length.isdigit() and (len(length) > 12 or int(length) > self._server.limits.body):
            self._too_large()
        elif self._headers.get("expect", "").lower() == "100-continue":
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, body: bytes) -> None:
        self._size += len(body)
        if self._closing:
            return
        if self._size > self._server.limits.body:
            self._too_large()
            return
        self._body.append(body)

    def on_message_complete(self) -> None:
        if self._closing:
            return
        self._receiving = False
        target, _, query = self._url.partition(b"?")
        request = Request(
            self._parser.get_method().decode("latin-1"),
            target.decode("latin-1"),
            query,
            self._headers,
            self._body[0] if len(self._body) == 1 else b"".join(self._body),
            self._peer,
            self._transport.is_closing,
        )
        self._waiting.append((request, self._parser.should_keep_alive()))
        if self._answering is None:
            self._next()
        elif len(self._waiting) > _MAX_WAITING:
            self._refuse(400, "MalformedHTTPRequest", "Too many requests at once on one connection.")

    # --- answers ---

    def _next(self) -> None:
        if self._waiting:
            self.deadline = None
            request, keep = self._waiting.popleft()
            self._answering = asyncio.get_running_loop().create_task(self._answer(request, keep))

    async def _answer(self, request: Request, keep: bool) -> None:
        try:
            response = await self._server.application(request)
        except Exception:
            # Without a deadline while it is being answered, nothing else would ever end this connection.
            log.exception("a request was not answered")
            self.abort()
            return
        self._answering = None
        if self._transport.is_closing():
            return
        if response.drop:
            self.abort()
            return
        keep = keep and not self._closing and (not self._last_word or bool(self._waiting))
        self.deadline = time.monotonic() + self._server.limits.idle
        self._write(response, keep, head_only=request.method == "HEAD")
        if keep:
            self._next()
        elif self._last_word or not self._transport.can_write_eof():
            self._closing = True
            self._transport.close()
        else:
            self._hang_up(self._server.limits.answer)

    def _write(self, response: Response, keep: bool, head_only: bool = False) -> None:
        head = (
            f"HTTP/1.1 {response.status} {_REASONS.get(response.status, '')}\r\n"
            f"Content-Type: {response.content_type}\r\nContent-Length: {len(response.body)}\r\n"
            f"Date: {self._server.date()}\r\nServer: hive-emulator\r\n"
            f"{'' if keep else 'Connection: close' + chr(13) + chr(10)}\r\n"
        ).encode("latin-1")
        if head_only:
            self._transport.write(head)
        elif len(response.body) < _SMALL:
            self._transport.write(head + response.body)
        else:
            self._transport.writelines([head, response.body])

    def _too_large(self) -> None:
        most = self._server.limits.body // (1024 * 1024)
        self._refuse(413, "RequestEntityTooLarge", f"The request's body is larger than {most} MB.")

    def _refuse(self, status: int, code: str, message: str) -> None:
        """Answer what is not a request."""
        if self._closing:
            return
        self._closing = True
        self._waiting.clear()
        if self._answering is None:
            self._write(Response(status, refusal(code, message)), keep=False)
            self._hang_up(min(5.0, self._server.limits.first))

    def _hang_up(self, seconds: float) -> None:
        """Close when the client does, and throw away what it still sends: an end with bytes unread resets the
        connection, and takes the answer away from a client that has not read it yet."""
        self._closing = True
        if self._transport.can_write_eof():
            self._transport.write_eof()
        self.deadline = time.monotonic() + seconds

    def finish(self) -> None:
        """Close when the request under way is answered, or now if there is none."""
        self._closing = True
        self._waiting.clear()
        if self._answering is None:
            self._transport.close()

    def abort(self) -> None:
        """Close at once."""
        self._transport.abort()


def refusal(code: str, message: str) -> bytes:
    """An error document for what never became a request."""
    return error_document("ec2", code, message, "00000000-0000-0000-0000-000000000000").encode()
