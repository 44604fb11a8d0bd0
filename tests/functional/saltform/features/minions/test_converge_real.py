"""A component with `converge` is done when its minions are, and what needs it starts only then. Terraform is real."""

from __future__ import annotations

import threading

import pytest

from saltform.features.minions import converging
from saltform.minions import Answer
from saltform.process import Cancel
from tests.support.cluster import wait_for
from tests.support.minions import HOSTS, MemoryMinions, broken, clean
from tests.support.world import statuses


@pytest.fixture
def minions(monkeypatch):
    monkeypatch.setattr(converging, "PAUSE", 0.02)
    return MemoryMinions()


@pytest.fixture
def consul(world):
    """`consul` converges, `app` needs it, `other` needs nobody."""

    def components(**converge):
        wanted = {"target": "consul-*", "expect": 2, "timeout": "60s", **converge}
        world.components = {
            "consul": {"module": "base", "variables": {"name": "consul"}, "converge": wanted},
            "app": {"module": "app", "inputs": {"base": "@consul.id"}},
            "other": {"module": "base", "variables": {"name": "other"}},
        }
        return world

    return components


def deploy(world, minions, **options):
    services = world.services(minions=minions)
    return world.call("deploy", "staging", options, services=services)


def told(world, component):
    """(status, reason) of every event about the component."""
    mine = [data for tag, data in list(world.events.fired) if f"/{component}/" in tag]
    return [(data["status"], data["reason"]) for data in mine]


def test_dependents_start_only_when_minions_highstate_and_health_are_there(consul, minions):
    world = consul(highstate=True, health="consul.healthy")
    minions.answers = {"state.apply": broken, "consul.healthy": lambda _minion: "no leader"}
    minions.comes("consul-1")
    steps = []

    def next_thing_comes_right(_tag, data):
        """Each trouble goes away when it is told: what is waited for next shows."""
        steps.append((data.get("component"), data.get("status")))
        reason = data.get("reason", "")
        if "1 of 2 minions are there" in reason:
            minions.comes("consul-2")
        elif "state file.managed a failed: no such source" in reason:
            minions.answers["state.apply"] = clean
        elif "consul.healthy said no leader" in reason:
            minions.answers["consul.healthy"] = lambda _minion: True

    services = world.services(minions=minions, events=Telling(next_thing_comes_right))
    returned = world.call("deploy", "staging", {"parallelism": 1}, services=services)
    assert statuses(returned) == {"consul": "applied", "app": "applied", "other": "applied"}
    assert returned["steps"]["consul"]["reason"] == ""
    assert steps.index(("consul", "applied")) < steps.index(("app", "running"))
    # The one slot was free while consul waited.
    assert steps.index(("consul", "converging")) < steps.index(("other", "running"))
    assert minions.asked[-1] == ("consul.healthy", ("consul-1", "consul-2"))
    # What was clean is not run again, and what is unchanged waits for nobody.
    asked = len(minions.asked)
    assert set(statuses(deploy(world, minions)).values()) == {"unchanged"}
    assert len(minions.asked) == asked


def test_a_minion_that_never_comes_fails_the_step_by_name_and_the_next_deploy_waits_again(world, minions):
    world.module("hosts", HOSTS)
    world.components = {
        "consul": {"module": "hosts", "minions": ["consul-1", "consul-2"], "converge": {"timeout": "0.2s"}},
        "app": {"module": "base", "variables": {"name": "app"}, "needs": ["consul"]},
    }
    returned = deploy(world, minions)
    assert statuses(returned) == {"consul": "failed", "app": "skipped"}
    error = returned["steps"]["consul"]["error"]
    assert error["type"] == "NotConverged"
    assert error["missing"] == ["0 of 2 minions are there", "consul-1 has no key yet", "consul-2 has no key yet"]
    assert world.call("status", "staging")["components"]["consul"]["status"] == "half done"
    minions.comes("consul-1", "consul-2")
    again = deploy(world, minions)
    assert statuses(again) == {"consul": "unchanged", "app": "applied"}, again
    assert ("converging", "waiting for its minions") in told(world, "consul")
    assert world.processes.commands().count("apply") == 1


def test_a_resumed_run_converges_what_was_not_converged(consul, minions):
    world = consul(timeout="0.2s")
    failed = deploy(world, minions)
    assert statuses(failed)["consul"] == "failed"
    services = world.services(minions=minions)
    minions.comes("consul-1", "consul-2")
    resumed = world.call("resume", failed["run"], services=services)
    assert resumed["retcode"] == 0, resumed
    assert resumed["run"] == failed["run"]
    assert statuses(resumed)["app"] == "applied"
    assert ("test.ping", ("consul-1", "consul-2")) in minions.asked


