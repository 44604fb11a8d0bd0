"""sync_states with real Terraform: the run log's copy follows the states, whoever changed them."""

from __future__ import annotations

import json

import pytest

from saltform.report import text
from saltform.runlog import RunLog
from tests.support.plain_terraform import PlainTerraform


@pytest.fixture
def watched(staging):
    """Two components whose outputs minions see, and a note of who was told to refresh."""
    staging.components["networking"]["targets"] = "web*"
    staging.told = []
    return staging


def sync(world):
    services = world.services(refresh_pillar=world.told.extend)
    return world.call("sync_states", "staging", services=services)


def copies(world):
    log = RunLog(world.state_dir / "runs.sqlite")
    try:
        return log.copies.all("staging")
    finally:
        log.close()


def test_a_deploy_leaves_copies_and_says_which_outputs_changed(staging):
    kept = copies(staging)
    assert kept["networking"].resources == ["module.main.terraform_data.this"]
    assert kept["networking"].ordinary["name"] == "net"
    assert sorted(kept["networking"].outputs) == ["id", "name", "password"]
    assert "hush-hush-hush" not in (staging.state_dir / "runs.sqlite").read_bytes().decode(errors="replace")
    staging.components["networking"]["variables"]["name"] = "renamed"
    staging.deploy()
    told = [data for tag, data in staging.events.fired if tag == "saltform/outputs/staging/networking"]
    assert [data["outputs"] for data in told] == [["name"]]
    assert copies(staging)["networking"].ordinary["name"] == "renamed"


def test_in_step_starts_nothing_and_tells_nobody(watched):
    returned = sync(watched)
    assert returned["retcode"] == 0
    assert {entry["status"] for entry in returned["components"].values()} == {"in step"}
    assert (watched.processes.started, watched.told, watched.events.fired) == ([], [], [])
    assert text.render(returned) == "sync_states staging: 2 in step"


def test_a_plain_apply_outside_of_us_is_followed_and_said(watched):
    folder = watched.state_dir / "workspaces" / "staging" / "networking"
    root = json.loads((folder / "main.tf.json").read_text())
    root["module"]["main"]["name"] = "by hand"
    (folder / "main.tf.json").write_text(json.dumps(root))
    PlainTerraform(folder, watched.home / "plain", str(watched.home / "mirror")).apply()
    returned = sync(watched)
    entry = returned["components"]["networking"]
    assert entry["status"] == "changed outside"
    assert entry["outputs"] == ["name"]
    assert entry["serial"] > entry["was"]
    assert "networking was changed outside" in returned["notes"][0]
    assert watched.told == ["web*"]
    assert copies(watched)["networking"].ordinary["name"] == "by hand"
    again = sync(watched)
    assert again["components"]["networking"]["outputs"] == []
    assert again["components"]["networking"]["status"] == "changed outside", "until a deploy has judged it"
    assert watched.told == ["web*"]


def test_a_state_that_can_not_be_read_is_said_and_keeps_its_copy(watched):
    path = watched.state_dir / "states" / "staging" / "networking" / "terraform.tfstate"
    path.write_text(path.read_text()[:200])
    before = copies(watched)["networking"]
    returned = sync(watched)
    assert returned["retcode"] == 1
    assert returned["components"]["networking"]["status"] == "unreadable"
    assert returned["components"]["consul"]["status"] == "in step"
    assert copies(watched)["networking"] == before


def test_a_deploy_of_others_keeps_what_the_last_sync_said_of_a_state_that_can_not_be_read(watched):
    """Until one reads that state: what the minions get of it is no younger for that deploy."""

    def troubles():
        index = json.loads((watched.state_dir / "index" / "staging.json").read_text())
        return {name: entry["trouble"]["problem"] for name, entry in index.items() if "trouble" in entry}

    path = watched.state_dir / "states" / "staging" / "consul" / "terraform.tfstate"
    good = path.read_text()
    path.write_text(good[:200])
    sync(watched)
    told = troubles()
    assert list(told) == ["consul"]
    watched.components["networking"]["variables"]["name"] = "renamed"
    assert watched.deploy(components="networking")["retcode"] == 0
    assert troubles() == told
    assert watched.deploy()["retcode"] == 1  # it tried to read that one, and could not
    assert troubles() == told
    path.write_text(good)
    assert watched.deploy()["retcode"] == 0
    assert troubles() == {}


def test_what_was_destroyed_leaves_the_copies(watched):
    watched.destroy()
    assert copies(watched)["networking"].resources == []
    assert sync(watched)["components"]["networking"]["status"] == "nothing there"


def test_all_environments_are_synced_when_none_is_named(watched):
    returned = watched.call("sync_states", None)
    assert list(returned["components"]) == ["staging/networking", "staging/consul"]


def test_of_all_environments_one_that_can_not_be_synced_does_not_stop_the_others(watched):
    """As the schedule runs it: nothing has been promoted yet, and another one is broken."""
    watched.infrastructure["environments"] = {
        "broken": {"components": {"a": {"module": "no-such-module"}}},
        "production": {"promoted_from": "staging"},
        "staging": {"components": watched.components},
    }
    returned = watched.call("sync_states", None)
    assert returned["components"]["staging/networking"]["status"] == "in step"
    assert [note.partition(":")[0] for note in returned["notes"]] == ["broken", "production"]
    assert returned["retcode"] == 1
    del watched.infrastructure["environments"]["broken"]
    assert watched.call("sync_states", None)["retcode"] == 0, "what was not promoted yet is no failure"


def test_an_environment_that_left_the_pillar_is_named_and_no_longer_seen_by_minions(watched):
    watched.infrastructure["environments"] = {
        "other": {"components": {"b": {"module": "base", "variables": {"name": "b"}}}}
    }
    assert watched.call("deploy", "other", {})["retcode"] == 0
    services = watched.services()
    del services.pillar["infrastructure"]["environments"]["staging"]
    returned = watched.call("sync_states", None, services=services)
    (note,) = returned["notes"]
    assert "staging left the pillar" in note and "destroy staging yes=True" in note
    assert [path.name for path in (watched.state_dir / "index").iterdir()] == ["other.json"]
