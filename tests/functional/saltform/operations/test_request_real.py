"""Minions ask for runs by events: only those on the list, only what they may, and only they themselves."""

from __future__ import annotations

import json

import pytest

from tests.support.fleet import MemoryFleet

CI = "ci-1.example.com"
ASKED = {"environment": "staging", "request": "build-7"}


@pytest.fixture
def world(world):
    world.fleet = MemoryFleet()
    world.fleet.comes(CI, "web-1")
    store = {CI: "build-7"}
    world.fleet.answers["data.get"] = store.get
    world.fleet.answers["data.pop"] = lambda minion: store.pop(minion, None)
    world.components = {"base": {"module": "base", "variables": {"name": "base"}}}
    world.requests = {CI: ["plan", "deploy"]}
    return world


def ask(world, verb="deploy", minion=CI, asked=ASKED, author="Reactor", origin="master", **more):
    environment = {"components": world.components, "requests": world.requests, **more}
    world.infrastructure = {**world.infrastructure, "environments": {"staging": environment}}
    services = world.services(fleet=world.fleet, author=author, origin=origin)
    return world.call("request", verb, minion, asked, services=services)


def answers(world):
    return [data for tag, data in world.events.fired if tag.startswith("saltform/answer/")]


def test_who_is_on_the_list_gets_a_run_and_its_outputs(world):
    returned = ask(world, asked={**ASKED, "components": "base", "heal": True, "on_error": "rollback"})
    assert (returned["retcode"], returned["verb"]) == (0, "deploy")
    [answer] = answers(world)
    assert (answer["minion"], answer["request"], answer["run"]) == (CI, "build-7", returned["run"])
    assert answer["outputs"]["base"]["name"] == "base"
    assert "hush-hush-hush" not in json.dumps(answer)
    assert ("event.fire", (CI,)) in world.fleet.asked
    assert world.call("history", "staging", 5)["runs"][0]["author"] == f"minion {CI}"


def test_one_request_is_one_run_however_often_the_event_comes(world):
    assert ask(world, asked={**ASKED, "request": "forged"})["retcode"] == 1  # which uses nothing up
    assert ask(world)["retcode"] == 0
    again = ask(world)
    assert (again["retcode"], "does not say that it asked" in again["error"]["detail"]) == (1, True)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"minion": "web-1"}, "may not ask"),
        ({"minion": "ci-*"}, "may not ask"),
        ({"verb": "drift"}, "may not ask"),
        ({"verb": "approve"}, "expected one of plan, deploy, drift"),
        ({"verb": "destroy"}, "expected one of plan, deploy, drift"),
        ({"asked": {"environment": "staging", "request": "forged"}}, "does not say that it asked"),
        ({"asked": {"environment": "staging"}}, "does not say that it asked"),
        ({"asked": {"environment": "staging", "request": ["build-7"]}}, "does not say that it asked"),
        ({"asked": {}}, "names the environment"),
        ({"asked": {"environment": "stagin", "request": "build-7"}}, "staging"),
    ],
)
def test_everything_else_is_refused_with_an_answer_and_starts_nothing(world, given, why):
    returned = ask(world, **given)
    assert returned["retcode"] == 1
    assert why in json.dumps(returned["error"])
    [answer] = answers(world)
    assert answer["success"] is False
    assert world.call("history", "staging", 5)["runs"] == []
    assert world.processes.started == []


def test_a_user_of_the_api_cannot_speak_for_a_minion(world):
    returned = ask(world, author="alice")
    assert returned["error"]["type"] == "NotAllowed"
    assert answers(world) == []


def test_a_plan_that_needs_a_person_waits_for_one_whoever_asked(world):
    returned = ask(world, approval={"when": "always", "by": ["bob"]})
    assert returned["retcode"] == 3
    assert returned["steps"]["base"]["status"] == "awaiting approval"


def test_roles_are_for_users_and_the_list_is_for_minions(world):
    world.infrastructure = {"roles": {"deployer": {"staging": ["alice"]}}}
    assert ask(world)["retcode"] == 0


def test_a_list_with_globs_or_approvals_is_a_problem(world):
    world.requests = {"ci-*": ["deploy"], CI: ["approve"]}
    problems = ask(world)["error"]["problems"]
    assert {problem["path"].rsplit("requests:", 1)[1] for problem in problems} == {"ci-*", CI}
