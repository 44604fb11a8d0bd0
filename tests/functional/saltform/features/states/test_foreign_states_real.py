"""A component pointed at a state that Saltform didn't write: refused by whatever would plan over or destroy it."""

from __future__ import annotations

import contextlib
import shutil
import subprocess

import pytest

from saltform.verbs import component_commands as commands
from saltform.verbs import component_states as resources
from tests.support.plain_terraform import PlainTerraform
from tests.support.world import statuses

ROOT = """
resource "terraform_data" "volume" {
  count = 3
  input = "data of years"
}
output "id" { value = "of the existing root" }
"""
REFUSED = "the state of staging/net is not one that Saltform wrote"
TWO = """
variable "command" { type = string }
resource "terraform_data" "first" {}
resource "terraform_data" "second" {
  depends_on = [terraform_data.first]
  provisioner "local-exec" { command = var.command }
}
"""


@pytest.fixture(scope="module")
def existing(tmp_path_factory):
    """A root that somebody has applied by hand."""
    folder = tmp_path_factory.mktemp("existing")
    (folder / "main.tf").write_text(ROOT)
    (folder / "mirror").mkdir()
    terraform = PlainTerraform(folder, folder / "cache", str(folder / "mirror"))
    terraform.init()
    terraform.apply()
    return terraform


@pytest.fixture
def pointed(world, existing):
    """A component whose state is that root's."""
    world.components = {"net": {"module": "base", "variables": {"name": "net"}}}
    put(world, existing)
    return world


def home(world, name="net"):
    return world.state_dir / "states" / "staging" / name


def put(world, existing, name="net"):
    home(world, name).mkdir(parents=True, exist_ok=True)
    shutil.copy(existing.folder / "terraform.tfstate", home(world, name) / "terraform.tfstate")


def called(world, work, *arguments):
    """A command on one component, as Salt's modules call it."""
    with contextlib.closing(world.services()) as services:
        return work(services, "staging/net", *arguments)


def error_of(returned):
    return next(iter(returned["steps"].values()))["error"] if returned.get("steps") else returned["error"]


def assert_refused(world, existing, returned, name="net"):
    assert returned["retcode"] == 1, returned
    assert error_of(returned)["summary"] == REFUSED.replace("/net", f"/{name}"), returned
    assert_untouched(world, existing, name)


def assert_untouched(world, existing, name="net"):
    mine = home(world, name) / "terraform.tfstate"
    assert mine.read_bytes() == (existing.folder / "terraform.tfstate").read_bytes()
    assert not {"plan", "apply"} & set(world.processes.commands())


VERBS = {
    "plan": lambda world: world.plan(),
    "deploy": lambda world: world.deploy(),
    "deploy dry_run": lambda world: world.deploy(dry_run=True),
    "deploy refresh": lambda world: world.deploy(refresh=True),
    "deploy on_error=rollback": lambda world: world.deploy(on_error="rollback"),
    "destroy without yes": lambda world: world.destroy(yes=False),
    "destroy": lambda world: world.destroy(),
    "drift": lambda world: world.call("drift", "staging", {}),
    "drift heal": lambda world: world.call("drift", "staging", {"heal": True}),
    "terraform.plan": lambda world: called(world, commands.plan, {}),
    "terraform.apply": lambda world: called(world, commands.apply, {}),
    "terraform.destroy": lambda world: called(world, commands.destroy, {"yes": True}),
    "terraform.init": lambda world: called(world, commands.init),
    "terraform.import": lambda world: called(world, commands.import_resource, "terraform_data.this", "x"),
    "terraform.state_rm": lambda world: called(world, commands.state_rm, "terraform_data.volume"),
}


@pytest.mark.parametrize("verb", VERBS)
def test_it_is_refused_and_left_as_it_is(pointed, existing, verb):
    assert_refused(pointed, existing, VERBS[verb](pointed))


@pytest.mark.parametrize("work", [resources.present, resources.absent])
@pytest.mark.parametrize("test", [True, False])
def test_a_state_of_salt_refuses_it_as_well(pointed, existing, work, test):
    try:
        comment = called(pointed, work, {}, test)["comment"]
    except Exception as error:  # as the loader's boundary gets it
        comment = str(error)
    assert REFUSED in comment
    assert_untouched(pointed, existing)


def test_the_message_says_what_was_found_and_what_to_do(pointed, existing):
    error = error_of(pointed.deploy())
    path = home(pointed) / "terraform.tfstate"
    assert error["detail"].startswith(f"{path} has serial ")
    assert "no apply of ours is on record" in error["detail"]
    assert "3 resources in it not below module.main: terraform_data.volume[0], " in error["detail"]
    assert f"mv {path} {path}.foreign" in error["fix"]
    assert "terraform state mv ADDRESS module.main.ADDRESS" in error["fix"]
    assert [item["detail"] for item in pointed.call("preflight", "staging", None)["checks"] if not item["ok"]] == [
        f"{error['summary']}: {error['detail']}"
    ]
    path.rename(f"{path}.foreign")
    assert statuses(pointed.deploy()) == {"net": "applied"}


def test_what_was_moved_below_the_module_by_hand_is_ours(world, existing, tmp_path):
    copy = PlainTerraform(shutil.copytree(existing.folder, tmp_path / "copy"), existing.cache, existing.mirror)
    copy._run("state", "mv", "terraform_data.volume", "module.main.terraform_data.volume")
    world.module("old", ROOT)
    world.components = {"net": {"module": "old"}}
    put(world, copy)
    returned = world.deploy()
    step = returned["steps"]["net"]
    assert (returned["retcode"], step["add"], step["change"], step["destroy"]) == (0, 0, 0, 0), step


