"""A run can be cancelled from anywhere: a file in its folder says so, put there by its own watcher if need be."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from saltform.process import Cancel

CANCEL = "cancel"  # the file's name in the run's folder; its first line is `now` when there is no time to finish
LOOK_EVERY = 0.25
BEAT_EVERY = 2.0


@contextlib.contextmanager
def watching(path: Path, event: threading.Event, beat: Callable[[], None] = lambda: None) -> Iterator[None]:
    """While inside, the event is set as soon as the file is there; and `beat` is called from time to time."""
    ended = threading.Event()

    def look() -> None:
        beaten = time.monotonic()
        while not ended.wait(LOOK_EVERY):
            if time.monotonic() - beaten >= BEAT_EVERY:
                beat()
                beaten = time.monotonic()
            if not path.exists():
                continue
            if isinstance(event, Cancel) and path.read_text().startswith("now"):
                event.now = True
            event.set()

    watcher = threading.Thread(target=look, name="watch for a cancel", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()
