"""Starts spread evenly over a window, so that five hundred checks don't hit one API at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from saltform.engine.run import Work
from saltform.errors import Cancelled
from saltform.runlog import StepRecord
from saltform.status import Status


class InTurn:
    """The first starts at once, the last one interval before the window ends."""

    def __init__(self, names: Sequence[str], window: float, cancel: threading.Event) -> None:
        began, interval = time.monotonic(), window / len(names)
        self._turns = {name: began + number * interval for number, name in enumerate(sorted(names))}
        self._cancel = cancel

    def work(self, work: Work) -> Work:
        def in_turn(name: str, step: StepRecord) -> Status:
            if self._cancel.wait(max(0.0, self._turns[name] - time.monotonic())):
                raise Cancelled(f"{name} was not started", "the run was cancelled before its turn came")
            return work(name, step)

        return in_turn
