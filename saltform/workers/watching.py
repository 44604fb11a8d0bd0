"""A run can be cancelled from anywhere that sees its folder: a file there says so."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path

from saltform.process import Cancel

CANCEL = "cancel"  # the file's name in the run's folder; its first line is `now` when there is no time to finish
LOOK_EVERY = 0.25


@contextlib.contextmanager
def watching(path: Path, event: threading.Event) -> Iterator[None]:
    """While inside, the event is set as soon as the file is there."""
    ended = threading.Event()

    def look() -> None:
        while not ended.wait(LOOK_EVERY):
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
