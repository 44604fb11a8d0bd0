"""deploy with real Terraform: order, values, unchanged, errors."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.support.world import World, statuses


@pytest.mark.parametrize("binary", ["embedded", *filter(shutil.which, ("terraform", "tofu"))])
def test_an_environment_goes_up_and_down_with_every_binary(tmp_path, binary):
    world = World(tmp_path, binary)
    world.components = {
        "networking": {"module": "base", "variables": {"name": "net"}},
        "consul": {"module": "app", "inputs": {"base": "@networking.id", "password": "@networking.password"}},
        "backups": {"module": "counted", "variables": {"names": ["a", "b"]}, "needs": ["*"]},
    }
    planned = world.plan()
    assert statuses(planned) == {"networking": "planned", "consul": "deferred", "backups": "planned"}
    assert planned["retcode"] == 2
    assert planned["steps"]["consul"]["waits_for"] == ["networking"]
    deployed = world.deploy()
    assert deployed["retcode"] == 0, deployed
    assert list(deployed["steps"]) == ["networking", "consul", "backups"]
    assert deployed["steps"]["backups"]["add"] == 2
    assert deployed["outputs"]["networking"]["password"] == "(sensitive)"
    assert deployed["outputs"]["consul"]["address"] == f"app of {deployed['outputs']['networking']['id']}"
    folders = [*world.state_dir.glob("workspaces/staging/*"), *world.state_dir.glob("modules/*")]
    assert {(folder.stat().st_mode & 0o777) for folder in folders} == {0o700}
    destroyed = world.destroy()
    assert list(destroyed["steps"]) == ["backups", "consul", "networking"]
    assert set(statuses(destroyed).values()) == {"destroyed"}
    assert world.call("status", "staging")["summary"] == "staging: 3 never applied"


def test_yaml_types_reach_terraform_and_come_back(world):
    value = {
        "n": 1,
        "f": 1.5,
        "b": False,
        "none": None,
        "text": '${not_interpolated} %{ if } $${x} ünïcode "quoted" \\ \n\ttab',
        "${key}": {"deep": [1, "1", True, [], {}]},
        "big": 123456789012,
    }
    world.components = {
        "a": {"module": "base", "variables": {"name": "x"}},
        "b": {"module": "app", "inputs": {"base": "@a.id"}, "variables": {"extra": value}},
        "c": {"module": "app", "inputs": {"base": "@a.id", "extra": "@b.got"}},
    }
    outputs = world.deploy()["outputs"]
    assert outputs["b"]["got"]["extra"] == value
    # The same value once more, now as an input from a state instead of a variable from pillar.
    assert outputs["c"]["got"]["extra"]["extra"] == value


def test_unchanged_starts_no_process_at_all(staging):
    again = staging.deploy()
    assert set(statuses(again).values()) == {"unchanged"}
    assert staging.processes.started == []
    (fired,) = staging.events.fired
    assert fired[0] == f"saltform/run/{again['run']}/unchanged"
    assert fired[1]["count"] == 2


def test_unchanged_ones_are_on_record_too(staging):
    again = staging.deploy()
    shown = staging.call("show", again["run"])
    assert [step["status"] for step in shown["steps"].values()] == ["unchanged", "unchanged"]


def test_a_first_deploy_starts_one_init_for_a_kind_and_nothing_that_a_file_can_tell(world):
    world.components = {f"c{n}": {"module": "base", "variables": {"name": str(n)}} for n in range(5)}
    world.infrastructure["defaults"] = {"parallelism": 4}
    assert world.deploy()["retcode"] == 0
    commands = world.processes.commands()
    assert commands.count("init") == 1
    assert commands.count("plan") == commands.count("apply") == 5
    assert set(commands) <= {"version", "init", "plan", "apply"}


def test_only_what_changed_and_what_takes_its_values_is_planned(staging):
    staging.components["other"] = {"module": "base", "variables": {"name": "other"}}
    staging.deploy()
    staging.components["networking"]["variables"]["name"] = "renamed"
    again = staging.deploy()
    # The id that consul takes is the same as before, so consul has nothing to do.
    assert statuses(again) == {"networking": "applied", "consul": "unchanged", "other": "unchanged"}
    assert staging.processes.commands() == ["plan", "apply"]


def test_a_change_of_the_modules_files_is_a_change(staging):
    text = (staging.home / "modules" / "app" / "main.tf").read_text()
    staging.module("app", text + 'output "new" { value = 1 }\n')
    assert statuses(staging.deploy()) == {"networking": "unchanged", "consul": "applied"}
    assert staging.call("outputs", "staging", "consul")["outputs"]["consul"]["new"] == 1


def test_refresh_plans_what_is_unchanged_too(staging):
    again = staging.deploy(refresh=True)
    assert set(statuses(again).values()) == {"unchanged"}
    assert staging.processes.commands() == ["plan", "plan"]


def test_a_state_changed_outside_is_planned_again(staging):
    path = staging.state_dir / "states" / "staging" / "networking" / "terraform.tfstate"
    state = json.loads(path.read_text())
    state["serial"] += 1
    path.write_text(json.dumps(state, indent=2) + "\n")
    assert staging.call("status", "staging")["components"]["networking"]["status"] == "changed outside"
    staging.deploy()
    assert "plan" in staging.processes.commands()


def test_one_component_brings_what_it_needs_and_says_so(world):
    world.components = {
        "networking": {"module": "base", "variables": {"name": "net"}},
        "consul": {"module": "app", "inputs": {"base": "@networking.id"}},
        "other": {"module": "base", "variables": {"name": "o"}},
    }
    returned = world.deploy(components="consul")
    assert statuses(returned) == {"networking": "applied", "consul": "applied"}
    assert "networking" in returned["notes"][0]


def test_only_leaves_out_what_it_needs_and_fails_clearly_when_that_is_missing(world):
    world.components = {
        "networking": {"module": "base", "variables": {"name": "net"}},
        "consul": {"module": "app", "inputs": {"base": "@networking.id"}},
    }
    returned = world.deploy(components="consul", only=True)
    assert returned["retcode"] == 1
    error = returned["steps"]["consul"]["error"]
    assert "networking" in error["detail"]
    assert "components=networking" in error["fix"]


def failing(world, on_error):
    world.components = {
        "a": {"module": "base", "variables": {"name": "a"}},
        "bad": {"module": "shell", "variables": {"command": "echo no good >&2; exit 3"}, "needs": ["a"]},
        "above": {"module": "base", "variables": {"name": "x"}, "needs": ["bad"]},
        "aside": {"module": "base", "variables": {"name": "y"}, "needs": ["a"]},
        "later": {"module": "base", "variables": {"name": "z"}, "needs": ["aside"]},
    }
    return world.deploy(on_error=on_error, parallelism=1)


def test_stop_starts_nothing_new(world):
    returned = failing(world, "stop")
    assert returned["retcode"] == 1
    got = statuses(returned)
    assert (got["a"], got["bad"], got["above"]) == ("applied", "failed", "skipped")
    assert "needs bad, which failed" in returned["steps"]["above"]["reason"]
    assert "no good" in returned["steps"]["bad"]["error"]["detail"]


def test_continue_skips_only_what_needs_the_failed_one(world):
    got = statuses(failing(world, "continue"))
    assert got == {"a": "applied", "bad": "failed", "above": "skipped", "aside": "applied", "later": "applied"}


def test_a_deploy_after_a_failure_goes_on_where_it_stopped(world):
    failing(world, "stop")
    status = world.call("status", "staging")
    assert status["components"]["bad"]["status"] == "half done"
    assert any("failed, with bad half done: resume or abandon" in note for note in status["notes"])
    world.components["bad"]["variables"]["command"] = "true"
    returned = world.deploy()
    assert returned["retcode"] == 0
    assert statuses(returned)["a"] == "unchanged"
    assert statuses(returned)["bad"] == "applied"


def test_a_locked_component_is_exit_code_75_and_names_the_holder(staging):
    from saltform.layout import Layout
    from saltform.runlog import flock

    staging.components["networking"]["variables"]["name"] = "changed"
    path = Layout(staging.state_dir).component_lock("staging", "networking")
    with flock.hold(path, {"run": "4711", "author": "bob"}, "staging/networking"):
        returned = staging.deploy()
    assert returned["retcode"] == 75
    assert "4711" in returned["steps"]["networking"]["error"]["detail"]
    assert "bob" in returned["steps"]["networking"]["error"]["detail"]


def test_a_replacement_on_request(staging):
    before = staging.call("outputs", "staging", None)["outputs"]["networking"]["id"]
    returned = staging.deploy(components="networking", replace="terraform_data.this", only=True)
    assert returned["steps"]["networking"]["changes"][0]["action"] == "replace"
    assert returned["outputs"]["networking"]["id"] != before
    assert staging.deploy(replace="terraform_data.this")["error"]["summary"] == "bad argument 'replace'"


def test_a_stateful_component_is_never_replaced_without_being_asked(world):
    world.components = {"vault": {"module": "base", "variables": {"name": "v"}, "stateful": True}}
    world.deploy()
    world.components["vault"]["variables"]["name"] = "replace-me"
    returned = world.deploy()
    assert returned["retcode"] == 1
    assert "replace terraform_data.this" in returned["steps"]["vault"]["error"]["detail"]
    assert "preserve_data=False" in returned["steps"]["vault"]["error"]["fix"]
    assert statuses(world.deploy(preserve_data=False)) == {"vault": "applied"}


def test_every_step_is_on_record_with_author_counts_and_log(staging):
    shown = staging.call("show", "last")
    assert shown["run"]["author"] == "ada"
    assert shown["run"]["exit_code"] == 0
    step = shown["steps"]["networking"]
    assert (step["status"], step["add"], step["exit_code"]) == ("applied", 1, 0)
    assert step["fingerprint"]
    assert step["started"] <= step["ended"]
    assert "terraform_data.this" in Path(step["log"]).read_text()
    assert [run["verb"] for run in staging.call("history", "staging", 5)["runs"]] == ["deploy"]


def test_events_tell_of_each_step(staging):
    tags = [tag for tag, _ in staging.events.fired if tag.startswith("saltform/run/")]
    run = staging.call("show", "last")["run"]["id"]
    assert tags == [
        f"saltform/run/{run}/{name}/{status}"
        for name in ("networking", "consul")
        for status in ("running", "applied")
    ]


@pytest.mark.parametrize("form", ["json", "markdown", "html"])
def test_a_report_is_a_file_that_names_every_component(staging, form):
    returned = staging.call("report", "last", form)
    text = Path(returned["path"]).read_text()
    assert "networking" in text
    assert "consul" in text


def test_a_sensitive_input_is_in_no_log_and_no_error_however_deep_it_is(world):
    world.module("giver", 'output "deep" {\n  value     = { k = ["hunter2-in-depth"] }\n  sensitive = true\n}\n')
    world.module(
        "taker",
        'variable "x" { type = any }\nresource "terraform_data" "this" {\n'
        '  provisioner "local-exec" { command = "echo ${nonsensitive(var.x.k[0])}; exit 1" }\n}\n',
    )
    world.components = {"giver": {"module": "giver"}, "taker": {"module": "taker", "inputs": {"x": "@giver.deep"}}}
    returned = world.deploy()
    assert returned["retcode"] == 1
    assert "hunter2" not in str(returned)
    assert "hunter2" not in Path(returned["steps"]["taker"]["log"]).read_text()


def test_a_sensitive_input_arrives_whatever_characters_it_has(world):
    """Terraform reads it as an HCL expression, which has neither `\\b` nor `\\f`."""
    value = '["bell\\u0008", "feed\\u000c\\\\b\\\\f$${x}"]'
    world.module("giver", f'output "deep" {{\n  value     = {{ k = {value} }}\n  sensitive = true\n}}\n')
    world.module("taker", f'variable "x" {{}}\noutput "same" {{\n  value = nonsensitive(var.x.k == {value})\n}}\n')
    world.components = {"giver": {"module": "giver"}, "taker": {"module": "taker", "inputs": {"x": "@giver.deep"}}}
    deployed = world.deploy()
    assert deployed["retcode"] == 0, deployed
    assert deployed["outputs"]["taker"]["same"] is True
