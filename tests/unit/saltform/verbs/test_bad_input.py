"""Names that don't exist and states that can't be read: said before anything runs, and without hiding the rest."""

from __future__ import annotations

import json

import pytest

from saltform.errors import SaltformError
from saltform.report.text import render
from saltform.runlog import ComponentRecord, RunRecord
from saltform.verbs.one_component import split
from tests.support.minions import MemoryMinions
from tests.support.world import World, fake_terraform


@pytest.fixture
def world(tmp_path):
    """Two components that have been applied once, as far as their states say."""
    world = World(tmp_path)
    world.components = {name: {"module": "base", "variables": {"name": name}} for name in ("networking", "consul")}
    for name in world.components:
        keep_state(world, name)
    return world


def keep_state(world, name):
    instance = {"schema_version": 0, "attributes": {"id": name}}
    resource = {"module": "module.main", "mode": "managed", "type": "terraform_data", "name": "this"}
    state = {
        "version": 4,
        "serial": 1,
        "lineage": name,
        "outputs": {"id": {"value": name, "type": "string"}},
        "resources": [{**resource, "provider": "", "instances": [instance]}],
    }
    path = state_file(world, name)
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(state))


def state_file(world, name):
    return world.state_dir / "states" / "staging" / name / "terraform.tfstate"


@pytest.mark.parametrize("verb", ["deploy", "plan"])
def test_an_address_to_replace_that_is_not_there(world, verb):
    returned = world.call(verb, "staging", {"components": "networking", "replace": "terraform_data.tihs"})
    assert returned["retcode"] == 1
    assert returned["error"]["summary"] == "unknown resource of staging/networking 'terraform_data.tihs'"
    assert returned["error"]["detail"] == "known: terraform_data.this. Did you mean 'terraform_data.this'?"
    assert world.processes.started == []


def test_validate_of_all_environments_tells_everything_at_once_and_once(world):
    world.components["consul"] |= {"module": "nada"}
    world.infrastructure = {
        "policy": {},
        "environments": {
            "a-list": [1],
            "empty": {},
            "misspelt": {"components": {"a": {"module": "base", "variables": {"nmae": "x"}}}, "onerror": "stop"},
            "production": {"promoted_from": "staging", "promot": {}},
        },
    }
    problems = world.call("validate", None)["error"]["problems"]
    assert sorted(each["path"].removeprefix("infrastructure:environments:") for each in problems) == [
        "a-list",
        "empty:components",
        "infrastructure:policy",
        "misspelt:components:a:variables:name",
        "misspelt:components:a:variables:nmae",
        "misspelt:onerror",
        "production:promot",
        "staging:components:consul:module",
    ]


def test_a_malformed_state_hides_no_other_outputs_and_is_named(world):
    state_file(world, "networking").write_text("{")
    returned = world.call("outputs", "staging", None)
    assert returned["retcode"] == 1
    assert returned["outputs"] == {"consul": {"id": "consul"}}
    assert returned["summary"] == "staging: 1 output of 1 component, 1 unreadable"
    (note,) = returned["notes"]
    assert note.startswith("networking: the state is malformed")
    assert "fix: restore it" in note


def test_a_state_that_is_lost_hides_no_other_minions_and_is_named(world):
    variables = 'variable "minions" {}\nvariable "minion_tokens" {}\noutput "minions" { value = {} }\n'
    world.module("hosts", variables)
    world.components = {
        name: {"module": "hosts", "minions": [f"{name}-1"]} for name in ("networking", "consul", "lost")
    }
    state_file(world, "networking").write_text("{")
    services = world.services(minions=MemoryMinions())
    services.runlog.keep_component(
        ComponentRecord("staging", "lost", "r", "f", "l", 3, "run-1", "run-1", "now", "embedded")
    )
    returned = world.call("keys", "staging", services=services)
    assert returned["retcode"] == 1
    assert {name: list(minions) for name, minions in returned["components"].items()} == {"consul": ["consul-1"]}
    assert returned["summary"] == "keys staging: 1 not made yet, 2 components unreadable"
    assert "networking: the state is malformed" in returned["notes"][0]
    assert "lost: the state of lost is gone" in returned["notes"][1]


