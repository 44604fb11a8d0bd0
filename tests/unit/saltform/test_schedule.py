from __future__ import annotations

import threading

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from saltform.graph import Graph
from saltform.schedule import Schedule
from saltform.status import Status
from tests.support.graphs import acyclic

GOOD = [status for status in Status if status.good]
BAD = [Status.FAILED, Status.CANCELLED, Status.SKIPPED]
STAGING = Graph({"networking": [], "consul": ["networking"], "vault": ["networking", "consul"], "dns": []})


def run(schedule, name, status, reason=""):
    assert schedule.claim(name)
    return schedule.done(name, status, reason)


def test_the_longest_chain_starts_first_then_the_first_name():
    graph = Graph({"a": [], "b": [], "z": [], "y": ["z"], "x": ["y"]})
    assert Schedule(graph).ready() == ["z", "a", "b"]
    assert Schedule(graph).ready(limit=2) == ["z", "a"]


def test_a_component_is_ready_the_moment_its_own_needs_are_done():
    schedule = Schedule(STAGING)
    assert schedule.ready() == ["networking", "dns"]
    run(schedule, "networking", Status.APPLIED)
    assert schedule.ready() == ["consul", "dns"], "consul doesn't wait for dns"


def test_a_claim_is_answered_with_true_only_once_and_only_when_ready():
    schedule = Schedule(STAGING)
    assert not schedule.claim("consul")
    assert schedule.claim("networking")
    assert not schedule.claim("networking")
    schedule.done("networking", Status.UNCHANGED)
    assert not schedule.claim("networking")


