"""The pool that pumps a schedule ends, whatever its workers do."""

from __future__ import annotations

import threading

from saltform.errors import RunLogError
from saltform.graph import Graph
from saltform.schedule import Schedule
from saltform.status import Status
from saltform.workers import pump

PATIENCE = 20.0


def pumped(graph, work, slots=2, waiting=0):
    """The error that the pump raised, from a thread of its own: a pump that hangs fails the test and no more."""
    raised: list[BaseException | None] = []

    def run():
        try:
            pump(Schedule(graph, "continue"), work, slots, threading.Event(), lambda _names: None, waiting)
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

    def work(name, _let_go):
        started.append(name)
        if name == "a":
            raise RunLogError("the run log can't be used", "the disk is full")
        return Status.APPLIED, ""

    error = pumped(Graph({"a": (), "c": ("b",), "b": ("a",)}), work)
    assert isinstance(error, RunLogError)
    assert started == ["a"]


def test_what_runs_beside_it_ends_first():
    both_run, ended = threading.Barrier(2, timeout=PATIENCE), []

    def work(name, _let_go):
        both_run.wait()
        if name == "a":
            raise RunLogError("the run log can't be used")
        ended.append(name)
        return Status.APPLIED, ""

    assert isinstance(pumped(Graph({"a": (), "b": (), "c": ("b",)}), work), RunLogError)
    assert ended == ["b"]


def test_a_run_without_errors_does_everything():
    done = []
    assert (
        pumped(Graph({"a": (), "b": ("a",)}), lambda name, _let_go: (done.append(name), (Status.APPLIED, ""))[1])
        is None
    )
    assert done == ["a", "b"]


def test_what_only_waits_gives_its_slot_away_and_what_needs_it_still_waits_for_its_end():
    beside, order = threading.Event(), []

    def work(name, let_go):
        order.append(f"{name} begins")
        if name == "a":
            let_go()
            assert beside.wait(PATIENCE), "the only slot was not given away"
        if name == "b":
            beside.set()
        order.append(f"{name} ends")
        return Status.APPLIED, ""

    # a has the longer chain behind it, so it begins.
    assert pumped(Graph({"a": (), "b": (), "c": ("a",)}), work, slots=1, waiting=1) is None
    assert order.index("a begins") < order.index("b begins") < order.index("a ends") < order.index("c begins")


def test_a_slot_that_was_given_away_is_given_once():
    lock, running, most = threading.Lock(), [0], [0]
    let_go_of_all = threading.Barrier(2, timeout=PATIENCE)

    def work(name, let_go):
        if name in ("a", "b"):
            let_go()
            let_go_of_all.wait()
            return Status.APPLIED, ""
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        threading.Event().wait(0.02)
        with lock:
            running[0] -= 1
        return Status.APPLIED, ""

    graph = {"a": (), "b": (), **{f"c{number}": ("a", "b") for number in range(12)}}
    assert pumped(Graph(graph), work, slots=1, waiting=2) is None
    assert most == [1]
