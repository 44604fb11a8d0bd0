"""Promotion: production gets exactly what staging proved, whatever the files say by then."""

from __future__ import annotations

import pytest

from tests.support.minions import MemoryMinions
from tests.support.world import BASE, statuses


def promote(world, **options):
    return world.call("promote", "staging", "production", options)


def deploy(world, **options):
    return world.call("deploy", "production", options)


def outputs(world, environment="production"):
    return world.call("outputs", environment, None)["outputs"]


def changed(text):
    return BASE.replace("input            = var.name", f'input            = "{text} ${{var.name}}"')


@pytest.fixture
def two(staging):
    """Staging is deployed; production is promoted from it, with a name of its own."""
    production = {"promoted_from": "staging", "components": {"networking": {"variables": {"name": "production-net"}}}}
    staging.infrastructure["environments"] = {"production": production}
    return staging


def test_production_has_what_staging_proved_after_the_files_have_changed(two):
    proved = {name: item["release"] for name, item in two.call("releases", "staging")["components"].items()}
    two.module("base", changed("changed"))
    returned = promote(two)
    assert (returned["retcode"], statuses(returned)) == (0, {"networking": "applied", "consul": "applied"}), returned
    assert outputs(two)["networking"]["name"] == "production-net"  # and not "changed production-net"
    told = two.call("releases", "production")
    assert told["pillar"] == {"infrastructure": {"releases": {"production": proved}}}
    assert all(item["deployed"] for item in told["components"].values())
    # What the files say today is none of production's business.
    two.processes.started.clear()
    assert set(statuses(deploy(two)).values()) == {"unchanged"}
    assert not two.processes.started
    assert two.call("diff", "staging", "production")["retcode"] == 0
    # Until staging has proved it.
    assert two.deploy()["retcode"] == 0
    assert two.call("diff", "staging", "production")["components"]["networking"]["status"] == "differs"
    assert set(statuses(deploy(two)).values()) == {"unchanged"}
    assert promote(two)["retcode"] == 0
    assert outputs(two)["networking"]["name"] == "changed production-net"


def test_a_dry_run_shows_what_differs_and_changes_nothing(two):
    promote(two)
    two.module("base", changed("new"))
    two.components["networking"]["variables"]["name"] = "net2"
    two.deploy()
    before = two.call("releases", "production")
    returned = promote(two, dry_run=True)
    assert returned["retcode"] == 2
    assert statuses(returned)["networking"] == "planned"
    found = {item["what"]: item for item in returned["promotion"]["components"]["networking"]["differences"]}
    assert found["module"]["files"] == ["~ main.tf"]
    assert (found["variable name"]["rule"], found["variable name"]["values"]) == ("own", ["net2", "production-net"])
    assert two.call("releases", "production") == before


def test_with_nothing_promoted_the_command_is_named(two):
    for verb, arguments in (("deploy", ({},)), ("status", ()), ("plan", ({},))):
        error = two.call(verb, "production", *arguments)["error"]
        assert (error["type"], error["fix"]) == ("NotPromoted", "salt-run infrastructure.promote staging production")
    assert any("promote staging production" in note for note in two.call("validate", None)["notes"])


def test_components_come_with_what_they_need(two):
    returned = promote(two, components="consul")
    assert list(statuses(returned)) == ["networking", "consul"]
    assert any("also promoting what that needs: networking" in note for note in returned["notes"])


def test_an_excluded_variable_never_comes_from_staging(two):
    two.components["consul"]["variables"] = {"extra": "of staging"}
    two.deploy()
    production = two.infrastructure["environments"]["production"]
    production["promote"] = {"exclude": ["extra"]}
    returned = promote(two)
    assert returned["retcode"] == 0, returned
    assert outputs(two)["consul"]["got"]["extra"] is None
    production["promote"] = {"exclude": ["extar"]}
    (problem,) = promote(two)["error"]["problems"]
    assert (problem["path"], problem["nearest"]) == (
        "infrastructure:environments:production:promote:exclude",
        "extra",
    )


def test_gates_that_do_not_hold_are_all_said_and_nothing_is_promoted(two):
    two.infrastructure["environments"]["production"]["promote"] = {"soak": "1h"}
    two.components["networking"]["variables"]["secret"] = {"not": "a string"}
    assert two.deploy()["retcode"] == 1
    returned = promote(two)
    assert (returned["retcode"], returned["error"]["type"]) == (1, "NotReady")
    failing = {gate["gate"] for gate in returned["promotion"]["gates"] if not gate["ok"]}
    assert failing == {"last run", "soak"}
    assert not two.call("releases", "production")["components"]


def test_drift_in_staging_is_a_gate(two):
    from saltform.runlog import now
    from saltform.runlog.drift import Check

    services = two.services()
    services.runlog.drift.keep_check(Check("staging", "consul", "drifted", now(), now(), "1"))
    services.close()
    error = promote(two)["error"]
    assert "drift: consul is drifted" in error["detail"]
    assert error["fix"] == "salt-run infrastructure.drift staging"


