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


def test_only_the_reports_of_this_run_are_named(capsys, tmp_path):
    (tmp_path / "reports").mkdir()
    (tmp_path / "reports" / "earlier.html").write_text("of an earlier demo")
    (tmp_path / "state" / "runs" / "now").mkdir(parents=True)
    (tmp_path / "state" / "runs" / "now" / "report.html").write_text("of this one")
    play = Play(SimpleNamespace(home=Path(tmp_path)), keep=False)
    play.keep_reports()
    play.summary(12)
    said = capsys.readouterr().out
    assert "now.html" in said
    assert "earlier.html" not in said
