"""The commands on one component, with a real terraform: what they return, what they record, what they never show."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from saltform.config import Settings
from saltform.engine.services import Services
from saltform.errors import Locked, SaltformError, UnknownName
from saltform.runlog import flock
from saltform.verbs import component_commands as commands
from saltform.verbs.history import history
from saltform.verbs.status import status

BASE = """
variable "name" { type = string }
variable "secret" {
  type      = string
  default   = "hush-hush-hush"
  sensitive = true
}
resource "terraform_data" "this" { input = { name = var.name, secret = var.secret } }
resource "terraform_data" "other" {}
output "id" { value = terraform_data.this.id }
output "password" {
  value     = var.secret
  sensitive = true
}
"""
APP = """
variable "base" { type = string }
resource "terraform_data" "this" { input = var.base }
"""
PILLAR = {
    "infrastructure": {
        "environments": {
            "staging": {
                "components": {
                    "base": {"module": "base", "variables": {"name": "one"}},
                    "app": {"module": "app", "inputs": {"base": "@base.id"}},
                }
            }
        }
    }
}

Call = Callable[..., Any]


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    folder = tmp_path_factory.mktemp("commands")
    for name, text in {"base": BASE, "app": APP}.items():
        (folder / "modules" / name).mkdir(parents=True)
        (folder / "modules" / name / "main.tf").write_text(text)
    return Settings(folder / "state", (folder / "modules",))


@pytest.fixture
def services(settings: Settings) -> Iterator[Services]:
    made = Services(settings, PILLAR, author="tester")
    yield made
    made.close()


@pytest.fixture
def call(settings: Settings) -> Call:
    def do(command: str, *arguments: Any) -> Any:
        services = Services(settings, PILLAR, author="tester")
        try:
            return getattr(commands, command)(services, *arguments)
        finally:
            services.close()

    return do


@pytest.fixture
def base(call: Call) -> None:
    """staging/base is applied, and nothing is pending."""
    assert call("apply", "staging/base", {})["success"]


def newest_run(services: Services) -> dict[str, Any]:
    run: dict[str, Any] = history(services, "staging", 1)["runs"][0]
    return run


@pytest.mark.usefixtures("base")
def test_an_apply_is_of_one_component_only(call: Call) -> None:
    returned = call("apply", "staging/base", {"refresh": True})
    assert list(returned["steps"]) == ["base"]
    assert returned["steps"]["base"]["status"] == "unchanged"


@pytest.mark.usefixtures("base")
def test_a_plan_finds_changes_and_changes_nothing(call: Call) -> None:
    returned = call("plan", "staging/base", {"replace": "terraform_data.other"})
    assert returned["retcode"] == 2
    (change,) = returned["steps"]["base"]["changes"]
    assert change.pop("attributes")[0]["path"] == "id"
    assert change == {"address": "terraform_data.other", "action": "replace", "reason": "requested"}
    assert call("plan", "staging/base", {})["retcode"] == 0


@pytest.mark.usefixtures("base")
def test_questions_leave_no_trace(call: Call, services: Services) -> None:
    before = newest_run(services)["id"]
    folders = set(services.layout.state_dir.glob("runs/*")) | set(services.layout.state_dir.glob("workspaces/*/*"))
    assert call("validate", "staging/base") == {"valid": True, "problems": []}
    assert call("fmt_check", "staging/base") == []
    assert call("version", "staging/base")["version"]
    assert call("providers", "staging/base")
    assert newest_run(services)["id"] == before
    after = set(services.layout.state_dir.glob("runs/*")) | set(services.layout.state_dir.glob("workspaces/*/*"))
    assert after == folders


def test_the_version_needs_no_component(call: Call) -> None:
    assert set(call("version")) == {"product", "version", "path"}


@pytest.mark.usefixtures("base")
def test_sensitive_values_are_never_returned(call: Call) -> None:
    assert call("output", "staging/base", "password") == "(sensitive)"
    shown = call("show", "staging/base")
    assert shown["terraform_data.this"]["input"]["name"] == "one"
    answers = [shown, call("output", "staging/base"), call("state_show", "staging/base", "terraform_data.this")]
    assert "hush" not in json.dumps(answers)


@pytest.mark.usefixtures("base")
def test_outputs_and_addresses_come_from_the_state(call: Call) -> None:
    assert call("state_list", "staging/base") == ["terraform_data.other", "terraform_data.this"]
    assert call("output", "staging/base")["id"] == call("output", "staging/base", "id")


@pytest.mark.usefixtures("base")
def test_a_state_edited_by_hand_is_on_record_and_planned_next_time(call: Call, services: Services) -> None:
    returned = call("taint", "staging/base", "terraform_data.other")
    assert returned["steps"]["base"]["changes"] == [{"address": "terraform_data.other", "action": "taint"}]
    run = newest_run(services)
    assert (run["verb"], run["author"], run["status"]) == ("taint", "tester", "done")
    assert status(services, "staging")["components"]["base"]["status"] == "pending change"
    assert call("plan", "staging/base", {})["steps"]["base"]["changes"][0]["action"] == "replace"
    call("untaint", "staging/base", "terraform_data.other")
    assert call("plan", "staging/base", {})["retcode"] == 0


@pytest.mark.usefixtures("base")
def test_state_mv_and_rm_work_on_addresses_of_the_module(call: Call) -> None:
    call("state_mv", "staging/base", "terraform_data.other", "terraform_data.moved")
    assert call("state_list", "staging/base") == ["terraform_data.moved", "terraform_data.this"]
    call("state_mv", "staging/base", "terraform_data.moved", "terraform_data.other")
    call("state_rm", "staging/base", "terraform_data.other")
    assert call("state_list", "staging/base") == ["terraform_data.this"]


@pytest.mark.usefixtures("base")
def test_import_takes_a_resource_in(call: Call) -> None:
    call("state_rm", "staging/base", "terraform_data.other")
    returned = call("import_resource", "staging/base", "terraform_data.other", "an-id")
    assert returned["success"], returned
    assert "an-id" in call("state_show", "staging/base", "terraform_data.other")


@pytest.mark.usefixtures("base")
def test_a_failed_command_is_a_failed_run(call: Call, services: Services) -> None:
    returned = call("state_rm", "staging/base", "terraform_data.nowhere")
    assert returned["retcode"] == 1
    assert "No matching objects found" in returned["steps"]["base"]["error"]["detail"]
    assert newest_run(services)["status"] == "failed"


@pytest.mark.usefixtures("base")
def test_a_command_that_changes_something_is_refused_while_a_run_works_there(call: Call, services: Services) -> None:
    with flock.hold(services.layout.component_lock("staging", "base"), {"run": "another"}, "staging/base"):
        returned = call("taint", "staging/base", "terraform_data.this")
        assert call("state_list", "staging/base")  # a question is not
    assert returned["retcode"] == Locked.exit_code
    assert "another" in returned["steps"]["base"]["error"]["detail"]


@pytest.mark.usefixtures("base")
def test_the_workspace_is_ready_after_init(call: Call) -> None:
    assert call("init", "staging/base")["success"]
    assert (Path(call("workspace_path", "staging/base")) / ".terraform").is_dir()


@pytest.mark.usefixtures("base")
def test_unlocking_what_is_not_locked_says_so(call: Call) -> None:
    returned = call("force_unlock", "staging/base", "9db590f1-b6fe-c5f2-2678-8804f089deba")
    assert returned["retcode"] == 1


@pytest.mark.usefixtures("base")
def test_a_destroy_is_refused_while_another_component_needs_it(call: Call) -> None:
    assert call("apply", "staging/app", {})["success"]
    with pytest.raises(SaltformError, match="still needed"):
        call("destroy", "staging/base", {"yes": True})
    assert call("destroy", "staging/app", {"yes": True})["steps"]["app"]["status"] == "destroyed"
    assert call("destroy", "staging/base", {})["retcode"] == 2  # without yes=True it only shows
    assert call("destroy", "staging/base", {"yes": True})["steps"]["base"]["status"] == "destroyed"
    assert call("state_list", "staging/base") == []


@pytest.mark.parametrize("name", ["staging", "staging/*", "staging/base/x", "", "../base", "staging/b?se", 7])
def test_a_name_that_is_not_one_component_is_refused(call: Call, name: object) -> None:
    with pytest.raises(SaltformError, match="not the name of a component"):
        call("output", name)


def test_an_unknown_component_is_refused_with_the_nearest_name(call: Call) -> None:
    with pytest.raises(UnknownName) as caught:
        call("output", "staging/bsae")
    assert "Did you mean 'base'?" in str(caught.value)
    with pytest.raises(UnknownName):
        call("output", "stagin/base")
