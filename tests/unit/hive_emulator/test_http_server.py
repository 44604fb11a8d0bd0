"""The HTTP server with clients as they come: good, slow, silent, broken."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
import uvloop

from hive_emulator.handlers.exchange import Request, Response
from hive_emulator.server import HttpServer, Limits

PATIENT = Limits(body=20_000)
QUICK = Limits(body=1000, idle=0.3, first=0.3, request=0.4, answer=0.5)  # for those who are to be cut off
GET = b"GET /a?b=c HTTP/1.1\r\nHost: x\r\n\r\n"


class Client:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def answer(self) -> tuple[int, bytes]:
        head = await self.reader.readuntil(b"\r\n\r\n")
        length = next(int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.startswith(b"Content-Length"))
        return int(head.split()[1]), await self.reader.readexactly(length)

    async def closed(self) -> bool:
        try:
            return await self.reader.read(1) == b""
        except ConnectionError:
            return True


def talk(
    conversation: Callable[[Callable[[], Awaitable[Client]]], Awaitable[None]],
    application: Callable[[Request], Awaitable[Response]] | None = None,
    limits: Limits = PATIENT,
) -> None:
    async def echo(request: Request) -> Response:
        text = f"{request.method} {request.path} {request.query.decode()} {len(request.body)}"
        return Response(200, text.encode())

    async def run() -> None:
        server = HttpServer(application or echo, limits)
        port = await server.start("127.0.0.1", 0)
        clients = []

        async def connect() -> Client:
            clients.append(Client(*await asyncio.open_connection("127.0.0.1", port)))
            return clients[-1]

        try:
            await asyncio.wait_for(conversation(connect), 60)
        finally:
            for client in clients:
                client.writer.close()
            await server.stop(grace=1)

    uvloop.run(run())


def test_a_connection_is_kept_and_serves_one_request_after_the_other() -> None:
    async def conversation(connect) -> None:
        client = await connect()
        for _ in range(3):
            await client.send(GET)
            assert await client.answer() == (200, b"GET /a b=c 0")
        await client.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello")
        assert await client.answer() == (200, b"POST /  5")

    talk(conversation)


def test_requests_sent_together_are_answered_in_order() -> None:
    async def slower_first(request: Request) -> Response:
        await asyncio.sleep(0.05 if request.path == "/1" else 0)
        return Response(200, request.path.encode())

    async def conversation(connect) -> None:
        client = await connect()
        await client.send(b"".join(b"GET /%d HTTP/1.1\r\nHost: x\r\n\r\n" % n for n in (1, 2, 3)))
        assert [(await client.answer())[1] for _ in range(3)] == [b"/1", b"/2", b"/3"]

    talk(conversation, slower_first)


def test_an_application_that_breaks_closes_the_connection_instead_of_leaving_it_open() -> None:
    async def broken(request: Request) -> Response:
        raise RuntimeError("no answer")

    async def conversation(connect) -> None:
        client = await connect()
        await client.send(GET)
        assert await client.closed()

    talk(conversation, broken)


def test_a_chunked_body_and_expect_continue_are_understood() -> None:
    async def conversation(connect) -> None:
        client = await connect()
        await client.send(
            b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
        )
        assert await client.answer() == (200, b"POST /  5")
        await client.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
        assert await client.reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        await client.send(b"ab")
        assert await client.answer() == (200, b"POST /  2")

    talk(conversation)


def test_a_client_that_has_said_its_last_word_gets_its_answer_and_an_end() -> None:
    async def slow(request: Request) -> Response:
        await asyncio.sleep(0.05)
        return Response(200, b"late")

    async def conversation(connect) -> None:
        client = await connect()
        await client.send(GET)
        client.writer.write_eof()
        assert await client.answer() == (200, b"late")
        assert await client.closed()

    talk(conversation, slow)


def test_head_has_no_body_and_close_is_honoured() -> None:
    async def conversation(connect) -> None:
        client = await connect()
        await client.send(b"HEAD / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        head = await client.reader.read()
        assert head.startswith(b"HTTP/1.1 200")
        assert head.endswith(b"\r\n\r\n")
        assert b"Connection: close" in head

    talk(conversation)


@pytest.mark.parametrize("length", [b"20001", b"99999999999999999999999"])
def test_a_body_that_says_it_is_too_large_is_refused_before_it_comes(length: bytes) -> None:
    async def conversation(connect) -> None:
        client = await connect()
        await client.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: " + length + b"\r\n\r\n")
        status, body = await client.answer()
        assert status in (400, 413)
        assert b"<Code>" in body
        assert await client.closed()

    talk(conversation)


def test_a_chunked_body_that_grows_too_large_is_refused() -> None:
    async def conversation(connect) -> None:
        client = await connect()
        await client.send(b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        await client.send(b"5000\r\n" + b"x" * 0x5000 + b"\r\n0\r\n\r\n")
        assert (await client.answer())[0] == 413

    talk(conversation)


def test_a_client_that_keeps_sending_a_refused_body_still_reads_the_answer() -> None:
    async def conversation(connect) -> None:
        client = await connect()
        await client.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3000000\r\n\r\n")
        await client.send(b"x" * 3_000_000)
        assert (await client.answer())[0] == 413

    talk(conversation)


@pytest.mark.parametrize(
    "nonsense",
    [
        b"hello\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  # a TLS hello
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET / HTTP/1.1\r\nno colon here\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ],
)
def test_what_is_not_http_gets_a_400_and_is_closed(nonsense: bytes) -> None:
    async def conversation(connect) -> None:
        client = await connect()
        await client.send(nonsense)
        status, body = await client.answer()
        assert status == 400
        assert b"<Code>MalformedHTTPRequest</Code>" in body
        assert await client.closed()

    talk(conversation)


def test_an_upgrade_is_not_taken_up() -> None:
    async def conversation(connect) -> None:
        client = await connect()
        await client.send(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n")
        assert (await client.answer())[0] == 200
        assert await client.closed()

    talk(conversation)


def test_headers_without_end_are_refused() -> None:
    async def conversation(connect) -> None:
        client = await connect()
        try:
            await client.send(b"GET / HTTP/1.1\r\n" + b"".join(b"X-%d: %s\r\n" % (n, b"y" * 90) for n in range(1000)))
            assert (await client.answer())[0] == 431
        except ConnectionError:
            pass  # closed while we were still sending

    talk(conversation)


def test_silent_slow_and_half_open_clients_are_cut_off() -> None:
    async def conversation(connect) -> None:
        silent, slow, idle = await connect(), await connect(), await connect()
        await idle.send(GET)
        await idle.answer()
        await slow.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n")

        async def drip() -> None:
            for _ in range(100):
                await slow.send(b"x")
                await asyncio.sleep(0.1)

        dripping = asyncio.ensure_future(drip())
        for client in (silent, slow, idle):
            assert await client.closed()
        dripping.cancel()
        await asyncio.gather(dripping, return_exceptions=True)

    talk(conversation, limits=QUICK)


def test_the_last_answer_is_not_lost_to_what_the_client_sent_after_it() -> None:
    async def large(request: Request) -> Response:
        return Response(200, b"x" * 5_000_000)

    async def conversation(connect) -> None:
        client = await connect()
        client.writer.write(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" + GET * 10_000)
        await asyncio.sleep(0.2)  # the answer waits to be read, and so does the rest of what was sent
        status, body = await client.answer()
        assert (status, len(body)) == (200, 5_000_000)

    talk(conversation, large)


def test_a_client_that_does_not_read_its_answer_is_cut_off() -> None:
    async def large(request: Request) -> Response:
        return Response(200, b"x" * 50_000_000)

    async def conversation(connect) -> None:
        client = await connect()
        client.writer.transport.pause_reading()
        await client.send(GET)
        while server_connections():
            await asyncio.sleep(0.05)

    servers: list[HttpServer] = []
    original = HttpServer.__init__

    def server_connections() -> int:
        return len(servers[0].connections)

    def remember(self: HttpServer, *args: object) -> None:
        original(self, *args)
        servers.append(self)

    HttpServer.__init__ = remember
    try:
        talk(conversation, large, QUICK)
    finally:
        HttpServer.__init__ = original


def test_who_does_not_read_its_answers_gets_no_further_ones() -> None:
    asked = 0

    async def large(request: Request) -> Response:
        nonlocal asked
        asked += 1
        return Response(200, b"x" * 1_000_000)

    async def conversation(connect) -> None:
        client = await connect()
        client.writer.transport.pause_reading()
        client.writer.write(GET * 15)
        await asyncio.sleep(0.2)
        assert asked < 8  # a few go into the kernel's buffers
        client.writer.transport.resume_reading()
        for _ in range(15):
            assert (await client.answer())[0] == 200

    talk(conversation, large)


def test_all_bodies_together_have_a_limit_and_are_let_go_when_they_are_answered() -> None:
    head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n"

    async def conversation(connect) -> None:
        clients = [await connect() for _ in range(3)]
        for client in clients[:2]:
            await client.send(head + b"x" * 90_000)
        await asyncio.sleep(0.1)
        await clients[2].send(head + b"x" * 100_000)
        assert (await clients[2].answer())[0] == 503
        await clients[0].send(b"x" * 10_000)
        assert (await clients[0].answer())[0] == 200
        clients[1].writer.close()
        await asyncio.sleep(0.1)
        for _ in range(5):
            await clients[0].send(head + b"x" * 100_000)
            assert (await clients[0].answer())[0] == 200

    talk(conversation, limits=Limits(held=250_000))


def test_trailers_are_ignored() -> None:
    async def names(request: Request) -> Response:
        return Response(200, ",".join(sorted(request.headers)).encode())

    async def conversation(connect) -> None:
        client = await connect()
        head = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        await client.send(head + b"1\r\na\r\n0\r\nAuthorization: late\r\nHost: y\r\n\r\n")
        assert await client.answer() == (200, b"host,transfer-encoding")

    talk(conversation, names)


def test_more_connections_than_allowed_are_turned_away() -> None:
    async def conversation(connect) -> None:
        first, second = await connect(), await connect()
        await first.send(GET)
        assert (await first.answer())[0] == 200
        assert await second.closed()

    talk(conversation, limits=Limits(connections=1))


def test_a_dropped_response_closes_the_connection_without_a_byte() -> None:
    async def drop(request: Request) -> Response:
        return Response(200, b"never seen", drop=True)

    async def conversation(connect) -> None:
        client = await connect()
        await client.send(GET)
        assert await client.closed()

    talk(conversation, drop)


def test_stopping_lets_the_request_under_way_finish() -> None:
    async def run() -> None:
        async def slow(request: Request) -> Response:
            await asyncio.sleep(0.2)
            return Response(200, b"done")

        server = HttpServer(slow, PATIENT)
        port = await server.start("127.0.0.1", 0)
        client = Client(*await asyncio.open_connection("127.0.0.1", port))
        await client.send(GET)
        await asyncio.sleep(0.05)
        stopping = asyncio.ensure_future(server.stop())
        assert await client.answer() == (200, b"done")
        await stopping
        with pytest.raises(OSError):
            await asyncio.open_connection("127.0.0.1", port)
        client.writer.close()

    asyncio.run(run())
