"""What happens to components over time: orphans, renames, adoption, destroy, upgrades."""

from __future__ import annotations

import dataclasses
import time
from concurrent.futures import ThreadPoolExecutor

from saltform.layout import Layout
from saltform.runlog import RunLog, flock
from tests.support.world import statuses

PASSWORD = {"environment": {"path": "SALTFORM_TEST_PASSWORD"}}
NEEDS_SECRET = """
variable "password" {
  type      = string
  sensitive = true
}
resource "terraform_data" "this" { input = sha256(var.password) }
"""
STRICT = """
variable "names" {
  type = list(string)
  validation {
    condition     = length(var.names) > 0
    error_message = "At least one name."
  }
}
resource "terraform_data" "each" { count = length(var.names) }
"""


def test_a_component_that_left_the_pillar_is_an_orphan_until_it_is_destroyed(staging):
    orphaned = staging.components.pop("consul")
    status = staging.call("status", "staging")
    assert status["orphans"] == ["consul"]
    assert status["components"]["consul"]["status"] == "orphan"
    planned = staging.plan()
    assert planned["orphans"] == ["consul"]
    assert any("consul" in note for note in planned["notes"])
    # Its files are gone too: the last release is enough.
    staging.module("app", "# nothing here any more\n")
    returned = staging.destroy(components="consul")
    assert statuses(returned) == {"consul": "destroyed"}
    assert staging.call("status", "staging")["orphans"] == []
    assert orphaned


def test_a_rename_moves_the_state_and_builds_nothing_twice(staging):
    before = staging.call("outputs", "staging", None)["outputs"]["networking"]["id"]
    staging.components["network"] = {**staging.components.pop("networking"), "renamed_from": "networking"}
    staging.components["consul"]["inputs"] = {"base": "@network.id"}
    planned = staging.plan()
    assert planned["steps"]["network"]["add"] == 0
    assert any("networking would become network" in note for note in planned["notes"])
    returned = staging.deploy()
    assert returned["retcode"] == 0
    assert returned["steps"]["network"]["add"] == 0
    assert returned["outputs"]["network"]["id"] == before
    assert returned["orphans"] == []
    assert not Layout(staging.state_dir).states("staging", "networking").exists()
    renamed = [entry for entry in staging.call("audit", "staging")["entries"] if entry["action"] == "rename"]
    assert [(entry["run"], entry["content"]) for entry in renamed] == [
        (returned["run"], {"component": "network", "renamed_from": "networking"})
    ]
    assert set(statuses(staging.deploy()).values()) == {"unchanged"}


def renamed(world):
    """As pillar has it now; no run has followed yet."""
    world.components["network"] = {**world.components.pop("networking"), "renamed_from": "networking"}
    world.components["consul"]["inputs"] = {"base": "@network.id"}
    return world


def test_a_rename_is_a_part_of_its_run_and_waits_like_any_other_step(staging):
    path = Layout(staging.state_dir).component_lock("staging", "networking")
    with ThreadPoolExecutor(1) as pool:
        with flock.hold(path, {"run": "42"}, "staging/networking"):
            refused = renamed(staging).deploy()
            assert (refused["retcode"], statuses(refused)) == (75, {"network": "failed", "consul": "skipped"})
            assert staging.call("show", refused["run"])["steps"]["network"]["status"] == "failed"
            waiting = pool.submit(staging.deploy, wait="5m")
            deadline = time.monotonic() + 120
            while not staging.call("locks", "staging")["locks"]["networking"]["waiting"]:
                assert time.monotonic() < deadline and not waiting.done(), waiting
                time.sleep(0.05)
        returned = waiting.result()
    assert (returned["retcode"], returned["steps"]["network"]["status"]) == (0, "unchanged"), returned


def test_what_was_renamed_and_not_yet_moved_is_shown_and_destroyed(staging):
    status = renamed(staging).call("status", "staging")["components"]["network"]
    assert (status["status"], status["resources"]) == ("pending change", 1)
    assert staging.destroy(yes=False)["steps"]["network"]["destroy"] == 1
    assert statuses(staging.destroy()) == {"network": "destroyed", "consul": "destroyed"}
    assert staging.call("status", "staging")["summary"] == "staging: 2 never applied"


def test_existing_resources_are_adopted_instead_of_created(world):
    world.module("plain", 'resource "terraform_data" "this" {}\noutput "id" { value = terraform_data.this.id }\n')
    world.components = {"a": {"module": "plain", "adopt": {"terraform_data.this": "the-id"}}}
    returned = world.deploy()
    assert returned["retcode"] == 0, returned
    assert returned["steps"]["a"]["add"] == 0
    assert returned["outputs"]["a"]["id"] == "the-id"
    assert set(statuses(world.deploy()).values()) == {"unchanged"}


def test_destroy_without_yes_only_shows_what_it_would_destroy(staging):
    shown = staging.destroy(yes=False)
    assert shown["retcode"] == 2
    assert list(shown["steps"]) == ["consul", "networking"]
    assert shown["steps"]["networking"]["changes"] == [{"address": "terraform_data.this", "action": "delete"}]
    assert staging.processes.started == []
    assert staging.call("status", "staging")["summary"] == "staging: 2 applied"


def test_destroying_one_takes_what_needs_it_along_and_says_so(staging):
    returned = staging.destroy(components="networking")
    assert list(returned["steps"]) == ["consul", "networking"]
    assert "consul" in returned["notes"][0]


