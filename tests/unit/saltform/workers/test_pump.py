"""The pool that pumps a schedule ends, whatever its workers do."""

from __future__ import annotations

import threading

from saltform.errors import RunLogError
from saltform.graph import Graph
from saltform.schedule import Schedule
from saltform.status import Status
from saltform.workers import pump

PATIENCE = 20.0


def pumped(graph, work):
    """The error that the pump raised, from a thread of its own: a pump that hangs fails the test and no more."""
    raised: list[BaseException | None] = []

    def run():
        try:
            pump(Schedule(graph, "continue"), work, 2, threading.Event(), lambda _names: None)
            raised.append(None)
        except Exception as error:
            raised.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    assert raised, "the pump hangs"
    return raised[0]


def test_a_step_that_cannot_be_put_on_record_ends_the_run_instead_of_hanging_it():
    started = []

    def work(name):
        started.append(name)
        if name == "a":
            raise RunLogError("the run log can't be used", "the disk is full")
        return Status.APPLIED, ""

    error = pumped(Graph({"a": (), "c": ("b",), "b": ("a",)}), work)
    assert isinstance(error, RunLogError)
    assert started == ["a"]


def test_what_runs_beside_it_ends_first():
    both_run, ended = threading.Barrier(2, timeout=PATIENCE), []

    def work(name):
        both_run.wait()
        if name == "a":
            raise RunLogError("the run log can't be used")
        ended.append(name)
        return Status.APPLIED, ""

    assert isinstance(pumped(Graph({"a": (), "b": (), "c": ("b",)}), work), RunLogError)
    assert ended == ["b"]


def test_a_run_without_errors_does_everything():
    done = []
    assert pumped(Graph({"a": (), "b": ("a",)}), lambda name: (done.append(name), (Status.APPLIED, ""))[1]) is None
    assert done == ["a", "b"]
