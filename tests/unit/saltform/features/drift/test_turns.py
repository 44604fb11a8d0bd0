"""Starts spread evenly over a window."""

from __future__ import annotations

import threading
import time

import pytest

from saltform.errors import Cancelled
from saltform.features.drift.turns import InTurn
from saltform.runlog import StepRecord
from saltform.status import Status


def done(name, step):
    return Status.UNCHANGED


def test_each_one_waits_for_its_turn():
    began = time.monotonic()
    work = InTurn(["c", "a", "b", "d"], 0.4, threading.Event()).work(done)
    started = {}
    for name in "abcd":
        assert work(name, StepRecord(name)) is Status.UNCHANGED
        started[name] = time.monotonic() - began
    assert all(started[name] >= number * 0.1 for number, name in enumerate("abcd"))


def test_without_a_window_nobody_waits_and_a_cancel_ends_the_waiting():
    cancel = threading.Event()
    InTurn(["a", "b"], 0, cancel).work(done)("b", StepRecord("b"))
    work = InTurn(["a", "b"], 3600, cancel).work(done)
    cancel.set()
    with pytest.raises(Cancelled):
        work("b", StepRecord("b"))
