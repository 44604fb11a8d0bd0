"""The demo's summary has every step in full, on a terminal of eighty columns."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

from demo.play import END, MAIN, Play

COLUMNS = 80


def test_every_title_is_whole_and_no_line_too_long(capsys, tmp_path):
    play = Play(SimpleNamespace(home=Path(tmp_path)), keep=False)
    play.done = [(step.says, 123.4, True) for step in (*MAIN, *END)]
    play.summary(12)
    lines = capsys.readouterr().out.splitlines()
    assert all(any(line.startswith(f"{step.says} ") for line in lines) for step in (*MAIN, *END))
    assert max(map(len, lines)) <= COLUMNS
