"""An interrupt means: cancel this run in good order. Never a second blow to terraform, never an exit half-way."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType


@contextlib.contextmanager
def cancelling(event: threading.Event) -> Iterator[None]:
    """While inside, SIGINT and SIGTERM set the event and nothing else.

    Salt would turn them into SystemExit in a foreground runner, and into a SIGTERM for every descendant in a
    background one. In a thread (a reactor's call) no handler can be set, and no signal arrives.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def note(_number: int, _frame: FrameType | None) -> None:
        event.set()

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
