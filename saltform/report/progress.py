"""What a person sees while a run runs, on stderr: a live table on a terminal, plain lines elsewhere.

1. Operations say what happens (`start`, `step`, `finish`) from any thread; it is noted on a board.
2. Not on a terminal, each step that ends is a line at once: `12.3s networking applied +4`. Unchanged ones are
   counted, not listed. When nothing was printed for two seconds, a line says who is at work now, if that is news;
   and when nothing was for long, it says so again. What keeps minions from converging is a line when it is new,
   and stands beside their component from then on. A run with nothing to do prints nothing.
3. On a terminal nothing is shown for the first moments, so that a run with nothing to do imports no table
   library and draws nothing. Then `report.live` draws the board a few times a second, from one thread, and
   clears it away at the end: the result is printed by whoever prints results. Failures stay where they are.
4. Progress never breaks a run: a closed or full stderr ends the progress and nothing else.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import TextIO

from saltform.report.words import clean, duration
from saltform.status import Status

LIVE_AFTER = 0.4  # seconds
REDRAW_EVERY = 0.125
NEWS_AFTER = 2.0  # seconds without a line
STILL_RUNNING_AFTER = 30.0


@dataclass
class Seen:
    """What was last said about a component."""

    status: Status
    note: str = ""
    began: float = 0.0
    ended: float = 0.0
    called: str = ""  # where a check has a word of its own for what it found
    said: frozenset[str] = frozenset()  # why its minions haven't converged: what was printed already

    @property
    def word(self) -> str:
        return self.called or self.status.value

    @property
    def at_work(self) -> bool:
        return self.status in (Status.RUNNING, Status.CONVERGING)


@dataclass
class Board:
    """Everything there is to show at one moment."""

    title: str = ""
    began: float = 0.0
    components: dict[str, Seen] = field(default_factory=dict)

    def running(self) -> list[tuple[str, Seen]]:
        return [(name, seen) for name, seen in self.components.items() if seen.at_work]


class Progress:
    """Shows one run on a stream. All methods may be called from any thread."""

    def __init__(self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream if stream is not None else sys.stderr
        self._terminal = _is_terminal(self._stream)
        self._clock = clock
        self._board = Board()
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._last_line = 0.0
        self._said: list[str] = []  # who was at work when that was last said

    def start(self, title: str, components: Iterable[str]) -> None:
        """A run over these components begins."""
        with self._lock:
            self._board.title = clean(title)
            self._board.began = self._last_line = self._clock()
            self._board.components.update((name, Seen(Status.PENDING)) for name in components)
        watch = self._watch_terminal if self._terminal else self._watch_silence
        self._thread = threading.Thread(target=watch, name="saltform-progress", daemon=True)
        self._thread.start()

    def step(self, component: str, status: Status, note: str = "", called: str = "") -> None:
        """A component's status and what that is called; while it is at work, the note says at what."""
        with self._lock:
            now = self._clock()
            seen = self._board.components.setdefault(component, Seen(Status.PENDING))
            was_at_work, before = seen.at_work, seen.status
            seen.status, seen.note, seen.called = status, clean(note), called
            if seen.at_work and not was_at_work:
                seen.began = now
            if status is Status.CONVERGING and not self._terminal and seen.note not in seen.said:
                seen.said |= {seen.note}
                self._stamped(f"{component} {seen.word}: {seen.note}")
            if status.terminal and before is not status:
                seen.ended = now
                if not self._terminal and status is not Status.UNCHANGED:
                    self._stamped(f"{component} {seen.word} {seen.note}".rstrip())

    def finish(self) -> None:
        """The run is over: the live table goes away."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()

    def _watch_terminal(self) -> None:
        if self._over.wait(LIVE_AFTER):
            return
        from saltform.report.live import LiveTable  # rich: only when there is something to watch

        try:
            with LiveTable(self._stream, self._clock) as table:
                while not self._over.wait(REDRAW_EVERY):
                    table.draw(self._snapshot())
                table.draw(self._snapshot())
        except (OSError, ValueError):  # the terminal is gone
            return

    def _snapshot(self) -> Board:
        with self._lock:
            components = {name: replace(seen) for name, seen in self._board.components.items()}
            return Board(self._board.title, self._board.began, components)

    def _watch_silence(self) -> None:
        while not self._over.wait(NEWS_AFTER / 4):
            with self._lock:
                self._say_who_is_running()

    def _say_who_is_running(self) -> None:
        now, running = self._clock(), self._board.running()
        names, silence = [name for name, _ in running], self._clock() - self._last_line
        if not running or silence < (STILL_RUNNING_AFTER if names == self._said else NEWS_AFTER):
            return
        still = "still " if names == self._said else ""
        listed = ", ".join(f"{name} ({', '.join(_at_what(seen, now))})" for name, seen in running[:5])
        more = f" and {len(running) - 5} more" if len(running) > 5 else ""
        self._stamped(f"{still}running: {listed}{more}")
        self._said = names

    def _stamped(self, text: str) -> None:
        self._last_line = self._clock()
        self._line(f"{self._last_line - self._board.began:.1f}s {text}")

    def _line(self, text: str) -> None:
        encoding = getattr(self._stream, "encoding", None) or "utf-8"
        try:
            self._stream.write(text.encode(encoding, "replace").decode(encoding) + "\n")
            self._stream.flush()
        except (OSError, ValueError):  # closed, full or gone
            return


def _at_what(seen: Seen, now: float) -> list[str]:
    """For how long it is at work, and what it waits for where that is its minions."""
    waits = [seen.note] if seen.status is Status.CONVERGING and seen.note else []
    return [duration(now - seen.began), *waits]


def _is_terminal(stream: TextIO) -> bool:
    """Whether a live table can be drawn there: it needs cursor movements and more than ASCII."""
    try:
        able = os.environ.get("TERM", "dumb") != "dumb" and stream.encoding.lower().startswith("utf")
        return able and stream.isatty()
    except (AttributeError, ValueError):
        return False
