from __future__ import annotations

import io

import pytest

from saltform.report.live import LiveTable
from saltform.report.progress import Board, Seen
from saltform.status import Status


@pytest.fixture
def frame(monkeypatch):
    """Draws a board and returns the lines that one frame takes."""

    def draw(board, width=80, height=24):
        monkeypatch.setenv("COLUMNS", str(width))
        monkeypatch.setenv("LINES", str(height))
        table = LiveTable(io.StringIO(), lambda: 100.0)
        with table.console.capture() as captured:
            table.console.print(table._frame(board))
        return captured.get().splitlines()

    return draw


def running(count):
    return {f"component-{n:02}": Seen(Status.RUNNING, "applying", began=80.0 + n) for n in range(count)}


def test_ten_at_once_are_ten_rows_with_names_and_times_whole(frame):
    lines = frame(Board("deploy staging", 70.0, running(10)))
    assert len(lines) == 12
    for number, line in enumerate(lines[1:11]):
        assert f"component-{number:02}" in line
        assert f"{20.0 - number:.1f} s" in line
        assert "applying" in line
    assert "10 running · 30.0 s" in lines[-1]


def test_a_frame_never_grows_beyond_the_terminal(frame):
    ended = {f"ended-{n}": Seen(Status.APPLIED, "+1", began=1.0, ended=2.0 + n) for n in range(30)}
    assert len(frame(Board("deploy", 0.0, {**running(50), **ended}), height=20)) <= 19
    assert len(frame(Board("deploy", 0.0, {**running(3), **ended}), height=20)) <= 19


def test_what_does_not_fit_is_counted(frame):
    lines = frame(Board("deploy", 0.0, running(50)), height=20)
    assert any("and 35 more" in line for line in lines)


def test_the_newest_ended_ones_stay_in_view_and_unchanged_ones_are_only_counted(frame):
    ended = {f"ended-{n:02}": Seen(Status.APPLIED, "+1", began=1.0, ended=2.0 + n) for n in range(30)}
    quiet = {f"same-{n}": Seen(Status.UNCHANGED, ended=3.0) for n in range(90)}
    text = "\n".join(frame(Board("deploy", 0.0, {**ended, **quiet}), height=10))
    assert "ended-29" in text
    assert "ended-00" not in text
    assert "same-" not in text
    assert "90 unchanged" in text


def test_a_long_note_is_cut_and_a_long_name_keeps_its_beginning(frame):
    board = Board("deploy", 0.0, {"x" * 60: Seen(Status.RUNNING, "y" * 200, began=1.0)})
    row = frame(board)[1]
    assert len(row) <= 80
    assert "x" * 20 in row
    assert "running" in row


def test_a_failure_is_told_once_above_the_table(monkeypatch):
    out = io.StringIO()
    monkeypatch.setenv("COLUMNS", "80")
    table = LiveTable(out, lambda: 5.0)
    board = Board("deploy", 0.0, {"vault": Seen(Status.FAILED, "no quorum", ended=4.0)})
    table.draw(board)
    table.draw(board)
    assert out.getvalue().count("vault failed: no quorum") == 1