def test_status_shows_why_a_state_is_unreadable_and_the_way_out(world):
    state_file(world, "networking").write_text("{")
    text = " ".join(render(world.call("status", "staging"), width=400).split())
    assert "✗ networking can't be read the state is malformed" in text
    assert str(state_file(world, "networking")) in text
    assert "fix: restore it from terraform.tfstate.backup" in text


def test_a_binary_that_is_missing_or_of_another_version_hides_no_other_component(world, tmp_path):
    world.binary = fake_terraform(tmp_path)
    keep_state(world, "vault")
    world.components["vault"] = {"module": "base", "variables": {"name": "vault"}, "binary": "/nowhere/terraform"}
    world.components["networking"] |= {"version": "~> 1.5.0"}
    services = world.services()
    for name in world.components:
        services.runlog.keep_component(
            ComponentRecord("staging", name, "r", "f", name, 1, "run-1", "run-1", "now", world.binary)
        )
    returned = world.call("status", "staging", services=services)
    components = returned["components"]
    assert {name: item["status"] for name, item in components.items()} == {
        "networking": "no usable binary",
        "consul": "pending change",
        "vault": "no usable binary",
    }
    assert {item["resources"] for item in components.values()} == {1}
    assert "asks for version '~> 1.5.0'" in components["networking"]["error"]["detail"]
    text = " ".join(render(returned, width=400).split())
    assert "✗ networking can't be planned the binary has the wrong version" in text
    assert "✗ vault can't be planned /nowhere/terraform is not a program that can be run" in text


def test_a_state_that_only_terraform_can_read_hides_no_other_when_terraform_can_not(world, tmp_path):
    world.binary = fake_terraform(tmp_path)
    vault = {"module": "base", "variables": {"name": "x"}, "backend": {"type": "gcs", "bucket": "states"}}
    world.components["vault"] = vault
    world.components["app"] = {"module": "app", "inputs": {"base": "@vault.id"}}
    for why in ("terraform init failed for staging/vault", "/nowhere/terraform is not a program"):
        returned = world.call("outputs", "staging", None)
        assert set(returned["outputs"]) == {"networking", "consul", "app"}
        assert returned["notes"][0].startswith(f"vault: {why}")
        assert why in world.call("status", "staging")["components"]["vault"]["error"]["summary"]
        assert world.call("sync_states", "staging")["components"]["consul"]["status"] == "changed outside"
        checks = world.call("preflight", "staging", "app")["checks"]
        assert [why in item["detail"] for item in checks if item["check"] == "inputs"] == [True]
        vault["binary"] = "/nowhere/terraform"


def test_drift_is_acknowledged_for_one_component_and_never_for_the_first_of_many(world):
    returned = world.call("acknowledge", "staging", "*", "terraform_data.this", "7d", "an audit")
    assert returned["error"]["summary"] == "unknown component '*'"


def test_a_name_that_is_no_component_is_answered_with_one_that_is(world):
    with pytest.raises(SaltformError) as caught:
        split(world.services(), "consul")
    assert (caught.value.detail, caught.value.fix) == ("expected environment/component", "staging/consul")


def test_an_unknown_run_is_answered_with_the_newest_ones_and_the_way_to_all(world):
    services = world.services()
    for number in range(20):
        services.runlog.begin(
            RunRecord(id=f"run-{number:02}", environment="staging", verb="deploy", author="ada", options={})
        )
    error = world.call("show", "run-99", services=services)["error"]
    assert "run-19" in error["detail"]
    assert "run-09" not in error["detail"]
    assert error["fix"] == "salt-run infrastructure.history shows the newest runs"


