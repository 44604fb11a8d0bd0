"""preflight without a cloud: what it says to whoever watches, and what it checks only if somebody needs it."""

from __future__ import annotations

import io

import pytest

from saltform.features.minions.offers import _quota
from saltform.report.progress import Progress
from tests.support.world import World, fake_terraform


@pytest.fixture
def world(tmp_path):
    world = World(tmp_path, fake_terraform(tmp_path))
    world.components = {"networking": {"module": "base", "variables": {"name": "x"}}}
    return world


def preflight(world, **given):
    returned = world.call("preflight", "staging", None, services=world.services(**given))
    return {item["check"]: item for item in returned["checks"]}


def test_whoever_watches_sees_what_failed_as_it_fails(world):
    out = io.StringIO()
    assert not preflight(world, progress=Progress(out))["module"]["ok"]
    assert out.getvalue().endswith("networking failed module\n")


def test_the_mirror_is_said_in_words(world):
    assert preflight(world)["mirror"]["detail"] == str(world.home / "mirror")


def test_local_states_are_checked_only_if_there_are_some(world):
    assert preflight(world)["backend local"]["ok"]
    world.components["networking"]["backend"] = {
        "type": "http",
        "address": "http://127.0.0.1:1/{environment}/{component}",
    }
    found = preflight(world)
    assert "backend local" not in found
    assert not found["backend http"]["ok"]


@pytest.mark.parametrize("attributes", [[], [{"AttributeName": "max-instances", "AttributeValues": []}]])
def test_a_provider_that_does_not_tell_its_quota_is_no_failure(attributes):
    class Ec2:
        def describe_account_attributes(self):
            return {"AccountAttributes": attributes}

    assert _quota(Ec2()) == ("instance quota", True, "the provider doesn't tell how many instances it allows", "")