def test_stateful_components_are_kept_with_all_they_need(staging):
    staging.components["vault"] = {
        "module": "app",
        "inputs": {"base": "@networking.id"},
        "stateful": True,
    }
    staging.deploy()
    returned = staging.destroy()
    assert statuses(returned) == {"consul": "destroyed"}
    notes = " ".join(returned["notes"])
    assert "vault: kept with its data" in notes
    assert "networking: kept as it is, because vault needs it" in notes
    staging.components["vault"]["stateful"] = False  # and no deploy since: what is there was made to last
    assert list(staging.destroy()["steps"]) == ["consul"]
    assert set(statuses(staging.destroy(preserve_data=False)).values()) == {"destroyed", "unchanged"}
    assert staging.call("status", "staging")["summary"] == "staging: 3 never applied"


def test_a_destroy_can_be_run_again_after_a_partial_one(staging):
    staging.destroy(components="consul")
    returned = staging.destroy()
    assert statuses(returned) == {"consul": "unchanged", "networking": "destroyed"}


def test_a_deferred_plan_with_a_count_on_the_unknown_has_no_preview(world):
    world.components = {
        "names": {"module": "counted", "variables": {"names": ["a", "b"]}},
        "each": {"module": "counted", "inputs": {"names": "@names.names"}},
    }
    planned = world.plan()
    assert planned["retcode"] == 2
    assert planned["steps"]["each"]["status"] == "deferred"
    assert planned["steps"]["each"]["changes"] == []
    assert world.deploy()["outputs"]["each"]["names"] == ["a", "b"]


def test_an_output_that_the_plan_keeps_is_used_in_the_plans_above(staging):
    staging.components["networking"]["variables"]["name"] = "renamed"
    planned = staging.plan()
    # `id` stays as it is, so consul isn't deferred.
    assert statuses(planned) == {"networking": "planned", "consul": "unchanged"}


def test_a_plan_leaves_nothing_behind_and_changes_nothing(staging):
    staging.components["networking"]["variables"]["name"] = "renamed"
    before = {path for path in staging.state_dir.rglob("*") if "runs" not in path.parts}
    staging.plan()
    after = {path for path in staging.state_dir.rglob("*") if "runs" not in path.parts}
    assert {path.name for path in after - before} <= {"runs.sqlite-wal", "runs.sqlite-shm", "init"} | {
        path.name for path in after if "init" in path.parts
    }
    assert staging.call("outputs", "staging", None)["outputs"]["networking"]["name"] == "net"


def test_a_dry_run_of_a_deploy_is_its_plan(staging):
    staging.components["networking"]["variables"]["name"] = "renamed"
    returned = staging.deploy(dry_run=True)
    assert (returned["verb"], returned["retcode"]) == ("deploy", 2)
    assert staging.call("outputs", "staging", None)["outputs"]["networking"]["name"] == "net"


def test_an_upgrade_without_newer_providers_changes_nothing(staging):
    returned = staging.call("upgrade", "staging", None, None)
    assert set(statuses(returned).values()) == {"unchanged"}
    assert set(statuses(staging.deploy()).values()) == {"unchanged"}


def test_a_destroy_leaves_a_first_apply_that_is_under_way_alone(staging):
    layout = Layout(staging.state_dir)
    (layout.states("staging", "consul") / "terraform.tfstate").unlink()  # as before terraform stored it
    log = RunLog(layout.runlog)
    log.keep_component(dataclasses.replace(log.components("staging")["consul"], fingerprint="", serial=0))
    log.close()
    with flock.hold(layout.component_lock("staging", "consul"), {"run": "42"}, "staging/consul"):
        returned = staging.destroy(components="consul")
    assert returned["retcode"] == 75
    assert layout.workspace("staging", "consul").is_dir()
    assert statuses(staging.destroy(components="consul")) == {"consul": "unchanged"}
    assert not layout.workspace("staging", "consul").exists()


def test_an_orphan_with_secret_variables_is_destroyed_although_their_source_has_left_the_pillar(world, monkeypatch):
    monkeypatch.setenv("SALTFORM_TEST_PASSWORD", "correct horse battery")
    world.components = {
        "base": {"module": "base", "variables": {"name": "x"}},
        "safe": {"module": "app", "inputs": {"base": "@base.id"}, "secret_variables": {"password": PASSWORD}},
        "must": {"module": "needs_secret", "secret_variables": {"password": PASSWORD}},
    }
    world.module("needs_secret", NEEDS_SECRET)
    assert world.deploy()["retcode"] == 0
    del world.components["safe"], world.components["must"]
    returned = world.destroy(components="safe,must")
    assert statuses(returned) == {"safe": "destroyed", "must": "destroyed"}


def test_the_last_component_that_left_the_pillar_can_still_be_destroyed(staging):
    staging.components.clear()
    assert staging.plan()["orphans"] == ["consul", "networking"]
    assert set(staging.call("status", "staging")["components"]) == {"consul", "networking"}
    assert statuses(staging.destroy()) == {"consul": "destroyed", "networking": "destroyed"}
    assert "at least one component" in staging.deploy()["error"]["detail"]


def test_a_component_is_destroyed_although_what_it_needed_is_gone(world):
    world.module("strict", STRICT)
    world.components = {
        "list": {"module": "counted", "variables": {"names": ["a", "b"]}},
        "user": {"module": "strict", "inputs": {"names": "@list.names"}},
    }
    assert world.deploy()["retcode"] == 0
    assert statuses(world.destroy(components="list", only=True)) == {"list": "destroyed"}
    assert statuses(world.destroy(components="user")) == {"user": "destroyed"}
