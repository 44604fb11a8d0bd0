"""How a hook's command ends, and what is said about it."""

from __future__ import annotations

import asyncio
import sys
import time

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


def test_a_command_that_takes_too_long_is_stopped_with_its_children() -> None:
    start = time.monotonic()
    reason = run("import subprocess; subprocess.run(['sleep', '600'])", timeout=0.5)
    assert reason is not None
    assert "was stopped after 0.5 s" in reason
    assert time.monotonic() - start < 300