def test_health_is_asked_of_stagings_minions(two):
    two.infrastructure["environments"]["staging"] = {
        "components": two.components,
        "health": {"function": "test.ping", "targets": "web*"},
    }
    minions = MemoryMinions()

    def promoted():
        services = two.services(minions=minions)
        return two.call("promote", "staging", "production", {"dry_run": True}, services=services)

    assert "no minion matches 'web*'" in promoted()["error"]["detail"]
    minions.comes("web1", "web2", "db1")
    minions.here.remove("web2")
    assert "web2 did not answer test.ping within 60 s" in promoted()["error"]["detail"]
    minions.comes("web2")
    assert promoted()["retcode"] == 2
    both = ("test.ping", ("web1", "web2"))
    assert minions.asked[1:] == [both, ("test.ping", ("web2",)), both]  # who was silent is asked whether it is there


def test_a_pin_in_pillar_wins_and_is_said(two):
    promote(two)
    first = two.call("releases", "production")["components"]["networking"]["promoted"]
    two.module("base", changed("new"))
    two.deploy()
    two.infrastructure["releases"] = {"production": {"networking": first[:12]}}
    returned = promote(two)
    assert statuses(returned)["networking"] == "unchanged"
    assert any("networking stays at release" in note for note in returned["notes"])
    del two.infrastructure["releases"]
    assert statuses(promote(two))["networking"] == "applied"
    two.infrastructure["releases"] = {"production": {"networking": first}}
    returned = deploy(two)
    assert statuses(returned)["networking"] == "applied"
    assert any("infrastructure:releases:production:networking pins it" in note for note in returned["notes"])
    assert outputs(two)["networking"]["name"] == "production-net"
    two.infrastructure["releases"] = {"production": {"networking": "0123456789ab"}}
    (problem,) = deploy(two)["error"]["problems"]
    assert problem["path"] == "infrastructure:releases:production:networking"


def test_what_left_staging_is_an_orphan_in_production(two):
    promote(two)
    del two.components["consul"]
    assert two.destroy(components="consul", only=True)["retcode"] == 0
    assert two.deploy()["retcode"] == 0
    returned = promote(two)
    assert returned["retcode"] == 0, returned
    assert "no longer in staging, so no longer promoted: consul" in returned["notes"]
    assert returned["orphans"] == ["consul"]
    assert two.call("status", "production")["components"]["consul"]["status"] == "orphan"
    assert two.call("destroy", "production", {"components": "consul", "yes": True})["retcode"] == 0


def test_a_promotion_that_fails_is_resumed_with_the_same_releases(two):
    two.module(
        "shell",
        'variable "command" {}\nresource "terraform_data" "this" {\n  input = var.command\n'
        '  provisioner "local-exec" { command = "test ! -e ${var.command}" }\n}\n',
    )
    flag = two.home / "in-the-way"
    two.components["late"] = {"module": "shell", "variables": {"command": str(flag)}, "needs": ["consul"]}
    two.deploy()
    flag.write_text("")
    returned = promote(two)
    assert (returned["retcode"], statuses(returned)["late"]) == (1, "failed")
    two.module("base", changed("later"))
    flag.unlink()
    resumed = two.call("resume", returned["run"])
    assert resumed["retcode"] == 0, resumed
    assert (resumed["verb"], statuses(resumed)["late"]) == ("promote", "applied")
    assert set(statuses(deploy(two)).values()) == {"unchanged"}


def test_a_promotion_that_is_rolled_back_leaves_what_was_promoted_before(two):
    promote(two)
    before = two.call("releases", "production")["pillar"]
    two.module("base", changed("new"))
    two.components["bad"] = {"module": "shell", "variables": {"command": "true"}, "needs": ["consul"]}
    two.deploy()
    two.infrastructure["environments"]["production"]["components"]["bad"] = {"variables": {"command": "exit 3"}}
    returned = promote(two, on_error="rollback")
    assert returned["rollback"]["retcode"] == 0, returned
    assert two.call("releases", "production")["pillar"] == before
    assert outputs(two)["networking"]["name"] == "production-net"
    assert set(statuses(deploy(two)).values()) == {"unchanged"}


def test_nothing_is_promoted_before_a_person_has_agreed(two):
    two.infrastructure["environments"]["production"]["approval"] = {
        "when": "always",
        "by": ["eve"],
        "not_author": True,
    }
    returned = promote(two)
    assert (returned["retcode"], statuses(returned)["networking"]) == (3, "awaiting approval"), returned
    assert two.call("releases", "production")["pillar"]["infrastructure"]["releases"] == {"production": {}}
    two.module("base", changed("meanwhile"))
    two.author = "eve"
    assert two.call("approve", returned["run"], None, "fine")["retcode"] == 0
    resumed = two.call("resume", returned["run"])
    assert (resumed["retcode"], resumed["verb"]) == (0, "promote"), resumed
    assert outputs(two)["networking"]["name"] == "production-net"


def test_staging_must_be_where_production_is_promoted_from(two):
    error = two.call("promote", "production", "staging", {})["error"]
    assert "staging is not promoted from production" in error["summary"]


def test_destroyed_production_is_brought_back_as_it_was_promoted(two):
    promote(two)
    assert two.call("destroy", "production", {"yes": True})["retcode"] == 0
    two.module("base", changed("new"))
    assert deploy(two)["retcode"] == 0
    assert outputs(two)["networking"]["name"] == "production-net"


def test_provider_locks_of_promoted_components_are_not_upgraded(two):
    promote(two)
    assert "come with its releases" in two.call("upgrade", "production", None, None)["error"]["summary"]
