"""A torn state is replaced by the newest of its own lineage, and never by one of an earlier life of the component."""

from __future__ import annotations

import contextlib
import json
import os

import pytest

from tests.support.http_states import http_states
from tests.support.world import statuses

TORN = """
variable "command" { type = string }
resource "terraform_data" "this" {
  triggers_replace = var.command
  provisioner "local-exec" { command = var.command }
}
"""


@pytest.fixture
def lived(world):
    """A component that was applied four times, destroyed, and whose state somebody removed."""
    world.module("torn", TORN)
    world.components = {"a": {"module": "torn", "variables": {"command": "true"}}}
    for number in range(4):
        apply(world, f"true # {number}")
    world.destroy()
    for name in ("terraform.tfstate", "terraform.tfstate.backup"):
        (home(world) / name).unlink(missing_ok=True)
    return world


def home(world, name="a"):
    return world.state_dir / "states" / "staging" / name


def apply(world, command, status="applied"):
    world.components["a"]["variables"]["command"] = command
    returned = world.deploy()
    assert statuses(returned) == {"a": status}, returned
    return returned


def tearing(left):
    return f"printf '%s' '{left}' > state/terraform.tfstate; kill -9 $PPID"


def note_of(returned):
    """The last one: a run that was resumed has those of its first turn, too."""
    return [note for note in returned["notes"] if "was torn" in note][-1]


@pytest.mark.parametrize("left", ["", '{"version": 4, "ser'])
def test_a_first_apply_that_is_torn_doesnt_bring_an_earlier_life_back(lived, left):
    torn = apply(lived, tearing(left), "failed")
    assert "Put back: nothing" in note_of(torn)
    assert not (home(lived) / "terraform.tfstate").exists()
    assert lived.call("status", "staging")["components"]["a"]["resources"] == 0
    assert apply(lived, "true")["steps"]["a"]["add"] == 1


def test_the_newest_of_its_own_lineage_is_put_back(lived):
    apply(lived, "true # anew")
    before = json.loads((home(lived) / "terraform.tfstate").read_bytes())
    assert any(int(path.stem) > before["serial"] for path in (home(lived) / "versions").iterdir())
    torn = apply(lived, tearing("{"), "failed")
    assert f"Put back: serial {before['serial']}" in note_of(torn)
    assert json.loads((home(lived) / "terraform.tfstate").read_bytes()) == before


def test_the_lineage_that_the_torn_state_still_says_counts(lived):
    """The record of an apply that began before records had the lineage that it began on says nothing."""
    apply(lived, "true # anew")
    before = json.loads((home(lived) / "terraform.tfstate").read_bytes())
    beginning = '{\n  "version": 4,\n  "terraform_version": "1.11.4",\n  "serial": 9,\n  "lineage": "%s",\n  "ou'
    services = lived.services()
    apply(lived, tearing("{"), "failed")
    (home(lived) / "terraform.tfstate").write_text(beginning % before["lineage"])
    with contextlib.closing(services):
        services.runlog._database.write("UPDATE components SET lineage = ''")
    resumed = lived.call("resume", None)
    assert f"Put back: serial {before['serial']}" in note_of(resumed)


def test_a_state_that_is_gone_is_not_to_be_replaced_by_one_of_an_earlier_life(lived):
    apply(lived, "true # anew")
    (home(lived) / "terraform.tfstate").unlink()
    error = lived.deploy()["steps"]["a"]["error"]
    assert error["summary"] == "the state of a is gone"
    assert error["fix"].startswith("tar -xzf FILE ")


def test_whoever_is_killed_while_a_state_is_put_back_finds_the_torn_one_or_the_whole_one(lived, monkeypatch):
    apply(lived, "true # anew")
    apply(lived, tearing("{"), "failed")
    path = home(lived) / "terraform.tfstate"
    path.write_text("{")

    def killed(*_):
        raise OSError(5, "killed here")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", killed)
        lived.call("resume", None)
    assert path.read_text() == "{"
    assert "Put back: serial" in note_of(lived.call("resume", None))


def test_versions_go_with_a_state_that_is_moved_to_a_server(lived):
    apply(lived, "true # anew")
    apply(lived, "true # again")
    with http_states("states", "password") as server:
        address = f"{server.address}/{{environment}}/{{component}}"
        credentials = {
            "pillar": {"path": "secrets:states", "map": {"TF_HTTP_USERNAME": "u", "TF_HTTP_PASSWORD": "p"}}
        }
        lived.components["a"]["backend"] = {"type": "http", "address": address, "credentials": credentials}
        services = lived.services()
        services.pillar = {**services.pillar, "secrets": {"states": {"u": "states", "p": "password"}}}
        moved = lived.call("migrate_state", "staging", "a", None, services=services)
    assert statuses(moved) == {"a": "applied"}, moved
    assert not home(lived).exists()
    kept = lived.state_dir / "moved-states" / "staging" / "a" / moved["run"] / "versions"
    assert len(list(kept.iterdir())) > 3


def test_a_renamed_component_has_its_own_versions_and_not_those_of_who_had_the_name_before(lived):
    lived.components["b"] = {"module": "torn", "variables": {"command": "true"}}
    lived.components.pop("a")
    lived.deploy()
    lived.components["b"]["variables"]["command"] = "true # again"
    lived.deploy()
    versions = sorted(path.read_bytes() for path in (home(lived, "b") / "versions").iterdir())
    lived.components = {"a": {**lived.components["b"], "renamed_from": "b"}}
    returned = lived.deploy()
    assert statuses(returned) == {"a": "unchanged"}, returned
    assert sorted(path.read_bytes() for path in (home(lived) / "versions").iterdir()) == versions
    aside = lived.state_dir / "moved-states" / "staging" / "a" / returned["run"]
    assert (aside / "versions").is_dir()


@pytest.mark.parametrize("place", ["errored/staging/b.tfstate", "workspaces/staging/b/errored.tfstate"])
def test_a_state_that_could_not_be_stored_is_renamed_with_its_component(world, place):
    world.module("torn", TORN)
    world.components = {"b": {"module": "torn", "variables": {"command": "true"}}}
    world.deploy()
    later = json.loads((home(world, "b") / "terraform.tfstate").read_bytes())
    unstored = world.state_dir / place
    unstored.parent.mkdir(parents=True, exist_ok=True)
    unstored.write_text(json.dumps(later | {"serial": later["serial"] + 1}))
    world.components = {"a": {**world.components["b"], "renamed_from": "b"}}
    world.components["a"]["variables"] = {"command": "true # changed"}
    returned = world.deploy()
    assert statuses(returned) == {"a": "applied"}, returned
    assert any("could not be stored was pushed back" in note for note in returned["notes"])
