"""upgrade renews provider locks within what `version:` allows, and says what changed."""

from __future__ import annotations

import pytest

from tests.support.world import statuses

SOURCE = "registry.terraform.io/example/thing"


def release(world, version):
    """A provider's package in the mirror. `init` only looks at files, so any will do."""
    folder = world.home / "mirror" / SOURCE / version / "linux_amd64"
    folder.mkdir(parents=True)
    (folder / f"terraform-provider-thing_v{version}").write_text(f"#!/bin/sh\n# {version}\n")


@pytest.fixture
def thing(world):
    release(world, "1.0.0")
    world.infrastructure["providers"] = {"thing": {"kind": "generic", "source": SOURCE, "version": "~> 1.0"}}
    world.components = {"a": {"module": "base", "provider": "thing", "variables": {"name": "x"}}}
    assert statuses(world.call("upgrade", "staging", None, None)) == {"a": "applied"}
    return world


def test_a_newer_provider_is_taken_and_named(thing):
    release(thing, "1.1.0")
    release(thing, "2.0.0")
    returned = thing.call("upgrade", "staging", "a", None)
    assert returned["steps"]["a"]["changes"] == [{"address": SOURCE, "action": "upgrade", "reason": "1.0.0 → 1.1.0"}]
    assert statuses(thing.call("upgrade", "staging", None, None)) == {"a": "unchanged"}


def test_a_dry_run_says_what_would_change_and_keeps_the_lock(thing):
    release(thing, "1.1.0")
    returned = thing.call("upgrade", "staging", None, True)
    assert (returned["retcode"], statuses(returned)) == (2, {"a": "planned"})
    assert statuses(thing.call("upgrade", "staging", None, None)) == {"a": "applied"}


def test_without_an_upgrade_the_lock_stays(thing):
    release(thing, "1.1.0")
    lock = thing.state_dir / "provider-locks" / "staging" / "a.lock.hcl"
    before = lock.read_bytes()
    thing.plan()  # it fails, because the package is no provider, but only after `init`
    assert lock.read_bytes() == before
    assert b'"1.0.0"' in before
