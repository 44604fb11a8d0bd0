"""However the demo ends, nothing of it is left running, unless it was asked to keep it and came to its end."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

import demo.__main__ as main


class Stage:
    home = Path(".demo")
    servers = SimpleNamespace(running=list)

    def __init__(self, ends_with):
        self.ends_with = ends_with
        self.downs = 0

    def up(self):
        raise self.ends_with

    def down(self):
        self.downs += 1


@pytest.mark.parametrize("keep", [True, False])
def test_an_interrupt_ends_what_was_started(keep, capsys):
    stage = Stage(KeyboardInterrupt())
    assert main.run(stage, keep) == 130
    assert stage.downs == 2  # before the start, for what a killed demo has left, and now
    assert "still running" not in capsys.readouterr().out


@pytest.mark.parametrize("error", [SystemExit(143), RuntimeError("no port")])
def test_an_error_ends_what_was_started(error):
    stage = Stage(error)
    with pytest.raises(type(error)):
        main.run(stage, True)
    assert stage.downs == 2


def test_what_is_still_running_is_said_last(monkeypatch, capsys, tmp_path):
    stage = Stage(None)
    stage.home, stage.up = tmp_path, lambda: None
    monkeypatch.setattr(main.Play, "all", lambda play: play.done.append(("a step", 1.0, True)))
    assert main.run(stage, True) == 0
    said = capsys.readouterr().out
    assert said.index("1 of 1 steps") < said.index("Everything is still running")
