"""Policies between plan and apply, on real Terraform."""

from __future__ import annotations

import pytest

from saltform.report import markdown, text
from tests.support.world import statuses

DENY_NAME = """
package names

deny contains {"address": change.address, "why": "is called bad"} if {
  some change in input.changes
  change.after.input == "bad"
}
"""
NEEDS_PERSON = "def approve(plan): return [{'address': c['address'], 'why': 'changes'} for c in plan['changes']]"
WARNS = "def warn(plan): return [{'address': c['address'], 'why': 'was ' + c['action']} for c in plan['changes']]"


class Policed:
    """A world with a folder of policies on its file server."""

    def __init__(self, world, folder):
        self.world = world
        self.folder = folder
        folder.mkdir()

    def call(self, verb, **options):
        services = self.world.services(fetch_salt=lambda _: self.folder)
        return self.world.call(verb, "staging", options, services=services)

    def rule(self, name, source):
        (self.folder / name).write_text(source)


@pytest.fixture
def policed(world, tmp_path):
    world.components = {
        "networking": {"module": "base", "variables": {"name": "net"}},
        "consul": {"module": "app", "inputs": {"base": "@networking.id"}},
    }
    world.infrastructure = {"policies": ["salt://policies"]}
    return Policed(world, tmp_path / "policies")


def test_a_plan_that_no_rule_minds_is_applied_and_read_once(policed):
    policed.rule("names.rego", DENY_NAME)
    deployed = policed.call("deploy")
    assert statuses(deployed) == {"networking": "applied", "consul": "applied"}
    commands = policed.world.processes.commands()
    assert commands.count("show") == commands.count("plan") == commands.count("apply") == 2


def test_deny_applies_nothing_and_names_rule_resource_and_why(policed):
    policed.rule("names.rego", DENY_NAME)
    policed.world.components["networking"]["variables"]["name"] = "bad"
    deployed = policed.call("deploy")
    assert deployed["retcode"] == 1
    assert statuses(deployed) == {"networking": "failed", "consul": "skipped"}
    assert "apply" not in policed.world.processes.commands()
    error = deployed["steps"]["networking"]["error"]
    assert error["type"] == "PolicyDenied"
    assert error["detail"] == "terraform_data.this is called bad (rule names.rego)"
    assert not list(policed.world.state_dir.rglob(".plan"))
    assert "is called bad (rule names.rego)" in text.render(deployed)


def test_a_plan_shows_the_verdicts(policed):
    policed.rule("names.rego", DENY_NAME)
    policed.world.components["networking"]["variables"]["name"] = "bad"
    planned = policed.call("plan")
    assert planned["retcode"] == 2
    assert planned["steps"]["networking"]["verdicts"] == [
        {"rule": "names.rego", "level": "deny", "address": "terraform_data.this", "why": "is called bad"}
    ]
    assert "! terraform_data.this is called bad  (deny: names.rego)" in text.render(planned)


def test_a_rule_that_wants_a_person_denies_where_nobody_is_ever_asked(policed):
    policed.rule("person.py", NEEDS_PERSON)
    policed.world.infrastructure["environments"] = {
        "staging": {"components": policed.world.components, "approval": {"when": "never"}}
    }
    deployed = policed.call("deploy")
    assert deployed["retcode"] == 1
    assert "apply" not in policed.world.processes.commands()
    assert "approval: {when: policy}" in deployed["steps"]["networking"]["error"]["fix"]
    assert "needs a person" in deployed["steps"]["networking"]["error"]["detail"]


@pytest.mark.parametrize("render", [text.render, markdown.render])
def test_a_warning_is_noted_and_stops_nothing(policed, render):
    policed.rule("warns.py", WARNS)
    deployed = policed.call("deploy")
    assert deployed["retcode"] == 0
    assert deployed["steps"]["consul"]["verdicts"][0]["why"] == "was create"
    assert "! terraform_data.this was create  (warns.py)" in render(deployed)


def test_a_rule_that_crashes_denies(policed):
    policed.rule("broken.py", "def warn(plan): return plan['nothing']")
    deployed = policed.call("deploy")
    assert deployed["retcode"] == 1
    assert "the policy crashed: KeyError" in deployed["steps"]["networking"]["error"]["detail"]
    assert "apply" not in policed.world.processes.commands()


def test_policies_that_are_missing_deny(policed):
    policed.folder.rmdir()
    deployed = policed.call("deploy")
    assert deployed["retcode"] == 1
    assert "apply" not in policed.world.processes.commands()


def test_deny_stops_a_destroy_too(policed):
    policed.rule(
        "kept.py", "def deny(plan): return [c['address'] for c in plan['changes'] if c['action'] == 'delete']"
    )
    assert policed.call("deploy")["retcode"] == 0
    destroyed = policed.call("destroy", yes=True)
    assert destroyed["retcode"] == 1
    assert "apply" not in policed.world.processes.commands()


def test_a_secret_is_not_in_what_a_rule_sees(policed):
    policed.rule("nosy.py", "def deny(plan): return str(plan) if 'hush' in str(plan) else None")
    assert policed.call("deploy")["retcode"] == 0


def test_without_policies_nothing_more_is_started(world):
    world.components = {"networking": {"module": "base", "variables": {"name": "net"}}}
    assert world.deploy()["retcode"] == 0
    assert "show" not in world.processes.commands()


def test_undoing_a_run_needs_no_approval(policed):
    """What a failed run has created is destroyed again, although destroying it would need a person otherwise."""
    rule = "def approve(plan): return [{'address': c['address'], 'why': 'goes'} for c in plan['changes'] if DELETED]"
    policed.rule("goes.py", rule.replace("DELETED", "c['action'] == 'delete'"))
    policed.world.components = {
        "made": {"module": "base", "variables": {"name": "made"}},
        "bad": {"module": "shell", "variables": {"command": "exit 3"}, "needs": ["made"]},
    }
    returned = policed.call("deploy", on_error="rollback")
    assert returned["retcode"] == 1
    assert statuses(returned["rollback"])["made"] == "destroyed"
    policed.world.components.pop("bad")
    policed.call("deploy")
    waiting = policed.call("destroy", yes=True)
    assert (waiting["retcode"], statuses(waiting)) == (3, {"made": "awaiting approval"})


def test_what_changes_though_nobody_touched_it_is_named(staging):
    """Whoever changes networking is told that consul changes, too, and why; not when they change consul itself."""
    staging.components["networking"]["variables"]["name"] = "replace-me"
    planned = staging.plan()
    assert "not-touched" not in [each["rule"] for each in planned["steps"]["networking"].get("verdicts", [])]
    (told,) = planned["steps"]["consul"]["verdicts"]
    assert told["rule"] == "not-touched"
    assert told["why"].endswith("what it gets from networking is not")
    assert f"! {told['why']}  (not-touched)" in text.render(planned)
    staging.components["networking"]["variables"]["name"] = "net"
    staging.components["consul"]["variables"] = {"extra": "mine"}
    assert "verdicts" not in staging.plan()["steps"]["consul"]
    assert "verdicts" not in staging.deploy()["steps"]["consul"]
    assert "verdicts" not in staging.destroy()["steps"]["consul"]
