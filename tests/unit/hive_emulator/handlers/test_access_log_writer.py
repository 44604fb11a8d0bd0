"""The access log holds up nobody, whatever is at its other end."""

from __future__ import annotations

import asyncio
import io
import json
import os
from typing import TextIO

from hive_emulator.handlers.access_log import AccessLog, Entry, line


def entry(id: str) -> Entry:
    return (0.0, id, "127.0.0.1", "000000000001", "eu-west-1", "ec2", "CreateVpc", 200, "OK", 0.001, 10, 20)


def ids(stream: io.StringIO) -> list[str]:
    return [json.loads(line)["id"] for line in stream.getvalue().splitlines()]


def close_broken(stream: TextIO) -> None:
    try:
        stream.close()
    except BrokenPipeError:
        pass


def test_lines_are_written_together_and_at_the_latest_at_the_end() -> None:
    stream = io.StringIO()

    async def test() -> None:
        log = AccessLog(stream)
        log.add(entry("one"))
        log.add(entry("two"))
        assert stream.getvalue() == ""
        while stream.getvalue() == "":
            await asyncio.sleep(0.01)
        assert ids(stream) == ["one", "two"]
        log.add(entry("three"))
        log.close()
        assert ids(stream) == ["one", "two", "three"]

    asyncio.run(asyncio.wait_for(test(), 60))


def test_a_pipe_that_nobody_reads_holds_up_nothing_and_memory_stays_bounded() -> None:
    reader, writer = os.pipe()
    stream = os.fdopen(writer, "w")

    async def test() -> AccessLog:
        log = AccessLog(stream)
        log.pause, log.most = 0.001, 1000
        for _ in range(200):
            for _ in range(50):
                log.add(entry("x"))
            await asyncio.sleep(0.001)
        assert log._waiting <= 1100
        log.close(timeout=0.1)
        return log

    log = asyncio.run(asyncio.wait_for(test(), 60))
    os.close(reader)  # now the thread's write fails, and it ends
    log._thread.join(10)
    close_broken(stream)


def test_a_stream_that_is_gone_is_no_trouble() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    stream = os.fdopen(writer, "w")

    async def test() -> None:
        log = AccessLog(stream)
        log.add(entry("one"))
        log.close()
        assert not log._thread.is_alive()

    asyncio.run(test())
    close_broken(stream)


def test_a_line_is_json_whatever_a_client_has_put_into_it() -> None:
    peer, action, code = 'fe80::1%"eth0', 'GET /_hive/"\\\x00é', 'Odd"Code'
    read = json.loads(line((0.0, "one", peer, "1", "eu-west-1", "ec2", action, 404, code, 0.001, 10, 20)))
    assert (read["action"], read["peer"], read["code"]) == (action, peer, code)
    assert (read["time"], read["ms"], read["in"], read["out"]) == ("1970-01-01T00:00:00Z", 1.0, 10, 20)
