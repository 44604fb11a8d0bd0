"""What recovery reads keeps its name through a power cut, and what can be made again waits for no disk."""

from __future__ import annotations

from tests.support.disk_calls import disk_calls
from tests.support.world import statuses


def test_a_run_syncs_what_can_not_be_made_again_and_nothing_else(world):
    world.infrastructure = {
        "environments": {"staging": {"components": world.components, "approval": {"when": "always"}}}
    }
    world.components["a"] = {"module": "base", "variables": {"name": "one"}}
    home = world.state_dir
    again = (home / "workspaces", home / "cache")
    with disk_calls() as calls:
        for name in ("one", "two"):
            world.components["a"]["variables"]["name"] = name
            waiting = world.deploy()
            assert waiting["retcode"] == 3
            world.call("approve", waiting["run"], None, None, services=world.services(author="bob"))
            assert statuses(world.call("resume", waiting["run"])) == {"a": "applied"}
        world.components["b"] = {**world.components.pop("a"), "renamed_from": "a"}
        world.plan()
        returned = world.deploy()
        assert "a is now b" in str(returned["notes"])
        world.call("backup", str(world.home / "backup.tar.gz"))
    assert not [path for path in calls.of("sync") if any(path.is_relative_to(folder) for folder in again)]
    assert calls.unsynced(*again) == []
    named = {path.relative_to(home).parts[0] for path in calls.of("name") if path.is_relative_to(home)}
    assert {"states", "runs", "index", "audit", "modules", "digest.key", "plans.key", "cache"} <= named


def test_a_first_state_keeps_the_name_that_terraform_gave_it(world):
    """In a folder whose own name is synced before, and which is synced before the record says that it is applied."""
    world.components = {"a": {"module": "base", "variables": {"name": "one"}}}
    with disk_calls() as calls:
        world.deploy()
    states = world.state_dir / "states" / "staging"
    assert [path for path in calls.of("sync") if path.is_relative_to(states)] == [states, states / "a"]
