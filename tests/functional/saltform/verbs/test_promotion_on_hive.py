"""Promotion and rollback with the real aws provider: what production has, and whose volumes stay."""

from __future__ import annotations

import pytest

from hive_emulator.testing import running_emulator
from tests.support.hive_world import HiveWorld
from tests.support.world import statuses

NETWORK = """
variable "name" { type = string }
variable "cidr" { type = string }
resource "aws_vpc" "this" {
  cidr_block = var.cidr
  tags       = { Name = var.name, Version = "VERSION" }
}
output "vpc_id" { value = aws_vpc.this.id }
output "version" { value = aws_vpc.this.tags.Version }
"""
DATABASE = """
variable "zone" { type = string }
variable "volumes" { type = number }
variable "network" { type = string }
resource "aws_ebs_volume" "data" {
  count             = var.volumes
  availability_zone = var.zone
  size              = 8
  tags              = { Network = var.network }
}
output "ids" { value = aws_ebs_volume.data[*].id }
"""
WEB = """
variable "vpc_id" { type = string }
resource "aws_security_group" "this" {
  name   = "web VERSION"
  vpc_id = var.vpc_id
}
output "name" { value = aws_security_group.this.name }
"""


def write(world, version):
    for name, text in (("network", NETWORK), ("database", DATABASE), ("web", WEB)):
        world.module(name, text.replace("VERSION", version))


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Staging is on the Hive; production is promoted from it."""
    with running_emulator() as hive:
        made = HiveWorld(tmp_path_factory.mktemp("hive"), hive)
        made.ec2 = hive.client("ec2")
        made.zone = f"{hive.region}a"
        write(made, "one")
        made.components = {
            "networking": {
                "module": "network",
                "provider": "hive",
                "variables": {"name": "staging", "cidr": "10.20.0.0/16"},
            },
            "web": {"module": "web", "provider": "hive", "inputs": {"vpc_id": "@networking.vpc_id"}},
        }
        own = {"networking": {"variables": {"name": "production", "cidr": "10.30.0.0/16"}}}
        made.infrastructure["environments"] = {"production": {"promoted_from": "staging", "components": own}}
        deployed = made.deploy()
        assert deployed["retcode"] == 0, deployed
        yield made
        made.ec2.close()


def outputs(world, environment):
    return world.call("outputs", environment, None)["outputs"]


def volumes(world):
    return {volume["VolumeId"]: volume["CreateTime"] for volume in world.ec2.describe_volumes()["Volumes"]}


def test_production_ends_with_stagings_releases_after_the_files_were_changed_in_between(world):
    proved = world.call("releases", "staging")["components"]
    write(world, "two")  # nobody has proved this
    returned = world.call("promote", "staging", "production", {})
    assert returned["retcode"] == 0, returned
    told = world.call("releases", "production")
    assert told["pillar"]["infrastructure"]["releases"]["production"] == {
        name: item["release"] for name, item in proved.items()
    }
    for name, item in told["components"].items():
        assert (item["module"], item["providers"]) == (proved[name]["module"], proved[name]["providers"])
    found = outputs(world, "production")
    assert (found["networking"]["version"], found["web"]["name"]) == ("one", "web one")
    vpcs = {vpc["VpcId"]: vpc["CidrBlock"] for vpc in world.ec2.describe_vpcs()["Vpcs"]}
    assert vpcs[found["networking"]["vpc_id"]] == "10.30.0.0/16"
    assert set(statuses(world.call("deploy", "production", {})).values()) == {"unchanged"}
    assert world.call("diff", "staging", "production")["retcode"] == 0


def test_the_databases_neighbours_go_back_and_its_volumes_are_untouched(world):
    write(world, "one")
    database = {"module": "database", "provider": "hive", "stateful": True}
    world.components["database"] = database | {
        "inputs": {"network": "@networking.vpc_id"},
        "variables": {"zone": world.zone, "volumes": 1},
    }
    world.components["web"]["needs"] = ["database"]
    assert world.deploy()["retcode"] == 0
    write(world, "three")
    world.components["database"]["variables"]["volumes"] = 2
    assert world.deploy()["retcode"] == 0
    assert outputs(world, "staging")["web"]["name"] == "web three"
    before = volumes(world)
    returned = world.call("rollback", "staging", {})
    assert returned["retcode"] == 0, returned
    assert statuses(returned) == {"networking": "rolled back", "database": "unchanged", "web": "rolled back"}
    assert any("database: kept with its data" in note for note in returned["notes"])
    found = outputs(world, "staging")
    assert (found["networking"]["version"], found["web"]["name"]) == ("one", "web one")
    assert len(found["database"]["ids"]) == 2
    assert volumes(world) == before
