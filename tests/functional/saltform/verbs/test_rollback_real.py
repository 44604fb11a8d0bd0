"""`on_error: rollback`: what the run did is undone, and nothing else is touched."""

from __future__ import annotations

import pytest

from saltform.layout import Layout
from tests.support.world import statuses

FRAGILE = """
variable "base" { type = string }
variable "fails" {
  type    = bool
  default = false
}
resource "terraform_data" "made" { input = var.base }
resource "terraform_data" "this" {
  input            = var.base
  triggers_replace = var.fails
  depends_on       = [terraform_data.made]
  provisioner "local-exec" { command = var.fails ? "exit 3" : "true" }
}
output "base" { value = terraform_data.made.output }
"""
OTHER_OUTPUTS = """
variable "name" { type = string }
resource "terraform_data" "this" { input = var.name }
output "called" { value = terraform_data.this.output }
"""


@pytest.fixture
def stack(world):
    """networking ← consul, both there; `last` comes and fails."""
    world.module("fragile", FRAGILE)
    world.components = {
        "aside": {"module": "base", "variables": {"name": "aside"}},
        "networking": {"module": "base", "variables": {"name": "one"}},
        "consul": {"module": "app", "inputs": {"base": "@networking.name"}},
    }
    assert world.deploy()["retcode"] == 0
    world.components["last"] = {
        "module": "fragile",
        "inputs": {"base": "@consul.address"},
        "variables": {"fails": True},
    }
    return world


def outputs(world):
    return world.call("outputs", "staging", None)["outputs"]


def words(world):
    components = world.call("status", "staging")["components"]
    return {name: item["status"] for name, item in components.items()}


def serials(world):
    return {name: item["serial"] for name, item in world.call("status", "staging")["components"].items()}


def test_what_was_created_is_destroyed_and_what_was_changed_goes_back(stack):
    before, serial = outputs(stack), serials(stack)["aside"]
    stack.components["networking"]["variables"]["name"] = "two"
    stack.components["new"] = {"module": "base", "variables": {"name": "new"}}
    returned = stack.deploy(on_error="rollback", parallelism=1)
    assert returned["retcode"] == 1
    assert statuses(returned)["last"] == "failed"
    undone = returned["rollback"]
    assert undone["retcode"] == 0, undone
    got = statuses(undone)
    assert got.pop("new", "destroyed") == "destroyed"  # the failure may have come before it was started
    assert got == {"last": "destroyed", "consul": "rolled back", "networking": "rolled back"}
    after = outputs(stack)
    assert after["networking"]["name"] == before["networking"]["name"] == "one"
    assert after["consul"] == before["consul"]  # although networking went back after it
    assert (after["last"], after["new"]) == ({}, {})
    assert serials(stack)["aside"] == serial
    assert words(stack)["last"] == words(stack)["new"] == "never applied"


def test_it_is_undone_in_reverse_order(stack):
    stack.components["networking"]["variables"]["name"] = "two"
    undone = stack.deploy(on_error="rollback")["rollback"]
    assert list(undone["steps"]) == ["last", "consul", "networking"]


def test_with_the_pillar_put_back_everything_is_unchanged(stack):
    stack.components["networking"]["variables"]["name"] = "two"
    stack.deploy(on_error="rollback")
    assert words(stack)["networking"] == "pending change"
    stack.components["networking"]["variables"]["name"] = "one"
    del stack.components["last"]
    assert set(statuses(stack.deploy()).values()) == {"unchanged"}


def test_the_previous_module_comes_from_the_store(stack):
    stack.module("base", 'variable "name" {}\noutput "name" { value = "broken" }\noutput "id" { value = "x" }\n')
    stack.deploy(on_error="rollback")
    assert outputs(stack)["networking"]["name"] == "one"


def test_an_output_that_the_new_release_does_not_have_is_waited_for(stack):
    stack.module("renamed", OTHER_OUTPUTS)
    stack.components["networking"] = {"module": "renamed", "variables": {"name": "two"}}
    stack.components["consul"]["inputs"] = {"base": "@networking.called"}
    undone = stack.deploy(on_error="rollback")["rollback"]
    assert statuses(undone) == {"last": "destroyed", "consul": "rolled back", "networking": "rolled back"}
    assert outputs(stack)["consul"]["address"] == "app of one"


