"""Commands that put something real behind an instance. Off unless given on the command line.

1. A behaviour calls :func:`fire`; nothing happens before its commit.
2. Then the command runs in the background with the instance as JSON on its standard input, the event's name in
   ``HIVE_EVENT``, at most ``parallel`` at once, and one after the other for one instance.
3. How it ended is told in a unit of work of its own, to ``failed`` or ``succeeded``.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import tempfile
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any
from weakref import WeakValueDictionary

if TYPE_CHECKING:
    from hive_emulator.action import Call

log = logging.getLogger("hive_emulator")

EVENTS = ("launch", "terminate", "stop", "start", "reboot")
TIMEOUT = 300.0  # seconds that a command may take
PARALLEL = 8  # commands at once
_LAST_BYTES = 4096  # of its output, to find the last line in


@dataclass
class Hooks:
    """A command per event; an event without one does nothing."""

    commands: dict[str, list[str]]
    timeout: float = TIMEOUT
    # Weak: a lock is here as long as some command of its instance runs or waits, and no longer.
    _order: WeakValueDictionary[str, asyncio.Lock] = field(default_factory=WeakValueDictionary, repr=False)
    _room: asyncio.Semaphore | None = field(default=None, repr=False)

    async def run(self, event: str, instance: dict[str, Any]) -> str | None:
        """Run the command of ``event``; returns why it failed, or None."""
        id = instance.get("InstanceId", "")
        turn = self._order.setdefault(id, asyncio.Lock())
        self._room = self._room or asyncio.Semaphore(PARALLEL)
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(turn)
            await stack.enter_async_context(self._room)
            return await _run(self.commands[event], event, json.dumps(instance).encode(), self.timeout)


async def _run(command: list[str], event: str, text: bytes, timeout: float) -> str | None:
    """Files, not pipes: a command may end without reading, and leave something behind that goes on writing."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as said:
        given.write(text)
        given.seek(0)
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=given,
                stdout=said,
                stderr=asyncio.subprocess.STDOUT,
                env={**os.environ, "HIVE_EVENT": event},
                start_new_session=True,
            )
        except OSError as error:
            return f"{command[0]} can't be started: {error.strerror}"
        try:
            code = await asyncio.wait_for(process.wait(), timeout)
        except asyncio.TimeoutError:
            return f"{command[0]} was stopped after {timeout:g} s"
        finally:
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
        return f"{command[0]} ended with {code}{_last_line(said)}" if code else None


def _last_line(output: IO[bytes]) -> str:
    output.seek(-min(_LAST_BYTES, output.seek(0, os.SEEK_END)), os.SEEK_END)
    lines = output.read().decode(errors="replace").strip().splitlines()
    return f": {lines[-1][:300]}" if lines else ""


def fire(
    call: Call,
    event: str,
    instance: dict[str, Any],
    failed: Callable[[Call, str], None] | None = None,
    succeeded: Callable[[Call], None] | None = None,
) -> None:
    """Run the hook of ``event`` with ``instance`` as JSON once this call is committed.

    ``failed(new_call, reason)`` is run as a unit of work of its own when the command can't be started, ends
    with another code than 0, or takes too long; ``reason`` is one line. ``succeeded(new_call)``
    is run the same way when the command ended with 0: an instance whose launch has a hook is pending until
    then. Does nothing when no such hook is set (ask ``hooked(call, event)`` first).
    """
    hooks, emulator = call.config.hooks, call.emulator
    if hooks is None or event not in hooks.commands or emulator is None:
        return

    async def job() -> None:
        reason = await hooks.run(event, instance)
        if reason is None:
            if succeeded is not None:
                await emulator.run(call.account, call.region, succeeded)
            return
        log.warning("%s of %s: %s", event, instance.get("InstanceId"), reason)
        if failed is not None:
            await emulator.run(call.account, call.region, lambda new: failed(new, reason))

    call.then(job)


def hooked(call: Call, event: str) -> bool:
    """True when ``event`` has a command."""
    return call.config.hooks is not None and event in call.config.hooks.commands
