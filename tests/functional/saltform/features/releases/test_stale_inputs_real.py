"""Going back may make a new id: who still has the old one is named, and what is gone again isn't shown as applied."""

from __future__ import annotations

import pytest

from saltform.report import text
from tests.support.world import statuses


@pytest.fixture
def stack(world):
    """`networking` ← `consul`, both applied. Pillar then replaces `networking`; `bad` fails before consul's turn."""
    world.components = {
        "networking": {"module": "base", "variables": {"name": "one"}},
        "consul": {"module": "app", "inputs": {"base": "@networking.id"}},
        "named": {"module": "app", "inputs": {"base": "@networking.name"}},
    }
    assert world.deploy()["retcode"] == 0
    world.components["networking"]["variables"]["name"] = "replace-me"
    return world


def fails(world):
    world.components["bad"] = {"module": "shell", "variables": {"command": "exit 3"}, "needs": ["networking"]}
    world.components["consul"]["needs"] = world.components["named"]["needs"] = ["bad"]
    return world.deploy(on_error="rollback")


def used(world):
    outputs = world.call("outputs", "staging", None)["outputs"]
    return outputs["networking"]["id"], outputs["consul"]["got"]["base"]


NOTE = (
    "consul still uses networking.id from before: going back made a new one. To give it that: "
    "salt-run infrastructure.deploy staging components=consul only=True"
)


def test_a_dependent_that_kept_the_old_id_is_named_with_what_to_do(stack):
    returned = fails(stack)
    assert statuses(returned["rollback"]) == {"bad": "destroyed", "networking": "rolled back"}
    now, kept = used(stack)
    assert now != kept
    assert [note for note in returned["notes"] if "still uses" in note] == [
        NOTE
    ]  # not `named`: that value is as before
    assert NOTE in stack.call("show", returned["rollback"]["run"])["notes"]
    # What it says works.
    del stack.components["bad"], stack.components["consul"]["needs"], stack.components["named"]["needs"]
    stack.components["networking"]["variables"]["name"] = "one"
    assert statuses(stack.deploy(components="consul", only=True)) == {"consul": "applied"}
    now, kept = used(stack)
    assert now == kept


def test_the_table_does_not_show_what_is_gone_again_as_applied(stack):
    stack.components["new"] = {"module": "base", "variables": {"name": "new"}}
    stack.components["networking"]["needs"] = ["new"]
    returned = fails(stack)
    run, undone = returned["run"], returned["rollback"]["run"]
    for steps in (returned["steps"], stack.call("show", run)["steps"]):
        assert {name: steps[name]["status"] for name in ("new", "networking", "bad")} == {
            "new": "destroyed",
            "networking": "rolled back",
            "bad": "failed",
        }
        assert steps["new"]["reason"] == f"applied, then destroyed again by run {undone}"
        assert steps["networking"]["reason"] == f"applied, then brought back again by run {undone}"
    assert returned["summary"].endswith(f"; undone by run {undone}")
    for shown in (text.render(returned), text.render(stack.call("show", run))):
        assert "✓ applied" not in shown
        assert "destroyed again" in shown


def test_a_rollback_of_one_component_names_who_kept_the_old_id(stack):
    assert stack.deploy(components="networking", only=True)["retcode"] == 0
    assert stack.deploy()["retcode"] == 0
    returned = stack.call("rollback", "staging", {"components": "networking", "to": first_run(stack)})
    assert statuses(returned) == {"networking": "rolled back"}, returned
    assert NOTE in returned["notes"]


def first_run(world):
    return world.call("history", "staging", 50)["runs"][-1]["id"]


def test_when_everybody_goes_back_nobody_is_named(stack):
    assert stack.deploy()["retcode"] == 0
    returned = stack.call("rollback", "staging", {"to": first_run(stack)})
    assert statuses(returned)["networking"] == "rolled back", returned
    assert not any("still uses" in note for note in returned["notes"])
    now, kept = used(stack)
    assert now == kept