def test_a_state_of_another_lineage_in_the_place_of_ours_is_refused_with_the_way_back(world, existing):
    world.components = {"net": {"module": "base", "variables": {"name": "one"}}}
    world.deploy()
    world.components["net"]["variables"]["name"] = "two"
    world.deploy()
    path = home(world) / "terraform.tfstate"
    ours = path.read_bytes()
    put(world, existing)
    for verb in ("plan", "deploy", "destroy"):
        assert_refused(world, existing, VERBS[verb](world))
    assert_refused(world, existing, world.call("rollback", "staging", {}))
    assert_refused(world, existing, world.call("rollback", "staging", {"dry_run": True}))
    error = error_of(world.deploy())
    assert "on record is lineage " in error["detail"]
    assert error["fix"].startswith(f"cp {home(world)}/versions/")
    path.write_bytes(ours)
    assert statuses(world.deploy()) == {"net": "unchanged"}


def test_without_versions_the_way_back_is_this_state_alone_from_a_backup(world, existing, tmp_path):
    world.components = {"net": {"module": "base", "variables": {"name": "one"}}}
    world.deploy()
    backup = tmp_path / "saltform.backup"
    assert world.call("backup", str(backup))["retcode"] == 0
    put(world, existing)
    fix = error_of(world.deploy())["fix"]
    subprocess.run(fix.replace("FILE", str(backup), 1), shell=True, check=True)
    assert statuses(world.deploy()) == {"net": "unchanged"}


def test_a_first_apply_that_was_killed_goes_on(world):
    world.module("two", TWO)
    world.components = {"net": {"module": "two", "variables": {"command": "kill -9 $PPID"}}}
    assert world.deploy()["retcode"] == 1
    services = world.services()
    with contextlib.closing(services):
        assert services.runlog.component("staging", "net").lineage == ""
    assert world.call("status", "staging")["components"]["net"]["resources"] > 0
    world.components["net"]["variables"]["command"] = "true"
    world.plan()
    assert statuses(world.deploy()) == {"net": "applied"}


def test_what_a_first_apply_that_failed_left_empty_is_no_place_for_another_root(world, existing):
    world.components = {"net": {"module": "shell", "variables": {"command": "false"}}}
    assert world.deploy()["retcode"] == 1
    (home(world) / "terraform.tfstate").unlink()
    put(world, existing)
    assert_refused(world, existing, world.call("resume", None))
    assert_refused(world, existing, world.deploy())


def test_states_of_ours_are_known_without_a_run_log(world):
    world.components = {"net": {"module": "base", "variables": {"name": "net"}}}
    world.deploy()
    for path in world.state_dir.glob("runs.sqlite*"):
        path.unlink()
    step = world.deploy()["steps"]["net"]
    assert (step["status"], step["add"], step["destroy"]) == ("unchanged", 0, 0)


def test_an_approved_first_plan_is_not_applied_over_another_roots_state(world, existing):
    world.infrastructure = {
        "environments": {"staging": {"components": world.components, "approval": {"when": "always"}}}
    }
    world.components["net"] = {"module": "base", "variables": {"name": "net"}}
    waiting = world.deploy()
    assert waiting["retcode"] == 3, waiting
    world.author = "bob"
    world.call("approve", waiting["run"], None, None)
    put(world, existing)
    assert_refused(world, existing, world.call("resume", waiting["run"]))


def test_a_renamed_component_is_not_planned_over_another_roots_state(world, existing):
    world.components = {"old": {"module": "base", "variables": {"name": "net"}}}
    world.deploy()
    world.components = {"net": {"module": "base", "variables": {"name": "net"}, "renamed_from": "old"}}
    put(world, existing)
    assert_refused(world, existing, world.plan())
    refused = world.deploy()
    assert error_of(refused)["summary"] == "a rename would overwrite a state"
    assert_untouched(world, existing)
    shutil.rmtree(home(world))
    for returned in (world.plan(), world.deploy()):
        assert statuses(returned) == {"net": "unchanged"}, returned


def test_a_promotion_doesnt_deploy_over_another_roots_state(world, existing):
    world.infrastructure = {"environments": {"production": {"promoted_from": "staging"}}}
    world.components = {"net": {"module": "base", "variables": {"name": "net"}}}
    world.deploy()
    target = world.state_dir / "states" / "production" / "net"
    target.mkdir(parents=True)
    shutil.copy(existing.folder / "terraform.tfstate", target / "terraform.tfstate")
    returned = world.call("promote", "staging", "production", {})
    assert error_of(returned)["summary"] == REFUSED.replace("staging", "production")
    assert "apply" not in world.processes.commands()


def test_a_component_whose_module_calls_one_named_data_is_really_destroyed(world):
    inner = world.module("inner", 'resource "terraform_data" "this" {}\n')
    world.module("outer", f'module "data" {{\n  source = "../{inner.name}"\n}}\n')
    world.components = {"net": {"module": "outer"}}
    world.deploy()
    assert world.call("status", "staging")["components"]["net"]["resources"] == 1
    assert world.destroy()["steps"]["net"]["destroy"] == 1
