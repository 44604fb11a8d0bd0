"""Two masters on one PostgreSQL: they see each other's runs and locks, wait, take over and cancel; and lose it."""

from __future__ import annotations

import dataclasses

import pytest

from saltform.engine.context import EnvironmentContext
from saltform.engine.work import ComponentWork
from saltform.layout import Layout
from saltform.runlog import StepRecord
from saltform.tfstate import read
from tests.support import masters
from tests.support.postgres import postgres
from tests.support.runner_process import ended, start, until
from tests.support.world import statuses


@pytest.fixture(scope="module")
def database():
    with postgres() as server:
        yield server


@pytest.fixture
def states():
    with masters.states() as server:
        yield server


@pytest.fixture
def two(tmp_path, database, states, request, monkeypatch):
    """`first` works until a file is there; `second` comes after it."""
    for name, value in masters.LOGIN.items():
        monkeypatch.setenv(name, value)
    address = masters.schema(database, request.node.name)
    gate, begun = tmp_path / "gate", tmp_path / "begun"
    command = f"touch {begun}; while ! test -e {gate}; do sleep 0.1; done"
    made = []
    for name in ("one", "other"):
        world = masters.master(tmp_path / name, address, states, lock=True)
        world.gate, world.begun = gate, begun
        world.components |= {
            "first": {"module": "shell", "variables": {"command": command}},
            "second": {"module": "base", "variables": {"name": "two"}, "needs": ["first"]},
        }
        made.append(world)
    return made


def begun(world):
    process = start(world, "deploy", {"parallelism": 1})
    until(world.begun.exists, "the first component")
    return process


def test_one_is_seen_waited_for_and_not_done_again_by_the_other(two):
    one, other = two
    process = begun(one)
    try:
        holder = other.call("locks", "staging")["locks"]["first"]
        assert (holder["author"], holder["process"], holder["run_alive"]) == ("ada", process.pid, True)
        assert holder["heartbeat"] and holder["waiting"] == []
        refused = other.deploy()
        assert refused["retcode"] == 75
        assert f"process {process.pid}" in refused["steps"]["first"]["error"]["detail"]
        waiting = start(other, "deploy", {"wait": "2m"})
        until(lambda: other.call("locks", "staging")["locks"]["first"]["waiting"], "the other in line")
    finally:
        one.gate.touch()
    assert statuses(ended(process)) == {"first": "applied", "second": "applied"}
    assert statuses(ended(waiting)) == {"first": "unchanged", "second": "unchanged"}
    assert set(statuses(other.deploy()).values()) == {"unchanged"}
    assert other.processes.started == []


def test_validate_says_where_only_our_own_lock_is_between_masters(two):
    one, _other = two
    assert one.call("validate", "staging")["notes"] == []
    backend = one.infrastructure["defaults"]["backend"]
    for name in ("lock_address", "unlock_address"):
        del backend[name]
    (note,) = one.call("validate", "staging")["notes"]
    assert note.startswith("staging: first, second: the backend (http without lock_address and unlock_address)")
    assert "cut off from the run log for more than 6 s" in note


def test_a_run_is_cancelled_from_the_other_master_and_resumed_where_it_was(two):
    one, other = two
    process = begun(one)
    other.author = "bob"
    run = other.call("history", "staging", 5)["runs"][0]
    assert (run["status"], run["author"]) == ("running", "ada")
    assert other.call("cancel", run["id"], None)["retcode"] == 0
    returned = ended(process)
    assert returned["retcode"] == 130
    assert any("cancelled by bob" in note for note in returned["notes"])
    assert other.call("locks", "staging")["locks"] == {}
    one.gate.touch()
    assert one.call("resume", run["id"])["retcode"] == 0


def test_plans_that_another_master_has_turned_down_are_not_kept_here(two):
    one, other = two
    components = {name: {"module": "base", "variables": {"name": name}} for name in ("a", "b")}
    for world in two:
        world.infrastructure["environments"] = {"staging": {"components": components, "approval": {"when": "always"}}}

    def kept():
        return sorted(path.name for path in one.state_dir.glob("runs/*/plans/*"))

    run = one.deploy()["run"]
    assert kept() == ["a.meaning", "a.plan", "b.meaning", "b.plan"]
    bob = other.services(author="bob", origin="master")
    assert other.call("reject", run, "a", services=bob)["retcode"] == 0
    assert len(one.call("approvals", "staging")["requests"]) == 1
    assert kept() == ["b.meaning", "b.plan"]
    assert other.call("abandon", run)["retcode"] == 0
    assert one.call("prune", "90d")["retcode"] == 0
    assert kept() == []


def test_a_dead_masters_lock_is_taken_over_when_its_terraform_has_ended(two):
    one, other = two
    process = begun(one)
    process.kill()
    process.communicate()
    one.gate.touch()
    returned = other.deploy(wait="2m")
    assert returned["retcode"] == 0, returned
    assert any("first: took its lock over from run" in note for note in returned["notes"])
    assert set(statuses(one.deploy()).values()) == {"unchanged"}
    assert one.processes.started == []


def test_what_one_deployed_is_pillar_on_the_other_as_soon_as_that_one_looks(two):
    one, other = two
    one.gate.touch()
    one.deploy()
    other.call("sync_states", "staging")
    for world in two:
        world.components["second"]["variables"]["name"] = "three"
    assert statuses(one.deploy())["second"] == "applied"
    other.call("sync_states", "staging")
    heads = [read(Layout(world.state_dir).state_copy("staging", "second")).head for world in two]
    assert heads[0] == heads[1]


def test_provider_versions_that_one_chose_are_used_by_the_other(two):
    one, other = two
    one.gate.touch()
    one.deploy()
    services = other.services()
    record = services.runlog.components("staging")["second"]
    services.runlog.keep_component(dataclasses.replace(record, next_lock="# chosen by upgrade\n"))
    with EnvironmentContext(services, "staging") as context:
        component = context.component("second")
        assert ComponentWork(context, component, {}, StepRecord("second")).provider_lock == b"# chosen by upgrade\n"
    services.close()
    assert statuses(other.deploy())["second"] != "failed"
    services = one.services()
    assert services.runlog.components("staging")["second"].next_lock == ""  # it is the release's by now
    services.close()


def test_a_database_that_is_killed_under_a_run_and_comes_back(two, database):
    one, other = two
    process = begun(one)
    database.kill()
    one.gate.touch()
    returned = ended(process)
    assert returned["retcode"] == 1
    assert returned["error"]["type"] in ("RunLogError", "LostLock")
    assert returned["steps"]["second"]["reason"].startswith("not started: ")
    assert any("first (" in note and "not on record" in note for note in returned["notes"])
    assert other.deploy()["error"]["type"] == "RunLogError"
    database.start_again()
    until(lambda: "is dead since" in str(other.call("status", "staging")["notes"]), "the end of its lease")
    resumed = one.call("resume", returned["run"])
    assert resumed["retcode"] == 0, resumed
    assert statuses(resumed) == {"first": "unchanged", "second": "applied"}
    assert set(statuses(other.deploy()).values()) == {"unchanged"}
