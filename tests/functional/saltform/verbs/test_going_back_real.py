"""The verb `rollback`: earlier releases applied again, whatever the files say by now."""

from __future__ import annotations

import json

import pytest

from saltform.verbs import rollback as rollbacks
from tests.support.minions import MemoryMinions
from tests.support.world import BASE, statuses


def rollback(world, **options):
    return world.call("rollback", "staging", options)


def outputs(world, environment="staging"):
    return world.call("outputs", environment, None)["outputs"]


def changed(text):
    return BASE.replace("input            = var.name", f'input            = "{text} ${{var.name}}"')


@pytest.fixture
def twice(staging):
    """Deployed, and deployed again with another module and one component more."""
    staging.components["consul"]["inputs"] = {"base": "@networking.name"}
    staging.first = staging.deploy()["run"]
    staging.module("base", changed("second"))
    staging.components["more"] = {"module": "app", "inputs": {"base": "@networking.name"}}
    staging.second = staging.deploy()["run"]
    assert outputs(staging)["consul"]["address"] == "app of second net"
    return staging


def test_it_goes_back_in_order_after_the_files_are_broken(twice):
    twice.module("base", "this is no terraform")
    shown = rollback(twice, dry_run=True)
    assert (shown["retcode"], shown["steps"]["more"]["destroy"]) == (2, 1), shown
    returned = rollback(twice)
    # What goes away first, then what it needs, then what needs that.
    assert list(statuses(returned).items()) == [
        ("more", "destroyed"),
        ("networking", "rolled back"),
        ("consul", "rolled back"),
    ], returned
    twice.module("base", changed("second"))
    assert outputs(twice)["consul"]["address"] == "app of net"
    assert any(f"before run {twice.second}" in note for note in returned["notes"])
    record = twice.call("show", returned["run"])["run"]
    assert (record["verb"], record["status"]) == ("rollback", "done")
    # Once more is back to where we were.
    assert statuses(rollback(twice))["consul"] == "rolled back"
    assert outputs(twice)["consul"]["address"] == "app of second net"


def test_a_run_or_a_release_to_go_back_to(twice):
    assert rollback(twice, to=twice.second)["summary"].startswith("rollback staging: nothing to do")
    earlier = twice.call("releases", "staging")["components"]["networking"]["earlier"]
    returned = rollback(twice, to=earlier[0]["release"][:12])
    assert statuses(returned) == {"networking": "rolled back"}
    assert outputs(twice)["networking"]["name"] == "net"
    returned = rollback(twice, to=twice.first, components="consul")
    assert statuses(returned) == {"consul": "rolled back"}
    assert outputs(twice)["consul"]["address"] == "app of net"
    assert rollback(twice, to="0123456789ab")["error"]["type"] == "UnknownName"
    assert rollback(twice, to="2" * 20)["error"]["type"] == "UnknownName"


def test_before_the_first_run_there_was_nothing(staging):
    error = rollback(staging)["error"]
    assert "nothing to go back to" in error["summary"]
    assert outputs(staging)["networking"]["name"] == "net"


def test_what_needs_something_that_goes_away_goes_back_before_it(staging):
    staging.components["more"] = {"module": "app", "inputs": {"base": "@networking.id"}}
    staging.components["consul"]["inputs"] = {"base": "@more.address"}
    staging.deploy()
    assert list(statuses(rollback(staging))) == ["consul", "more"]
    assert outputs(staging)["consul"]["address"].startswith("app of ")


def test_what_holds_data_is_kept_and_named_and_its_neighbours_go_back(staging):
    staging.components["vault"] = {"module": "counted", "variables": {"names": ["a"]}, "stateful": True}
    staging.components["consul"] |= {"needs": ["vault"], "variables": {"extra": "one"}}
    staging.deploy()
    staging.components["vault"]["variables"] = {"names": ["a", "b"]}
    staging.components["consul"]["variables"] = {"extra": "two"}
    staging.components["store"] = {"module": "app", "inputs": {"base": "@networking.id"}, "stateful": True}
    staging.deploy()
    returned = rollback(staging)
    assert statuses(returned) == {"vault": "unchanged", "consul": "rolled back"}, returned
    notes = "\n".join(returned["notes"])
    assert "vault: kept with its data, because it is stateful: the plan would delete" in notes
    assert "store: kept with its data" in notes
    assert outputs(staging)["vault"]["names"] == ["a", "b"]
    assert outputs(staging)["consul"]["got"]["extra"] == "one"


