"""The live table of a run on a terminal: what is at work, what ended last, and how far the whole is.

It never grows beyond the terminal. What doesn't fit is counted: first the ended ones are left out, oldest
first, then the running ones. Failures are printed above the table at once and stay there.
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import TextIO

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from saltform.report.progress import Board, Seen
from saltform.report.style import MARKS, STYLES
from saltform.report.words import duration, tally
from saltform.status import Status

AROUND = 4  # lines that are not rows: title, tally, the cursor's line and one to spare


class LiveTable:
    """Draws boards one over the other. Used from one thread."""

    def __init__(self, stream: TextIO, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.console = Console(file=stream, highlight=False, markup=False, emoji=False)
        self._live = Live(
            console=self.console,
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._spinner = Spinner("dots")
        self._told: set[str] = set()

    def __enter__(self) -> LiveTable:
        self._live.start()
        return self

    def __exit__(self, *failure: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._live.stop()

    def draw(self, board: Board) -> None:
        for name, seen in board.components.items():
            if seen.status is Status.FAILED and name not in self._told:
                self._told.add(name)
                self.console.print(_failure(name, seen))
        self._live.update(self._frame(board), refresh=True)

    def _frame(self, board: Board) -> Group:
        now = self._clock()
        room = max(self.console.size.height - AROUND, 3)
        running = sorted(board.running(), key=lambda item: item[1].began)
        shown = running if len(running) <= room else running[: room - 1]
        ended = _lately_ended(board)[: room - len(shown)][::-1]
        rows = self._empty_rows(board)
        for name, seen in ended:
            rows.add_row(*_cells(name, seen, Text(MARKS[seen.status]), seen.ended - (seen.began or seen.ended)))
        for name, seen in shown:
            rows.add_row(*_cells(name, seen, self._spinner.render(now), now - seen.began))
        if len(shown) < len(running):
            rows.add_row("", f"and {len(running) - len(shown)} more", "", "", "")
        return Group(Text(board.title, style="bold"), rows, _tally_line(board, now))

    def _empty_rows(self, board: Board) -> Table:
        """Columns that keep their widths from one frame to the next; only the note gives way."""
        longest = max((len(name) for name in board.components), default=0)
        rows = Table.grid(padding=(0, 2, 0, 0), expand=True)
        for width in (1, min(longest, self.console.size.width // 3), len("destroyed"), len("99 min 59 s")):
            rows.add_column(width=width, no_wrap=True, overflow="ellipsis")
        rows.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
        return rows


def _lately_ended(board: Board) -> list[tuple[str, Seen]]:
    """The newest first; the tally counts unchanged and skipped ones, and failures were told already."""
    quiet = (Status.UNCHANGED, Status.SKIPPED, Status.FAILED)
    ended = [(name, seen) for name, seen in board.components.items() if seen.ended and seen.status not in quiet]
    return sorted(ended, key=lambda item: item[1].ended, reverse=True)


def _cells(name: str, seen: Seen, mark: RenderableType, seconds: float) -> list[RenderableType]:
    style = STYLES[seen.status]
    return [
        mark,
        Text(name),
        Text(seen.word, style=style),
        Text(duration(seconds), style="dim", justify="right"),
        Text(seen.note),
    ]


def _failure(name: str, seen: Seen) -> Text:
    text = Text(f"{MARKS[Status.FAILED]} {name} {seen.word}", style=STYLES[Status.FAILED])
    return text.append(f": {seen.note}" if seen.note else "", style="default not bold")


def _tally_line(board: Board, now: float) -> Text:
    statuses = [seen.status for seen in board.components.values()]
    left = sum(1 for status in statuses if not status.terminal)
    done = f"{len(statuses) - left} of {len(statuses)} done"
    words = tally(seen.word for seen in board.components.values())
    return Text(f"{done} · {words} · {duration(now - board.began)}", style="dim")
