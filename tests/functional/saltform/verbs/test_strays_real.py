"""What a killed terraform made without recording it is found by its tags, and adopted or removed on request."""

from __future__ import annotations

import json

import pytest

from hive_emulator.testing import running_emulator
from saltform.report import text
from tests.support.hive_world import HiveWorld
from tests.support.world import statuses

NET = """
variable "cidr" { type = string }
resource "aws_vpc" "this" { cidr_block = var.cidr }
resource "aws_subnet" "this" {
  vpc_id     = aws_vpc.this.id
  cidr_block = cidrsubnet(var.cidr, 8, 1)
}
output "vpc_id" { value = aws_vpc.this.id }
"""


@pytest.fixture
def hive():
    with running_emulator() as running:
        yield running


@pytest.fixture
def world(tmp_path, hive):
    """A VPC with a subnet, deployed; then its state is lost, as if it had never been recorded."""
    world = HiveWorld(tmp_path, hive)
    world.module("net", NET)
    world.components = {"net": {"module": "net", "provider": "hive", "variables": {"cidr": "10.30.0.0/16"}}}
    assert world.deploy()["retcode"] == 0
    assert world.call("strays", "staging")["retcode"] == 0  # all is in the state
    forget(world)
    return world


def forget(world) -> None:
    path = world.state_dir / "states" / "staging" / "net" / "terraform.tfstate"
    tree = json.loads(path.read_bytes())
    path.write_text(json.dumps(tree | {"resources": [], "serial": tree["serial"] + 1}, indent=2) + "\n")


def ours(hive) -> dict[str, str]:
    """What there is with our tags: id → type."""
    found = hive.client("ec2").describe_tags(Filters=[{"Name": "key", "Values": ["saltform:environment"]}])["Tags"]
    return {tag["ResourceId"]: tag["ResourceType"] for tag in found}


def test_they_are_named_adopted_and_nothing_is_built_twice(world, hive):
    there = ours(hive)
    found = world.call("strays", "staging")
    assert found["retcode"] == 2
    assert {item["id"]: item["type"] for item in found["strays"]} == there
    assert {item["resource"] for item in found["strays"]} == {"aws_vpc", "aws_subnet"}
    assert all(item_id in text.render(found) for item_id in there)
    adopted = world.call("strays", "staging", None, True)
    assert (adopted["retcode"], adopted["strays"]) == (0, []), adopted
    said = {change["address"]: change["action"] for change in adopted["steps"]["net"]["changes"]}
    assert sorted(said.values()) == ["adopted as aws_subnet.this", "adopted as aws_vpc.this"]
    assert statuses(world.deploy())["net"] in ("applied", "unchanged")
    assert ours(hive) == there
    assert world.call("strays", "staging")["strays"] == []


def test_they_are_removed_in_the_right_order_and_what_is_in_a_state_is_not_touched(world, hive):
    lost = ours(hive)
    assert statuses(world.deploy()) == {"net": "applied"}
    both = ours(hive)
    assert len(both) == 2 * len(lost)
    adopted = world.call("strays", "staging", None, True)  # nothing waits to be created any more
    assert {item["id"] for item in adopted["strays"]} == set(lost)
    assert "no planned resource" in adopted["steps"]["net"]["reason"]
    tried = world.call("strays", "staging", None, None, True, None, True)
    assert tried["retcode"] == 2 and len(tried["strays"]) == len(world.call("strays", "staging")["strays"])
    removed = world.call("strays", "staging", None, None, True)
    assert (removed["retcode"], removed["strays"]) == (0, [])
    assert ours(hive).keys() == both.keys() - lost.keys()
    assert statuses(world.deploy()) == {"net": "unchanged"}


def test_what_is_somebody_elses_or_stateful_is_left_alone(world, hive):
    """And bad input, and a provider that doesn't answer."""
    lost = ours(hive)
    assert world.call("strays", "staging", None, True, True)["error"]["summary"] == "bad argument 'remove'"
    provider = world.infrastructure["providers"]["hive"]
    world.infrastructure["providers"]["hive"] = {**provider, "endpoint": "http://127.0.0.1:9"}
    unasked = world.call("strays", "staging")
    assert unasked["strays"] == [] and "can't be asked for" in unasked["notes"][0]
    world.infrastructure["providers"]["hive"] = provider
    world.infrastructure["environments"] = {
        "staging": {"components": world.components, "approval": {"when": "destructive"}}
    }
    waits = world.call("strays", "staging", None, None, True)
    assert "needs approval" in waits["steps"]["net"]["reason"] and ours(hive) == lost
    del world.infrastructure["environments"]
    world.components["net"]["stateful"] = True
    kept = world.call("strays", "staging", None, None, True)
    assert {item["id"] for item in kept["strays"]} == set(lost)
    assert "preserve_data=False" in kept["steps"]["net"]["reason"]
    ec2 = hive.client("ec2")
    ec2.create_tags(Resources=list(lost), Tags=[{"Key": "saltform:run", "Value": "19990101000000000000"}])
    refused = world.call("strays", "staging", None, None, True, False)
    assert {item["why_not"] for item in refused["strays"]} == {"it was made by a run that is not on record here"}
    assert ours(hive) == lost
    run = world.call("show", "last")["run"]["id"]
    ec2.create_tags(Resources=list(lost), Tags=[{"Key": "saltform:run", "Value": run}])
    assert world.call("strays", "staging", None, None, True, False)["strays"] == []
    assert ours(hive) == {}
