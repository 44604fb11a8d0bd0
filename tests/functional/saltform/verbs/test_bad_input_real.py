"""Bad input and bad days: one clear message each, nothing half-written, no traceback."""

from __future__ import annotations

import os
import shlex
import stat

import pytest

from saltform.errors import RunLogError, StateError
from saltform.features.states import copies
from saltform.process import RealProcesses
from saltform.runlog import RunLog
from saltform.terraform.binary import find
from tests.support.world import statuses


def summary(returned):
    assert returned["retcode"] == 1
    assert "Traceback" not in str(returned)
    return returned["error"]["summary"] + " " + returned["error"]["detail"]


def test_an_output_that_the_module_does_not_have_is_found_before_anything_runs(world):
    world.components = {
        "networking": {"module": "base", "variables": {"name": "x"}},
        "consul": {"module": "app", "inputs": {"base": "@networking.idd"}},
    }
    said = summary(world.deploy())
    assert "components:consul:inputs:base" in said
    assert "did you mean 'id'" in said
    assert world.processes.started == []


def test_variables_that_are_missing_or_unknown_are_found_before_anything_runs(world):
    world.components = {"a": {"module": "base", "variables": {"nmae": "x"}}}
    said = summary(world.deploy())
    assert "did you mean 'name'" in said
    assert "components:a:variables:name: found nothing" in said


def test_a_module_that_is_not_there(world):
    world.components = {"a": {"module": "bsae", "variables": {}}}
    assert "did you mean 'base'" in summary(world.deploy())


def test_an_empty_environment(world):
    assert "at least one component" in summary(world.deploy())


@pytest.mark.parametrize("content", ["", "{", "[]", '{"version": 99, "serial": 1, "lineage": "x"}'])
def test_a_malformed_state_is_named_and_left_alone(staging, content):
    path = staging.state_dir / "states" / "staging" / "networking" / "terraform.tfstate"
    (path.parent / "terraform.tfstate.backup").write_text("{}")
    path.write_text(content)
    staging.components["networking"]["variables"]["name"] = "changed"
    returned = staging.deploy()
    assert returned["retcode"] == 1
    assert "state" in returned["steps"]["networking"]["reason"]
    assert path.read_text() == content
    standing = staging.call("status", "staging")["components"]
    assert standing["networking"]["status"] == "unreadable"
    assert str(path) in standing["networking"]["error"]["detail"]


def test_a_state_that_is_lost_is_not_built_a_second_time(staging):
    path = staging.state_dir / "states/staging/networking/terraform.tfstate"
    content = path.read_bytes()
    path.unlink()
    returned = staging.deploy()
    error = returned["steps"]["networking"]["error"]
    assert (returned["retcode"], error["summary"]) == (1, "the state of networking is gone")
    assert error["fix"].startswith(f"tar -xzf FILE -C {staging.state_dir} ")
    assert "files/states/staging/networking/terraform.tfstate" in error["fix"]
    assert staging.call("status", "staging")["components"]["networking"]["status"] == "unreadable"
    assert staging.destroy()["retcode"] == 1
    path.write_bytes(content)
    assert statuses(staging.deploy())["networking"] == "unchanged"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_is_not_writable(world):
    world.components = {"a": {"module": "base", "variables": {"name": "x"}}}
    world.state_dir.mkdir(mode=0o500)
    assert "permission denied" in summary(world.deploy())


def test_a_file_where_the_folder_should_be(world):
    world.components = {"a": {"module": "base", "variables": {"name": "x"}}}
    world.state_dir.write_text("in the way")
    assert "in the way" in summary(world.deploy())


def test_no_terraform_found(world):
    world.binary = "no-such-terraform"
    world.components = {"a": {"module": "base", "variables": {"name": "x"}}}
    assert "no-such-terraform" in summary(world.deploy())


def test_a_terraform_that_crashes(world, tmp_path):
    fake = tmp_path / "terraform"
    fake.write_text('#!/bin/sh\n[ "$1" = version ] && echo "Terraform v1.9.0" && exit 0\nkill -SEGV $$\n')
    fake.chmod(fake.stat().st_mode | stat.S_IXUSR)
    world.binary = str(fake)
    world.components = {"a": {"module": "base", "variables": {"name": "x"}}}
    returned = world.deploy()
    assert returned["retcode"] == 1
    assert "SIGSEGV" in returned["steps"]["a"]["error"]["summary"]


def test_a_wrong_version_says_what_was_found(world):
    world.components = {"a": {"module": "base", "variables": {"name": "x"}, "version": ">=99"}}
    said = summary(world.deploy())
    assert "wrong version" in said and ">=99" in said


def test_a_wrong_version_of_one_component_is_found_before_any_other_is_touched(world):
    world.components = {
        "a": {"module": "base", "variables": {"name": "a"}},
        "b": {"module": "app", "version": ">=9", "inputs": {"base": "@a.id", "password": "@a.password"}},
    }
    error = world.deploy()["error"]
    assert (error["summary"], error["wanted"]) == ("the binary has the wrong version", ">=9")
    assert world.call("status", "staging")["components"]["a"]["status"] == "never applied"


def test_a_wrong_version_of_one_component_is_found_before_any_other_is_destroyed(world):
    names = ("a", "b", "never")
    world.components = {name: {"module": "base", "variables": {"name": name}} for name in names}
    world.deploy(components="a,b")
    world.components["never"]["version"] = ">=99"  # nothing of it is there: no terraform is needed to destroy that
    world.components["a"]["version"] = ">=9"
    error = world.destroy(parallelism=1)["error"]
    assert (error["summary"], error["wanted"]) == ("the binary has the wrong version", ">=9")
    assert set(world.call("outputs", "staging", "b")["outputs"]["b"]) == {"id", "name", "password"}
    del world.components["a"]["version"]
    assert world.destroy()["retcode"] == 0


