"""What runs a process, and how it ended."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from saltform.process.lease import Lease

HURRY = 10.0  # seconds that a process has to stop when the cancel says "now"
LOST_LOCK = "lost lock"  # why a process was interrupted: the lock that it runs under was not renewed in time
OnLine = Callable[[str, str], None]  # the stream ("stdout" or "stderr") and the line
OnBlock = Callable[[bytes], None]  # many whole lines at once, before each of them is handed on


@dataclass(frozen=True)
class Result:
    """How a process ended. A negative exit code is the number of the signal that ended it."""

    exit_code: int
    seconds: float
    interrupted: str = ""  # "" | "timeout" | "cancelled" | LOST_LOCK
    killed: bool = False  # it didn't stop within the grace after the interrupt


class Cancel(threading.Event):
    """Set: whatever runs shall stop in good order. `now`: it gets seconds for that, not its whole grace."""

    now = False


class Processes(Protocol):
    """What runs processes: the real thing, or the twin in memory."""

    def run(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        timeout: float,
        on_line: OnLine,
        on_block: OnBlock | None = None,
        cancel: threading.Event | None = None,
        grace: float = 30.0,
        pass_fds: Sequence[int] = (),
        lease: Lease | None = None,
        name: str = "",
    ) -> Result: ...
