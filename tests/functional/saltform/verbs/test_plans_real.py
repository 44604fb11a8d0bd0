"""Plans that read well: values before and after, secrets hidden, dangers first; on real Terraform."""

from __future__ import annotations

import json

import pytest

from saltform.report import markdown, text

SECRETIVE = """
variable "secret" {
  type      = string
  sensitive = true
}
variable "name" { type = string }
resource "terraform_data" "this" {
  input            = { secret = var.secret, name = var.name }
  triggers_replace = var.name
}
output "id" { value = terraform_data.this.id }
"""


def change_of(returned, name):
    (change,) = returned["steps"][name]["changes"]
    return change


def by_path(change):
    return {each["path"]: each for each in change["attributes"]}


def test_an_update_shows_before_and_after(staging):
    staging.components["networking"]["variables"]["name"] = "net2"
    planned = staging.plan()
    assert by_path(change_of(planned, "networking")) == {
        "input": {"path": "input", "before": "net", "after": "net2"},
        "output": {"path": "output", "before": "net", "after": "(known after apply)", "unknown": True},
    }
    said = text.render(planned)
    assert 'input: "net" → "net2"' in said
    assert 'output: "net" → (known after apply)' in said


def test_what_forces_a_replacement_is_said(staging):
    staging.components["networking"]["variables"]["name"] = "replace-me"
    planned = staging.plan()
    change = change_of(planned, "networking")
    assert change["action"] == "replace"
    assert by_path(change)["triggers_replace"]["forces_replacement"]
    assert 'triggers_replace: "no" → "yes"  (forces replacement)' in text.render(planned)


def test_a_secret_is_in_no_plan_in_no_form_and_in_no_file(world):
    world.module("secretive", SECRETIVE)
    world.components = {"a": {"module": "secretive", "variables": {"secret": "first-hush-1", "name": "a"}}}
    assert world.deploy()["retcode"] == 0
    world.components["a"]["variables"] |= {"secret": "second-hush-2", "name": "b"}
    planned = world.plan()
    assert by_path(change_of(planned, "a"))["input.secret"] == {
        "path": "input.secret",
        "before": "(sensitive)",
        "after": "(sensitive)",
    }
    for said in (json.dumps(planned), text.render(planned), markdown.render(planned)):
        assert "hush" not in said
    kept = [path for path in (world.state_dir / "runs" / planned["run"]).rglob("*") if path.is_file()]
    kept += list(world.state_dir.glob("*.db*"))
    assert kept and not [path for path in kept if b"second-hush" in path.read_bytes()]


def test_a_plan_is_read_once_for_each_component_that_changes_and_its_file_is_gone(staging):
    staging.components["networking"]["variables"]["name"] = "net2"
    staging.plan(refresh=True)
    assert sorted(staging.processes.commands()) == ["plan", "plan", "show"]
    assert not list(staging.state_dir.rglob(".preview"))


def test_a_deferred_plan_shows_its_unknowns_without_our_placeholders(world):
    world.components = {
        "networking": {"module": "base", "variables": {"name": "net"}},
        "consul": {"module": "app", "inputs": {"base": "@networking.id"}},
    }
    planned = world.plan()
    assert planned["steps"]["consul"]["status"] == "deferred"
    change = change_of(planned, "consul")
    assert change["address"] == "terraform_data.this"
    assert by_path(change)["input.base"]["after"] == "(known after apply)"
    assert "known after apply: id, input.base, output" in text.render(planned)


def test_a_hundred_unchanged_ones_are_one_line(staging):
    planned = staging.plan()
    assert text.render(planned).count("\n") == 0


def test_the_report_of_a_plan_has_the_values(staging):
    staging.components["networking"]["variables"]["name"] = "net2"
    run = staging.plan()["run"]
    path = staging.call("report", run, "markdown")["path"]
    with open(path) as page:
        assert 'input: "net" → "net2"' in page.read()


@pytest.mark.parametrize("form", ["html", "json"])
def test_the_other_forms_take_such_a_plan(staging, form):
    staging.components["networking"]["variables"]["name"] = "net2"
    assert staging.call("report", staging.plan()["run"], form)["retcode"] == 0