def test_health_is_asked_after_every_stage(twice):
    health = {"function": "test.ping", "targets": "web*"}
    twice.infrastructure["environments"] = {"staging": {"components": twice.components, "health": health}}
    minions = MemoryMinions()
    minions.comes("web1")
    minions.answers["test.ping"] = lambda _minion: len(minions.asked) < 2
    returned = twice.call("rollback", "staging", {}, services=twice.services(minions=minions))
    assert returned["retcode"] == 1
    assert statuses(returned) == {"more": "destroyed", "networking": "rolled back", "consul": "skipped"}
    assert returned["steps"]["consul"]["reason"].startswith("after stage 2 of 3: test.ping is not true on web1")
    minions.answers["test.ping"] = lambda _minion: True
    resumed = twice.call("resume", returned["run"], services=twice.services(minions=minions))
    assert (resumed["retcode"], statuses(resumed)["consul"]) == (0, "rolled back"), resumed


def test_what_converges_waits_for_its_minions_before_others_go_back(twice):
    minions = MemoryMinions()
    minions.comes("net-1")
    twice.components["networking"]["converge"] = {"target": "net-*", "expect": 1, "health": "net.up"}
    minions.answers = {"net.up": lambda _minion: True}
    returned = twice.call("rollback", "staging", {}, services=twice.services(minions=minions))
    assert statuses(returned)["consul"] == "rolled back", returned
    assert ("net.up", ("net-1",)) in minions.asked


def test_every_stage_waits_for_its_approval(twice):
    approval = {"when": "always"}
    twice.infrastructure["environments"] = {"staging": {"components": twice.components, "approval": approval}}
    returned = rollback(twice)
    assert returned["retcode"] == 3
    assert statuses(returned) == {"more": "awaiting approval", "networking": "pending", "consul": "pending"}
    for name in ("more", "networking", "consul"):
        twice.author = "eve"
        assert twice.call("approve", returned["run"], name, "fine")["retcode"] == 0
        returned = twice.call("resume", returned["run"])
    assert (returned["retcode"], statuses(returned)["consul"]) == (0, "rolled back"), returned
    assert outputs(twice)["consul"]["address"] == "app of net"


def test_a_failure_is_resumed_with_the_same_goal(staging):
    flag = staging.home / "in-the-way"
    text = (
        'variable "name" {}\nresource "terraform_data" "this" {\n  triggers_replace = var.name\n'
        '  provisioner "local-exec" { command = "test ! -e %s" }\n}\n'
    )
    staging.module("fragile", text % flag)
    staging.components["late"] = {"module": "fragile", "variables": {"name": "one"}, "needs": ["consul"]}
    staging.deploy()
    staging.components["late"]["variables"]["name"] = "two"
    staging.components["networking"]["variables"]["name"] = "net2"
    staging.deploy()
    flag.write_text("")
    returned = rollback(staging)
    assert (returned["retcode"], statuses(returned)["late"]) == (1, "failed")
    flag.unlink()
    resumed = staging.call("resume", returned["run"])
    assert (resumed["retcode"], resumed["verb"]) == (0, "rollback"), resumed
    assert statuses(resumed)["late"] == "rolled back"
    assert outputs(staging)["networking"]["name"] == "net"


def test_after_a_promotion_production_has_what_was_promoted_before(staging):
    staging.infrastructure["environments"] = {
        "production": {"promoted_from": "staging", "components": {"networking": {"variables": {"name": "prod"}}}}
    }
    staging.call("promote", "staging", "production", {})
    before = staging.call("releases", "production")["pillar"]
    staging.module("base", changed("second"))
    staging.components["more"] = {"module": "app", "inputs": {"base": "@networking.name"}}
    staging.deploy()
    assert staging.call("promote", "staging", "production", {})["retcode"] == 0
    returned = staging.call("rollback", "production", {})
    assert returned["retcode"] == 0, returned
    assert staging.call("releases", "production")["pillar"] == before
    assert outputs(staging, "production")["networking"]["name"] == "prod"
    assert set(statuses(staging.call("deploy", "production", {})).values()) == {"unchanged"}


def test_terraform_says_that_a_state_is_too_new_in_the_words_that_we_look_for(twice):
    path = twice.state_dir / "states" / "staging" / "networking" / "terraform.tfstate"
    state = json.loads(path.read_text())
    for resource in state["resources"]:
        for instance in resource["instances"]:
            instance["schema_version"] = 99
    path.write_text(json.dumps(state))
    returned = rollback(twice, components="networking")
    error = returned["steps"]["networking"]["error"]
    assert rollbacks._NEWER_STATE in error["detail"]


def test_nothing_is_built_twice_by_going_back_beyond_a_rename(staging):
    staging.components["net"] = {**staging.components.pop("networking"), "renamed_from": "networking"}
    staging.components["consul"]["inputs"] = {"base": "@net.id"}
    first = staging.call("history", "staging", 20)["runs"][-1]["id"]
    assert staging.deploy()["retcode"] == 0
    error = rollback(staging, to=first)["error"]
    assert error["detail"] == "networking became net since"
