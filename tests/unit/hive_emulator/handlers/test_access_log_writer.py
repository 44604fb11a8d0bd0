"""The access log holds up nobody, whatever is at its other end."""

from __future__ import annotations

import asyncio
import io
import os
from typing import TextIO

from hive_emulator.handlers.access_log import AccessLog


def close_broken(stream: TextIO) -> None:
    try:
        stream.close()
    except BrokenPipeError:
        pass


def test_lines_are_written_together_and_at_the_latest_at_the_end() -> None:
    stream = io.StringIO()

    async def test() -> None:
        log = AccessLog(stream)
        log.add("one\n")
        log.add("two\n")
        assert stream.getvalue() == ""
        while stream.getvalue() == "":
            await asyncio.sleep(0.01)
        assert stream.getvalue() == "one\ntwo\n"
        log.add("three\n")
        log.close()
        assert stream.getvalue() == "one\ntwo\nthree\n"

    asyncio.run(asyncio.wait_for(test(), 60))


def test_a_pipe_that_nobody_reads_holds_up_nothing_and_memory_stays_bounded() -> None:
    reader, writer = os.pipe()
    stream = os.fdopen(writer, "w")

    async def test() -> AccessLog:
        log = AccessLog(stream)
        log.pause, log.most = 0.001, 1000
        for _ in range(200):
            for _ in range(50):
                log.add("x" * 100 + "\n")
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
        log.add("one\n")
        log.close()
        assert not log._thread.is_alive()

    asyncio.run(test())
    close_broken(stream)
