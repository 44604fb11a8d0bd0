"""A state that could not be stored is kept, pushed back where that is safe, and named otherwise."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.support.world import CountedProcesses, statuses

DONE = """
variable "nodes" { type = number }
variable "log" { type = string }
resource "terraform_data" "node" {
  count = var.nodes
  provisioner "local-exec" { command = "echo made >> ${var.log}" }
}
output "ids" { value = terraform_data.node[*].id }
"""


# Terraform's errored state lacks the outputs, so they are still to be applied; tofu's has them.
AFTERWARDS = ("applied", "unchanged")


def home(world) -> Path:
    return world.state_dir / "states" / "staging" / "a"


def kept(world) -> Path:
    return world.state_dir / "errored" / "staging" / "a.tfstate"


def break_state(world) -> None:
    """A folder where terraform wants to write its backup: from now on it can't store this state."""
    (home(world) / "terraform.tfstate.backup").unlink(missing_ok=True)
    (home(world) / "terraform.tfstate.backup" / "in the way").mkdir(parents=True)


def mend_state(world) -> None:
    shutil.rmtree(home(world) / "terraform.tfstate.backup")


class MendedAfterTheApply(CountedProcesses):
    """The trouble is gone as soon as the apply has failed because of it."""

    def __init__(self, world) -> None:
        super().__init__()
        self.world = world

    def run(self, argv, **given):
        try:
            return super().run(argv, **given)
        finally:
            if "apply" in argv:
                mend_state(self.world)


@pytest.fixture
def broken(world, tmp_path):
    """Deployed once; then it changes, and its state can't be stored."""
    world.module("done", DONE)
    variables = {"nodes": 1, "log": str(tmp_path / "made")}
    world.components = {"a": {"module": "done", "variables": variables}}
    assert world.deploy()["retcode"] == 0
    variables["nodes"] = 2
    break_state(world)
    return world


def made(tmp_path) -> int:
    return (tmp_path / "made").read_text().count("made")


def test_it_is_kept_named_and_pushed_back_by_the_next_run(broken, tmp_path):
    returned = broken.deploy()
    error = returned["steps"]["a"]["error"]
    assert error["errored_state"] == str(kept(broken))
    assert str(kept(broken)) in error["detail"] and "was not pushed back" in error["detail"]
    assert kept(broken).stat().st_mode & 0o777 == 0o600
    assert any(str(kept(broken)) in note for note in broken.call("status", "staging")["notes"])
    shutil.rmtree(broken.state_dir / "workspaces")  # which is always allowed
    mend_state(broken)
    resumed = broken.call("resume", None)
    assert statuses(resumed)["a"] in AFTERWARDS, resumed
    assert any("was pushed back" in note for note in resumed["notes"])
    assert made(tmp_path) == 2  # once for each node: nothing was built twice
    assert not kept(broken).exists()
    assert broken.call("status", "staging")["components"]["a"]["resources"] == 2
    assert statuses(broken.deploy()) == {"a": "unchanged"}
    assert broken.processes.started == []


def test_it_is_pushed_back_at_once_where_that_works(broken, tmp_path):
    returned = broken.call("deploy", "staging", {}, services=broken.services(processes=MendedAfterTheApply(broken)))
    error = returned["steps"]["a"]["error"]
    assert "It was pushed back: nothing is lost." in error["detail"]
    assert "errored_state" not in error
    assert not kept(broken).exists()
    assert statuses(broken.deploy())["a"] in AFTERWARDS
    assert made(tmp_path) == 2


def test_a_state_that_somebody_changed_since_is_never_overwritten(broken, tmp_path):
    broken.deploy()
    mend_state(broken)
    path = home(broken) / "terraform.tfstate"
    tree = json.loads(path.read_bytes())
    path.write_text(json.dumps(tree | {"serial": tree["serial"] + 40}, indent=2) + "\n")
    before = path.read_bytes()
    returned = broken.deploy()
    error = returned["steps"]["a"]["error"]
    assert "can't be pushed back safely" in error["summary"]
    assert str(kept(broken)) in error["detail"] and "compare the two" in error["fix"]
    assert (path.read_bytes(), kept(broken).exists()) == (before, True)
    assert "plan" not in broken.processes.commands()
    assert made(tmp_path) == 2


def test_a_destroy_knows_what_only_that_state_knows(broken):
    broken.deploy()
    mend_state(broken)
    assert statuses(broken.destroy()) == {"a": "destroyed"}
    assert not kept(broken).exists()


def test_after_a_killed_terraform_it_is_said_what_it_left(world):
    world.components = {"a": {"module": "shell", "variables": {"command": "kill -9 $PPID"}}}
    detail = world.deploy()["steps"]["a"]["error"]["detail"]
    assert "Its state is empty; the note of its lock is still there, its holder is not." in detail
    assert "salt-run infrastructure.strays staging" in detail
    world.components["a"]["variables"]["command"] = "true"
    assert statuses(world.deploy()) == {"a": "applied"}


TORN = """
variable "command" { type = string }
resource "terraform_data" "this" {
  triggers_replace = var.command
  provisioner "local-exec" { command = var.command }
}
"""


@pytest.mark.parametrize("left", ["", '{"version": 4, "ser'])
def test_a_state_that_was_torn_is_put_back_as_it_was_before_that_apply(world, left):
    world.module("torn", TORN)
    world.components = {"a": {"module": "torn", "variables": {"command": "true"}}}
    assert world.deploy()["retcode"] == 0
    tear = f"printf '%s' '{left}' > state/terraform.tfstate; kill -9 $PPID"
    world.components["a"]["variables"]["command"] = f": 1; {tear}"
    returned = world.deploy()
    (note,) = [note for note in returned["notes"] if "was torn" in note]
    assert "Put back: serial" in note
    assert world.call("status", "staging")["components"]["a"]["status"] == "half done"
    (home(world) / "terraform.tfstate").write_text(left)  # once more, as if the runner had been killed too
    world.components["a"]["variables"]["command"] = "true # again"
    assert "unreadable" in world.call("status", "staging")["components"]["a"]["status"]
    resumed = world.call("resume", None)  # with what it began with, which tears it once more
    assert any("was torn" in note for note in resumed["notes"])
    assert statuses(world.deploy()) == {"a": "applied"}
    assert len(list(home(world).glob("terraform.tfstate.torn-*"))) == 3
    assert statuses(world.deploy()) == {"a": "unchanged"}


def test_a_state_that_is_damaged_otherwise_is_left_to_a_person(world):
    world.components = {"a": {"module": "base", "variables": {"name": "one"}}}
    world.deploy()
    (home(world) / "terraform.tfstate").write_text("{")
    world.components["a"]["variables"]["name"] = "two"
    assert "malformed" in world.deploy()["steps"]["a"]["error"]["summary"]
    assert "malformed" in world.call("resume", None)["steps"]["a"]["error"]["summary"]
    assert (home(world) / "terraform.tfstate").read_text() == "{"