def test_of_many_threads_exactly_one_gets_each_claim():
    names = [f"c{number}" for number in range(200)]
    schedule = Schedule(Graph({name: [] for name in names}))
    start, won = threading.Barrier(8), []

    def grab():
        start.wait()
        won.extend(name for name in names if schedule.claim(name))

    threads = [threading.Thread(target=grab) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(won) == sorted(names)


@pytest.mark.parametrize("on_error", ["stop", "rollback"])
def test_after_a_failure_nothing_new_starts_and_every_reason_names_the_culprit(on_error):
    schedule = Schedule(STAGING, on_error)
    assert schedule.claim("networking")
    assert schedule.done("networking", Status.FAILED, "no such VPC") == ["consul", "vault", "dns"]
    assert schedule.reason("networking") == "no such VPC"
    assert schedule.reason("vault") == "needs networking, which failed"
    assert schedule.reason("dns") == f"not started, because networking failed (on_error: {on_error})"
    assert schedule.finished


def test_stop_lets_what_runs_finish():
    schedule = Schedule(STAGING, "stop")
    assert schedule.claim("networking")
    assert schedule.claim("dns")
    schedule.done("dns", Status.FAILED, "boom")
    assert not schedule.finished
    schedule.done("networking", Status.APPLIED)
    assert schedule.finished
    assert schedule.status("networking") is Status.APPLIED
    assert schedule.status("consul") is Status.SKIPPED


def test_continue_skips_only_what_needs_the_failed_one():
    schedule = Schedule(STAGING, "continue")
    run(schedule, "networking", Status.APPLIED)
    assert run(schedule, "consul", Status.FAILED, "quorum lost") == ["vault"]
    assert schedule.ready() == ["dns"]


@pytest.mark.parametrize(("status", "word"), [(Status.SKIPPED, "was skipped"), (Status.CANCELLED, "was cancelled")])
def test_what_ended_without_failing_stops_nothing_but_what_needs_it(status, word):
    schedule = Schedule(STAGING, "stop")
    assert run(schedule, "networking", status) == ["consul", "vault"]
    assert schedule.reason("consul") == f"needs networking, which {word}"
    assert schedule.ready() == ["dns"]


def test_waiting_for_approval_holds_back_what_needs_it_and_nothing_else():
    schedule = Schedule(STAGING)
    assert run(schedule, "networking", Status.AWAITING_APPROVAL, "2 of @sre") == []
    assert schedule.ready() == ["dns"]
    assert schedule.status("vault") is Status.PENDING
    assert schedule.reason("vault") == "needs networking, which awaits approval"
    run(schedule, "dns", Status.APPLIED)
    assert schedule.finished


def test_a_failure_elsewhere_overrules_waiting_for_approval():
    schedule = Schedule(Graph({"a": [], "b": [], "c": ["a", "b"]}), "continue")
    run(schedule, "a", Status.AWAITING_APPROVAL)
    run(schedule, "b", Status.FAILED, "boom")
    assert (schedule.status("c"), schedule.reason("c")) == (Status.SKIPPED, "needs b, which failed")


def test_cancel_ends_what_has_not_started_and_leaves_what_runs():
    schedule = Schedule(STAGING)
    assert schedule.claim("networking")
    assert schedule.cancel("Ctrl-C by root") == ["consul", "dns", "vault"]
    assert schedule.reason("dns") == "Ctrl-C by root"
    assert not schedule.finished
    schedule.done("networking", Status.CANCELLED, "interrupted")
    assert schedule.finished
    assert {schedule.status(name) for name in STAGING.needs} == {Status.CANCELLED}


def test_a_step_that_has_not_started_or_has_ended_cannot_end():
    schedule = Schedule(STAGING)
    with pytest.raises(ValueError, match="it is 'pending'"):
        schedule.done("consul", Status.APPLIED)
    run(schedule, "networking", Status.APPLIED)
    with pytest.raises(ValueError, match="it is 'applied'"):
        schedule.done("networking", Status.FAILED, "too late")


@pytest.mark.parametrize("status", [Status.PENDING, Status.RUNNING, Status.CONVERGING])
def test_a_status_that_ends_nothing_is_refused(status):
    schedule = Schedule(STAGING)
    assert schedule.claim("networking")
    with pytest.raises(ValueError, match="can't end as"):
        schedule.done("networking", status)


def test_an_unknown_error_mode_is_refused():
    with pytest.raises(ValueError, match="stop, continue, rollback"):
        Schedule(STAGING, "ignore")


def test_an_empty_run_is_finished_at_once():
    assert Schedule(Graph({})).finished


class AnyRun(RuleBasedStateMachine):
    """Any sequence of claims, ends and cancels, checked against what a run must never do."""

    @initialize(graph=acyclic(most=8).map(Graph), on_error=st.sampled_from(["stop", "continue", "rollback"]))
    def begin(self, graph, on_error):
        self.graph, self.on_error = graph, on_error
        self.schedule = Schedule(graph, on_error)
        self.ended = {}
        self.no_more_starts = False

    def statuses(self):
        return {name: self.schedule.status(name) for name in self.graph.needs}

    def running(self):
        return [name for name, status in self.statuses().items() if status is Status.RUNNING]

    @precondition(lambda self: self.schedule.ready())
    @rule(data=st.data())
    def claim(self, data):
        assert not self.no_more_starts
        name = data.draw(st.sampled_from(self.schedule.ready()))
        assert self.schedule.claim(name)
        assert all(self.schedule.status(need).good for need in self.graph.needs[name])

    @rule(data=st.data())
    def claim_what_is_not_ready(self, data):
        name = data.draw(st.sampled_from(sorted(self.graph.needs)))
        if name not in self.schedule.ready():
            assert not self.schedule.claim(name)

    @precondition(running)
    @rule(data=st.data(), status=st.sampled_from([*GOOD, *BAD, Status.AWAITING_APPROVAL]))
    def end(self, data, status):
        name = data.draw(st.sampled_from(self.running()))
        before = self.statuses()
        also_ended = self.schedule.done(name, status, f"{name} itself")
        self.no_more_starts |= status is Status.FAILED and self.on_error != "continue"
        assert {other for other in before if before[other] is not self.schedule.status(other)} == {
            name,
            *also_ended,
        }
        if status in BAD and self.on_error == "continue":
            assert set(also_ended) <= self.graph.dependents([name])
        assert all(name in self.schedule.reason(other) for other in also_ended)

    @rule()
    def cancel(self):
        self.schedule.cancel("enough")
        self.no_more_starts = True

    @invariant()
    def what_has_ended_never_changes(self):
        statuses = self.statuses()
        for name, status in self.ended.items():
            assert statuses[name] is status
        self.ended = {name: status for name, status in statuses.items() if status.terminal}

    @invariant()
    def nothing_that_needs_a_bad_end_can_still_start(self):
        statuses = self.statuses()
        bad = [name for name, status in statuses.items() if status in BAD]
        above = self.graph.dependents(bad)
        assert all(statuses[name].terminal and not statuses[name].good for name in above)

    @invariant()
    def finished_means_that_nothing_is_left_to_do_and_not_earlier(self):
        statuses = self.statuses()
        waiting = [name for name, status in statuses.items() if status is Status.AWAITING_APPROVAL]
        can_happen = {
            name
            for name, status in statuses.items()
            if status is Status.RUNNING or (status is Status.PENDING and name not in self.graph.dependents(waiting))
        }
        assert self.schedule.finished == (not can_happen)


AnyRun.TestCase.settings = settings(max_examples=100, stateful_step_count=30, deadline=None)
TestAnyRun = AnyRun.TestCase
