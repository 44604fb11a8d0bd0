"""One client's connection: it collects a request, gives it to the application, writes the answer, and only then looks
at the next one.

Nobody has signed anything yet here, so what a request can cost is limited, in memory and in CPU time:

1. Every callback of the parser counts its bytes: headers, trailers (which are ignored), chunks. What is too large
   raises :class:`_Refused` there and then, so the rest isn't even parsed. What no callback sees (a header that
   doesn't end, a chunk's extension) is counted when it is received.
2. Who sends in many small pieces, or goes on after a refusal, is read from every 20 ms only: the kernel collects
   the pieces meanwhile.
3. Bodies that wait for their end or for an answer have a limit together, over all connections.
4. Who doesn't read its answers gets no further ones.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from functools import lru_cache
from http import HTTPStatus
from typing import TYPE_CHECKING

import httptools

from hive_emulator.handlers.exchange import Request, Response
from hive_emulator.protocol.serialise import error_document

if TYPE_CHECKING:
    from hive_emulator.server import HttpServer

log = logging.getLogger("hive_emulator")

_REASONS = {status.value: status.phrase for status in HTTPStatus}
_MAX_HEADERS = 64 * 1024  # bytes of all of them, the target and trailers included
_A_FIELD = 512  # bytes that a header counts for beside its text: so there are at most 128
_MAX_FRAMING = 128 * 1024  # bytes of a request that aren't its body
_SMALL_BODY = 16 * 1024  # bytes that a request is not counted for
_MAX_CHUNKS = 1000  # of any size; from then on they must have _CHUNK bytes on average
_CHUNK = 1024
_PROMPT = 64  # pieces of a request that are read as they come, however small they are
_SMALL_PIECE = 4096
_MAX_THROWN_AWAY = 16 * 1024 * 1024  # bytes
_REST = 0.02  # seconds until a client is read from again
_MAX_WAITING = 16  # pipelined requests
_SMALL = 64 * 1024  # bytes of an answer that is sent in one piece: copying it costs less than a second piece


@lru_cache(maxsize=256)
def _lower(name: bytes) -> str:
    """A header's name: the same few come again and again."""
    return name.decode("latin-1").lower()


