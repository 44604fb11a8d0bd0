"""Operations on real Terraform: the embedded one where it matters, else the quickest there is."""

from __future__ import annotations

import pytest

from tests.support.world import World


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


@pytest.fixture
def staging(world):
    """Two components, the second on the first, deployed."""
    world.components = {
        "networking": {"module": "base", "variables": {"name": "net"}},
        "consul": {"module": "app", "inputs": {"base": "@networking.id"}},
    }
    assert world.deploy()["retcode"] == 0
    return world
