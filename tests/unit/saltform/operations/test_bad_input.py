"""Names that don't exist and states that can't be read: said before anything runs, and without hiding the rest."""

from __future__ import annotations

import json

import pytest

from tests.support.world import World


@pytest.fixture
def world(tmp_path):
    """Two components that have been applied once, as far as their states say."""
    world = World(tmp_path)
    world.components = {name: {"module": "base", "variables": {"name": name}} for name in ("networking", "consul")}
    for name in world.components:
        keep_state(world, name)
    return world


def keep_state(world, name):
    instance = {"schema_version": 0, "attributes": {"id": name}}
    resource = {"module": "module.main", "mode": "managed", "type": "terraform_data", "name": "this"}
    state = {
        "version": 4,
        "serial": 1,
        "lineage": name,
        "outputs": {"id": {"value": name, "type": "string"}},
        "resources": [{**resource, "provider": "", "instances": [instance]}],
    }
    path = state_file(world, name)
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(state))


def state_file(world, name):
    return world.state_dir / "states" / "staging" / name / "terraform.tfstate"


@pytest.mark.parametrize("verb", ["deploy", "plan"])
def test_an_address_to_replace_that_is_not_there(world, verb):
    returned = world.call(verb, "staging", {"components": "networking", "replace": "terraform_data.tihs"})
    assert returned["retcode"] == 1
    assert returned["error"]["summary"] == "unknown resource of staging/networking 'terraform_data.tihs'"
    assert returned["error"]["detail"] == "known: terraform_data.this. Did you mean 'terraform_data.this'?"
    assert world.processes.started == []