class _Refused(Exception):
    """What a client sends is no request: status, code and message of the answer."""


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
        self._unread = False  # the client doesn't read its answers
        self._thrown_away = 0  # bytes
        self._held = 0  # bytes of bodies not yet answered
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
        self._release(self._held)
        self.deadline = None
        if self._answering is not None:
            # The work is not undone by a client that went away; only a hanging fault would stay.
            self._closing = True

    def data_received(self, data: bytes) -> None:
        if self._closing:
            self._throw_away(len(data))
            return
        if not self._receiving:
            self._receiving = True
            self.deadline = time.monotonic() + self._server.limits.request
        try:
            self._parser.feed_data(data)
            if self._receiving:
                self._count_piece(len(data))
        except httptools.HttpParserUpgrade:
            self._refuse(400, "MalformedHTTPRequest", "Protocol upgrades are not supported.")
        except httptools.HttpParserError as error:
            if isinstance(error.__context__, _Refused):
                self._refuse(*error.__context__.args)
            else:
                self._refuse(400, "MalformedHTTPRequest", "The request is not valid HTTP/1.1.")
        except _Refused as error:
            self._refuse(*error.args)

    def _count_piece(self, size: int) -> None:
        """A piece that didn't complete its request."""
        self._pieces += 1
        self._received += size
        if self._received - self._size > _MAX_FRAMING:
            self._framing_too_large()
        if self._pieces > _PROMPT and size < _SMALL_PIECE:
            self._rest()

    def _throw_away(self, size: int) -> None:
        """What comes after the end is read so that the client gets to its answer, but not for ever."""
        self._thrown_away += size
        if self._thrown_away > _MAX_THROWN_AWAY:
            self.abort()
        else:
            self._rest()

    def _rest(self) -> None:
        """Read no more for a moment."""
        self._transport.pause_reading()
        asyncio.get_running_loop().call_later(_REST, self._read_again)

    def _read_again(self) -> None:
        if not self._transport.is_closing():
            self._transport.resume_reading()

    def eof_received(self) -> bool:
        # A client that has said its last word still gets its answer.
        self._last_word = True
        return self._answering is not None

    def pause_writing(self) -> None:
        self._unread = True
        self.deadline = time.monotonic() + self._server.limits.answer

    def resume_writing(self) -> None:
        limits = self._server.limits
        self._unread = False
        self.deadline = time.monotonic() + (limits.answer if self._closing else limits.idle)
        if self._answering is None and not self._closing:
            self._next()

    # --- the parser's side ---

    def on_message_begin(self) -> None:
        self._url: list[bytes] = []
        self._headers: dict[str, str] = {}
        self._body: list[bytes] = []
        self._size = 0
        self._pieces = 0
        self._received = 0
        self._header_room = _MAX_HEADERS
        self._headers_done = False
        self._receiving = True

    def on_url(self, url: bytes) -> None:
        self._header_room -= len(url)
        self._url.append(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._header_room -= len(name) + len(value) + _A_FIELD
        if self._header_room < 0:
            raise _Refused(431, "RequestHeaderSectionTooLarge", "The request's headers are too large or too many.")
        if self._headers_done:
            return  # a trailer
        key, text, headers = _lower(name), value.decode("latin-1"), self._headers
        headers[key] = f"{headers[key]},{text}" if key in headers else text

    def on_headers_complete(self) -> None:
        self._headers_done = True
        if self._header_room < 0:
            self._framing_too_large()
        length = self._headers.get("content-length", "")
        if length.isdigit() and (len(length) > 12 or int(length) > self._server.limits.body):
            self._too_large()
        elif self._headers.get("expect", "").lower() == "100-continue" and not self._unread:
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, body: bytes) -> None:
        self._size += len(body)
        self._body.append(body)
        if self._size > _SMALL_BODY:
            self._hold(len(body) if self._size - len(body) > _SMALL_BODY else self._size)

    def _hold(self, size: int) -> None:
        """More of a body that isn't small."""
        server = self._server
        self._held += size
        server.held += size
        if self._size > server.limits.body:
            self._too_large()
        if len(self._body) > _MAX_CHUNKS + self._size // _CHUNK:
            raise _Refused(400, "MalformedHTTPRequest", "The request's body comes in too many small chunks.")
        if server.held > server.limits.held:
            raise _Refused(503, "Unavailable", "Too many large requests at once: try again later.")

    def on_message_complete(self) -> None:
        self._receiving = False
        target, _, query = b"".join(self._url).partition(b"?")
        request = Request(
            self._parser.get_method().decode("latin-1"),
            target.decode("latin-1"),
            query,
            self._headers,
            self._body[0] if len(self._body) == 1 else b"".join(self._body),
            self._peer,
            self._transport.is_closing,
        )
        self._body = []
        self._waiting.append((request, self._parser.should_keep_alive()))
        if self._answering is None:
            self._next()
        if len(self._waiting) > _MAX_WAITING:
            raise _Refused(400, "MalformedHTTPRequest", "Too many requests at once on one connection.")

    # --- answers ---

    def _next(self) -> None:
        if self._waiting and not self._unread:
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
        if self._held and len(request.body) > _SMALL_BODY:
            self._release(len(request.body))
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
        raise _Refused(413, "RequestEntityTooLarge", f"The request's body is larger than {most} MB.")

    def _framing_too_large(self) -> None:
        if self._headers_done and self._header_room >= 0:
            raise _Refused(400, "MalformedHTTPRequest", "There is too much around the chunks of the request's body.")
        raise _Refused(431, "RequestHeaderSectionTooLarge", "The request's headers are too large or too many.")

    def _release(self, size: int) -> None:
        """Bytes of a body are no longer held."""
        size = min(size, self._held)
        self._held -= size
        self._server.held -= size

    def _refuse(self, status: int, code: str, message: str) -> None:
        """Answer what is not a request."""
        self._closing = True
        self._waiting.clear()
        self._body = []
        self._release(self._held)
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