def test_it_can_be_cancelled_while_it_converges_and_keeps_the_lock_until_then(consul, minions):
    world = consul()
    cancel = Cancel()
    services = world.services(minions=minions, cancel=cancel)
    ended = []
    thread = threading.Thread(target=lambda: ended.append(world.call("deploy", "staging", {}, services=services)))
    thread.start()
    try:
        wait_for(lambda: any(status == "converging" for status, _ in told(world, "consul")), 60)
        assert "consul" in world.call("locks", "staging")["locks"]
        shown = world.call("show", services.run_id)
        assert shown["steps"]["consul"]["status"] == "converging"
        assert "minions" in shown["steps"]["consul"]["reason"]
    finally:
        cancel.set()
        thread.join(60)
    assert ended[0]["retcode"] == 130
    assert ended[0]["steps"]["consul"]["status"] == "cancelled"


@pytest.mark.parametrize("verb", ["deploy", "destroy"])
def test_where_there_is_no_master_it_says_so_and_nothing_is_begun(consul, minions, verb):
    """A state on a minion, say: it would apply, and then fail to wait."""
    world = consul()
    if verb == "destroy":
        minions.comes("consul-1", "consul-2")
        assert deploy(world, minions)["retcode"] == 0
    returned = getattr(world, verb)()
    assert (returned["retcode"], "by the master" in returned["error"]["detail"]) == (1, True)
    assert world.processes.started == []


def test_a_new_condition_is_checked_without_a_change_of_terraform(world, minions):
    world.components = {"consul": {"module": "base", "variables": {"name": "consul"}}}
    assert statuses(deploy(world, minions)) == {"consul": "applied"}
    world.components["consul"]["converge"] = {"target": "consul-*"}
    minions.comes("consul-1")
    assert statuses(deploy(world, minions)) == {"consul": "unchanged"}
    assert minions.asked == [("test.ping", ("consul-1",))]


def test_an_applied_component_that_fails_to_converge_is_half_done(world, minions):
    """Whether terraform had something to change or not, and though it was as pillar says before."""
    world.components = {"consul": {"module": "base", "variables": {"name": "consul"}}}
    assert deploy(world, minions)["retcode"] == 0

    def standing():
        return world.call("status", "staging")["components"]["consul"]["status"]

    world.components["consul"]["converge"] = {"target": "consul-*", "timeout": "0.1s"}
    assert statuses(deploy(world, minions)) == {"consul": "failed"}
    assert standing() == "half done"
    minions.comes("consul-1")
    assert statuses(deploy(world, minions)) == {"consul": "unchanged"}
    assert standing() == "applied"
    minions.here.clear()
    again = {"components": ["consul"], "replace": "terraform_data.this"}
    assert statuses(deploy(world, minions, **again)) == {"consul": "failed"}
    assert standing() == "half done"


def test_a_health_function_that_does_not_exist_is_said_as_that(consul, minions, monkeypatch):
    world = consul(health="consul.healthy", timeout="0.2s")
    minions.comes("consul-1", "consul-2")
    call = minions.call

    def lacking(target, function, *given):
        answers = call(target, function, *given)
        said = Answer("'consul.healthy' is not available.", 1)  # as a minion says it
        return answers if function != "consul.healthy" else dict.fromkeys(answers, said)

    monkeypatch.setattr(minions, "call", lacking)
    missing = deploy(world, minions)["steps"]["consul"]["error"]["missing"]
    assert missing == [f"{minion}: it has no function consul.healthy" for minion in ("consul-1", "consul-2")]


class Slow(MemoryMinions):
    """A function of `slow` is answered once, and never again before the caller's time is up."""

    def __init__(self, *slow):
        super().__init__()
        self.slow = slow

    def call(self, target, function, options, seconds, cancel, arguments=()):
        again = any(asked == function for asked, _ in self.asked)
        answers = super().call(target, function, options, seconds, cancel, arguments)
        if function not in self.slow or not again:
            return answers
        cancel.wait(seconds)
        return dict.fromkeys(answers)


@pytest.mark.parametrize("function", ["state.apply", "consul.healthy", "test.ping"])
def test_the_last_complete_reason_is_the_error_and_not_the_round_that_the_deadline_cut_off(
    consul, minions, monkeypatch, function
):
    world = consul(highstate=True, health="consul.healthy", timeout="1s")
    minions = Slow(function)
    minions.comes("consul-1", "consul-2")
    healthy = function == "state.apply"
    minions.answers = {
        "state.apply": broken if healthy else clean,
        "consul.healthy": lambda _minion: healthy or "no leader",
    }
    error = deploy(world, minions)["steps"]["consul"]["error"]
    reason = "state file.managed a failed: no such source" if healthy else "consul.healthy said no leader"
    assert error["missing"] == [f"{minion}: {reason}" for minion in ("consul-1", "consul-2")]
    assert reason in error["detail"]


def test_a_minion_that_never_answered_says_that_it_did_not_end_in_time(consul, minions):
    world = consul(highstate=True, timeout="0.5s")
    minions = Slow("state.apply")
    minions.asked.append(("state.apply", ()))  # not even once
    minions.comes("consul-1", "consul-2")
    error = deploy(world, minions)["steps"]["consul"]["error"]
    assert error["missing"] == [f"{minion}: the highstate did not end in time" for minion in ("consul-1", "consul-2")]


class Telling:
    """Events that are acted upon at once."""

    def __init__(self, act):
        self._act = act

    def fire(self, tag, data):
        self._act(tag, data)

    def close(self):
        """Nothing is waiting."""