def test_a_binary_that_is_gone_is_found_before_anything_goes_back(world, tmp_path):
    then, embedded = tmp_path / "terraform", find("embedded", cache_dir=tmp_path, processes=RealProcesses())
    then.write_text(f'#!/bin/sh\nexec {shlex.join(embedded.path)} "$@"\n')
    then.chmod(0o700)
    world.components = {
        "a": {"module": "base", "variables": {"name": "one"}},
        "b": {"module": "app", "binary": str(then), "inputs": {"base": "@a.name"}},
    }
    assert world.deploy()["retcode"] == 0
    world.components["a"]["variables"]["name"] = "two"
    world.components["b"]["binary"] = "embedded"
    assert world.deploy()["retcode"] == 0
    then.unlink()
    assert str(then) in summary(world.call("rollback", "staging", {}))
    assert world.call("outputs", "staging", "a")["outputs"]["a"]["name"] == "two"


def test_what_a_good_deploy_leaves_for_minions_may_fail_without_failing_it(world, monkeypatch):
    def away(*_):
        raise StateError("the server is away")

    monkeypatch.setattr(copies, "copy_states", away)
    world.components = {"a": {"module": "base", "variables": {"name": "a"}}}
    returned = world.deploy()
    assert (returned["retcode"], statuses(returned)) == (0, {"a": "applied"})
    (note,) = [note for note in returned["notes"] if "the server is away" in note]
    assert "sync_states staging" in note


def test_unknown_names_give_the_nearest(staging):
    assert "Did you mean 'staging'?" in summary(staging.call("deploy", "stagin", {}))
    assert "Did you mean 'consul'?" in summary(staging.deploy(components="consol"))
    assert "which environment?" in summary(staging.call("deploy", None, {}))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"paralellism": 3}, "'parallelism'"),
        ({"parallelism": "many"}, "whole number"),
        ({"only": "perhaps"}, "True or False"),
        ({"on_error": "panic"}, "stop"),
    ],
)
def test_a_wrong_argument_is_named(staging, options, said):
    assert said in summary(staging.deploy(**options))


def test_arguments_from_a_form_are_strings_and_work(staging):
    staging.components["networking"]["variables"]["name"] = "changed"
    returned = staging.deploy(components="networking", only="true", parallelism="2", refresh="False")
    assert statuses(returned) == {"networking": "applied"}


def test_a_diagnostic_of_terraform_is_shown_as_it_is(world):
    rule = 'validation {\n condition = var.x > 5\n error_message = "x must be large."\n }'
    world.module("bad", f'variable "x" {{\n default = 1\n {rule}\n}}\n')
    world.components = {"a": {"module": "bad"}}
    error = world.deploy()["steps"]["a"]["error"]
    assert "x must be large." in error["detail"]


def test_validate_of_all_environments_tells_the_problems_of_all(world):
    world.components = {"a": {"module": "bsae"}}
    world.infrastructure = {"environments": {"production": {"components": {"a": {"module": "nada"}}}}}
    said = summary(world.call("validate", None))
    assert "environments:staging:components:a:module: found 'bsae', expected a module" in said
    assert "environments:production:components:a:module: found 'nada', expected a module" in said


@pytest.mark.parametrize("limit", ["many", 0, -1, "1.5"])
def test_a_history_of_no_length(world, limit):
    world.components = {"a": {"module": "base", "variables": {"name": "x"}}}
    assert "expected a whole number, 1 or more" in summary(world.call("history", "staging", limit))


def test_a_history_of_an_environment_that_is_misspelt(world):
    world.components = {"a": {"module": "base", "variables": {"name": "x"}}}
    assert "Did you mean 'staging'" in summary(world.call("history", "stagin", "20"))
    assert world.call("history", "staging", "20")["runs"] == []


def test_preflight_shows_a_malformed_state_in_its_table_and_leaves_nothing_behind(staging):
    runs = sorted(path.name for path in (staging.state_dir / "runs").iterdir())
    (staging.state_dir / "states" / "staging" / "networking" / "terraform.tfstate").write_text("{")
    returned = staging.call("preflight", "staging", None)
    assert returned["retcode"] == 1
    failed = [check for check in returned["checks"] if not check["ok"]]
    where = [(check["check"], check["component"]) for check in failed]
    assert where == [("state", "networking"), ("inputs", "consul")]
    assert all("malformed" in check["detail"] for check in failed)
    assert sorted(path.name for path in (staging.state_dir / "runs").iterdir()) == runs


def test_a_full_disk_ends_the_run_with_one_message_and_no_success_on_record(world, monkeypatch):
    world.components = {"a": {"module": "base", "variables": {"name": "x"}}}

    def full(*_):
        raise RunLogError("the run log can't be used", "database or disk is full")

    monkeypatch.setattr(RunLog, "end_step", full)
    assert "disk is full" in summary(world.deploy())
    monkeypatch.undo()
    assert world.call("show", "last")["run"]["status"] == "failed"
    assert statuses(world.deploy())["a"] in ("applied", "unchanged")


def test_a_log_that_cannot_be_written_is_no_defect(world):
    world.components = {"a": {"module": "base", "variables": {"name": "x"}}}
    services = world.services()
    logs = services.layout.run(services.run_id) / "logs"
    (logs / "a.log").mkdir(parents=True)
    step = world.call("deploy", "staging", {}, services=services)["steps"]["a"]
    assert step["error"]["type"] == "WorkspaceError"
    assert "a.log" in step["error"]["detail"]