def test_both_runs_are_on_record_and_name_each_other(stack):
    returned = stack.deploy(on_error="rollback")
    failed = stack.call("show", returned["run"])
    undo = stack.call("show", returned["rollback"]["run"])
    assert (undo["run"]["verb"], undo["run"]["author"]) == ("rollback", "ada")
    assert failed["run"]["rolled_back_by"] == undo["run"]["id"]
    assert any(undo["run"]["id"] in note for note in failed["notes"])
    assert any(failed["run"]["id"] in note for note in undo["notes"])


def test_what_was_half_made_by_an_earlier_run_and_never_good_is_left_and_named(stack):
    stack.deploy()
    returned = stack.deploy(on_error="rollback")
    assert returned["rollback"]["steps"] == {}
    assert any(note.startswith("last: left as it is") for note in returned["notes"])
    assert words(stack)["last"] == "half done"


def test_after_a_failure_without_rollback_the_last_good_release_is_still_known(stack):
    stack.components["last"]["variables"]["fails"] = False
    assert stack.deploy()["retcode"] == 0
    stack.components["last"]["variables"]["fails"] = True
    stack.deploy(on_error="stop")
    undone = stack.deploy(on_error="rollback")["rollback"]
    assert statuses(undone) == {"last": "rolled back"}
    assert words(stack)["last"] == "pending change"
    stack.components["last"]["variables"]["fails"] = False
    assert statuses(stack.deploy())["last"] == "unchanged"


def test_a_stateful_component_is_kept_with_what_it_needs_and_named(stack):
    stack.components["net2"] = {"module": "base", "variables": {"name": "net2"}}
    stack.components["vault"] = {"module": "app", "inputs": {"base": "@net2.name"}, "stateful": True}
    stack.components["last"]["needs"] = ["vault"]
    returned = stack.deploy(on_error="rollback")
    assert statuses(returned["rollback"]) == {"last": "destroyed"}
    notes = "\n".join(returned["notes"])
    assert "vault: kept with its data" in notes
    assert "net2: kept as it is, because vault needs it" in notes
    assert outputs(stack)["vault"]["address"] == "app of net2"


def test_a_stateful_component_that_would_lose_data_by_going_back_is_kept(stack):
    stack.components["vault"] = {"module": "counted", "variables": {"names": ["a"]}, "stateful": True}
    stack.components["last"]["needs"] = ["vault"]
    stack.components["last"]["variables"]["fails"] = False
    stack.deploy()
    stack.components["vault"]["variables"]["names"] = ["a", "b"]
    stack.components["last"]["variables"]["fails"] = True
    returned = stack.deploy(on_error="rollback")
    assert statuses(returned["rollback"]) == {"last": "rolled back", "vault": "skipped"}
    assert any("vault: kept with its data" in note for note in returned["notes"])
    assert outputs(stack)["vault"]["names"] == ["a", "b"]


def test_a_rollback_that_fails_says_what_is_left(stack):
    stack.components["last"]["variables"] = {"command": "exit 3"}
    del stack.components["last"]["inputs"]
    stack.components["last"]["needs"] = ["consul"]
    stack.module(
        "clingy",
        'variable "command" {}\n'
        'resource "terraform_data" "this" {\n'
        '  provisioner "local-exec" {\n    when = destroy\n    command = "exit 4"\n  }\n}\n'
        'resource "terraform_data" "bad" {\n  depends_on = [terraform_data.this]\n'
        '  provisioner "local-exec" { command = var.command }\n}\n',
    )
    stack.components["last"]["module"] = "clingy"
    stack.components["networking"]["variables"]["name"] = "two"
    returned = stack.deploy(on_error="rollback")
    undone = returned["rollback"]
    assert undone["retcode"] == 1
    assert statuses(undone) == {"last": "failed", "consul": "skipped", "networking": "skipped"}
    assert any("not rolled back: last" in note and "networking" in note for note in returned["notes"])
    assert f"infrastructure.resume {undone['run']}" in "\n".join(returned["notes"])


def test_pillar_can_say_rollback_for_all_deploys(stack):
    stack.infrastructure["defaults"] = {"on_error": "rollback"}
    assert statuses(stack.deploy()["rollback"]) == {"last": "destroyed"}
    assert stack.destroy()["retcode"] == 0


def test_a_destroy_refuses_to_be_rolled_back(stack):
    returned = stack.destroy(on_error="rollback")
    assert "can't be brought back" in returned["error"]["detail"]
    assert words(stack)["networking"] == "applied"


def test_nothing_is_locked_and_no_plan_is_left(stack):
    stack.deploy(on_error="rollback")
    assert not list(Layout(stack.state_dir).state_dir.rglob(".plan"))
    assert stack.call("status", "staging")["components"]["consul"].get("locked_by") is None
