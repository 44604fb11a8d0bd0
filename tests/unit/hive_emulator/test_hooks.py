"""How a hook's command ends, and what is said about it."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from pathlib import Path

import uvloop

from hive_emulator.hooks import Hooks


def run(code: str, timeout: float = 20.0) -> str | None:
    hooks = Hooks({"launch": [sys.executable, "-c", code]}, timeout=timeout)
    return asyncio.run(hooks.run("launch", {"InstanceId": "i-1"}))


def test_a_command_that_ends_with_zero_has_nothing_to_say() -> None:
    assert run("import json, sys; assert json.load(sys.stdin) == {'InstanceId': 'i-1'}") is None


def test_a_command_that_reads_nothing_is_fine() -> None:
    assert run("") is None


def test_a_command_that_ends_before_it_was_told_anything_is_fine() -> None:
    """In the loop that serves, where writing to such a command's pipe is an error."""
    hooks = Hooks({"launch": ["true"]})

    async def often() -> set[str | None]:
        return {await hooks.run("launch", {"InstanceId": "i-1", "UserData": "x" * 200_000}) for _ in range(20)}

    assert uvloop.run(often()) == {None}


def test_another_exit_code_is_told_with_the_last_line_of_the_output() -> None:
    reason = run("print('one'); import sys; sys.exit('the last line')")
    assert reason is not None
    assert reason.endswith("ended with 1: the last line")


def test_a_command_may_leave_a_process_running_that_keeps_its_output_open() -> None:
    """A launch that starts a machine in the background and ends: the launch is done then."""
    left = run("import subprocess; print(subprocess.Popen(['sleep', '600']).pid); raise SystemExit(3)", timeout=60)
    assert left is not None
    assert left.startswith(f"{sys.executable} ended with 3: ")
    os.kill(int(left.rpartition(" ")[2]), signal.SIGKILL)  # it was still there


def test_a_third_command_of_an_instance_waits_for_the_second(tmp_path: Path) -> None:
    code = """
import json, pathlib, sys, time
folder, word = pathlib.Path(sys.argv[1]), json.load(sys.stdin)["word"]
(folder / f"begun {word}").touch()
while not (folder / f"end {word}").exists():
    time.sleep(0.01)
"""
    hooks = Hooks({"stop": [sys.executable, "-c", code, str(tmp_path)]})

    def begin(word: str) -> asyncio.Task[str | None]:
        return asyncio.create_task(hooks.run("stop", {"InstanceId": "i-1", "word": word}))

    async def until(file: str) -> None:
        while not (tmp_path / file).exists():
            await asyncio.sleep(0.01)

    async def three() -> list[str | None]:
        first, second = begin("first"), begin("second")
        await until("begun first")
        (tmp_path / "end first").touch()
        await first
        third = begin("third")
        (tmp_path / "end third").touch()
        await until("begun second")
        done, _ = await asyncio.wait([third], timeout=0.5)
        assert not done
        assert not (tmp_path / "begun third").exists()
        (tmp_path / "end second").touch()
        return [await second, await third]

    assert asyncio.run(asyncio.wait_for(three(), 120)) == [None, None]


def test_a_command_that_takes_too_long_is_stopped_with_its_children() -> None:
    start = time.monotonic()
    reason = run("import subprocess; subprocess.run(['sleep', '600'])", timeout=0.5)
    assert reason is not None
    assert "was stopped after 0.5 s" in reason
    assert time.monotonic() - start < 300
