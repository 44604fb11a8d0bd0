"""One holder at a time, named; a question is never taken for a holder."""

from __future__ import annotations

import fcntl
import os
import threading

import pytest

from saltform.errors import Locked
from saltform.runlog import flock


def test_a_held_lock_names_run_host_and_process(tmp_path):
    path = tmp_path / "a.lock"
    with flock.hold(path, {"run": "42"}, "staging/a"):
        holder = flock.holder_of(path)
        assert holder is not None
        assert (holder["run"], holder["process"]) == ("42", os.getpid())
        assert holder["host"]
        with pytest.raises(Locked, match="locked by another run") as caught, flock.hold(path, {}, "staging/a"):
            pass
        assert f"process {os.getpid()}" in caught.value.detail
    assert flock.holder_of(path) is None


def test_asking_who_holds_a_lock_never_keeps_a_run_from_taking_it(tmp_path):
    path = tmp_path / "a.lock"
    path.touch()
    with path.open() as asking:
        fcntl.flock(asking, fcntl.LOCK_SH)  # as `holder_of` does, for a moment
        answered = threading.Timer(0.05, lambda: fcntl.flock(asking, fcntl.LOCK_UN))
        answered.start()
        with flock.hold(path, {"run": "42"}, "staging/a"):
            assert flock.holder_of(path)
        answered.join()
