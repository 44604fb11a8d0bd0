"""Our end of the guard, which sends every process group its one SIGINT: see `guard_program.py`."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import sys
import threading
from pathlib import Path


class Guard:
    """One for this process, started with the first process it has to guard."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pipe = -1
        self._running: dict[int, tuple[float, float]] = {}  # group → grace, until
        self._interrupted: set[int] = set()

    def ready(self) -> None:
        """Started before what it guards, so that there is next to no time in which that runs unguarded."""
        with self._lock:
            if not self._write(""):
                self._start()

    def watch(self, group: int, grace: float, until: float = math.inf) -> None:
        """Interrupt it `until` then, unless told otherwise; if we are gone, at once, and kill it after `grace`."""
        with self._lock:
            if self._running.get(group) != (grace, until):
                self._running[group] = (grace, until)
                self._write(self._line(group))

    def interrupt(self, group: int) -> None:
        """One SIGINT, unless it has had it: the guard knows. Without a guard we send it."""
        with self._lock:
            there = self._write(f"!{group}")
            if not there and group not in self._interrupted:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(group, signal.SIGINT)
            self._interrupted.add(group)

    def forget(self, group: int) -> None:
        with self._lock:
            del self._running[group]
            self._interrupted.discard(group)
            self._write(f"-{group}")

    def _line(self, group: int) -> str:
        grace, until = self._running[group]
        return f"+{group} {grace} {until} {int(group in self._interrupted)}"

    def _write(self, line: str) -> bool:
        try:
            os.write(self._pipe, f"{line}\n".encode())
        except OSError:  # there is none yet, or somebody ended it
            return False
        return True

    def _start(self) -> None:
        """Not by `subprocess`, which would want to wait for it: it ends after us. Without one we go on."""
        self.close()
        program = [sys.executable, "-I", "-S", str(Path(__file__).with_name("guard_program.py")), str(os.getpid())]
        null = (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)
        read, self._pipe = os.pipe()
        try:
            streams = [(os.POSIX_SPAWN_DUP2, read, 0), null, (os.POSIX_SPAWN_DUP2, 1, 2)]
            os.posix_spawn(program[0], program, {}, file_actions=streams)
        except OSError:
            self.close()
        finally:
            os.close(read)
        for group in self._running:
            self._write(self._line(group))

    def close(self) -> None:
        if self._pipe >= 0:
            os.close(self._pipe)
            self._pipe = -1

    def after_fork(self) -> None:
        """In a child that was forked: the guard and what it guards are the parent's."""
        self.close()
        self.__init__()  # type: ignore[misc]


GUARD = Guard()
os.register_at_fork(after_in_child=GUARD.after_fork)