@pytest.mark.parametrize(
    ("verb", "arguments", "summary"),
    [
        ("validate", ["staging"], "valid: 1 component in staging"),
        ("history", ["staging", 1], "1 run"),
        ("outputs", ["staging", "consul"], "staging: 1 output of 1 component"),
        ("destroy", ["staging", {}], "destroy staging: would destroy 1 resource of 1 component"),
    ],
)
def test_one_is_one(world, verb, arguments, summary):
    del world.components["networking"]
    services = world.services()
    services.runlog.begin(RunRecord(id="run-1", environment="staging", verb="deploy", author="ada", options={}))
    assert world.call(verb, *arguments, services=services)["summary"] == summary


def test_nothing_is_called_nothing(world):
    assert "found nothing, expected a time" in world.call("prune", None)["error"]["detail"]


def test_what_is_not_started_names_what_pillar_says_about_errors(world):
    world.components |= {"last": {"module": "base", "variables": {"name": "x"}}}
    fake = world.home / "terraform"
    fake.write_text('#!/bin/sh\n[ "$1" = version ] && echo "Terraform v1.9.0" && exit 0\nexit 1\n')
    fake.chmod(0o700)
    world.binary = str(fake)
    steps = world.deploy(on_error="rollback", parallelism=1)["steps"]
    reasons = {step["reason"] for step in steps.values() if step["status"] == "skipped"}
    assert reasons == {"not started, because consul failed (on_error: rollback)"}


def test_a_backup_that_is_not_there_is_noticed_before_what_there_is_to_lose(world):
    assert world.call("restore", "/nowhere/backup.tar.gz")["error"]["summary"] == "there is no such backup"


def test_a_request_of_nobody_is_refused_before_nobody_is_called(world):
    minions = MemoryMinions()
    services = world.services(minions=minions, origin="shell")
    error = world.call("request", "deploy", "", {"environment": "staging"}, services=services)["error"]
    assert (error["type"], error["detail"]) == ("NotAllowed", "'': that is no minion id")
    assert minions.asked == []


def test_validate_names_what_is_wrong_in_every_environment_one_with_a_number_for_a_name_included(world):
    broken = {"components": {"a": {"module": "no-such-module"}}}
    world.infrastructure["environments"] = {2024: {"components": world.components}, "broken": broken}
    returned = world.call("validate", None)
    assert returned["retcode"] == 1
    assert [line.split(":")[2] for line in returned["error"]["detail"].strip().splitlines()] == ["2024", "broken"]


def test_an_environment_of_which_only_orphans_are_left_is_summed_up(world):
    services = world.services()
    content = {"module": {"reference": "base", "digest": "d", "entry": ""}, "provider": "", "variables": {}}
    content |= {"secret_variables": [], "inputs": {}, "needs": [], "stateful": False}
    services.runlog.keep_release("r", content, "run-1")
    services.runlog.keep_component(
        ComponentRecord("staging", "old", "r", "", "", 0, "run-1", "run-1", "now", "embedded")
    )
    services.pillar["infrastructure"]["environments"] = {"staging": {}}
    assert world.call("status", "staging", services=services)["summary"] == "staging: 1 orphan"
    checked = world.call("drift", "staging", {}, services=services)
    assert (checked["retcode"], checked["summary"]) == (0, "drift staging: no component is in pillar")
    assert "no longer in pillar but still there: old" in checked["notes"][0]


def test_where_there_is_no_environment_yet_that_is_said(world):
    services = world.services()
    services.pillar["infrastructure"]["environments"] = {}
    assert world.call("validate", None, services=services)["summary"] == "valid: no environment yet"
    assert world.call("sync_states", None, services=services)["summary"] == "sync_states: nothing to copy"


@pytest.mark.parametrize("tree", [[], {"environments": ["staging"]}])
def test_validate_of_a_pillar_that_is_no_pillar(world, tree):
    services = world.services()
    services.pillar["infrastructure"] = tree
    assert "infrastructure" in world.call("validate", None, services=services)["error"]["detail"]
