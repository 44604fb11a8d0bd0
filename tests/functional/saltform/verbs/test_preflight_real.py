"""preflight with the real provider and the emulator: everything at once, what is wrong with its fix."""

from __future__ import annotations

import pytest

from hive_emulator.testing import running_emulator
from saltform.config import Settings
from tests.support.world import World

HOSTS = """
variable "instance_type" {
  type    = string
  default = "t3.micro"
}
terraform {
  required_providers {
    aws = { source = "registry.terraform.io/hashicorp/aws" }
  }
}
resource "aws_vpc" "this" { cidr_block = "10.0.0.0/16" }
"""


@pytest.fixture(scope="module")
def hive():
    with running_emulator(options=["--quota", "instances=0"]) as hive:
        yield hive


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """The provider is unpacked once for all tests here."""
    return tmp_path_factory.mktemp("preflight")


@pytest.fixture
def world(cache, hive, monkeypatch):
    world = World(cache)
    world.module("hosts", HOSTS)
    monkeypatch.setenv("KEY_ID", hive.access_key)
    monkeypatch.setenv("KEY", hive.secret_key)
    names = {"AWS_ACCESS_KEY_ID": "KEY_ID", "AWS_SECRET_ACCESS_KEY": "KEY"}
    world.infrastructure["providers"] = {
        "hive": {
            "endpoint": hive.endpoint,
            "region": "ap-southeast-2",
            "credentials": {"environment": {"map": names}},
        }
    }
    world.components = {"hosts": {"module": "hosts", "provider": "hive"}}
    return world


def checks(world):
    services = world.services()
    services.settings = Settings(world.state_dir, (world.home / "modules",))  # the embedded mirror
    returned = world.call("preflight", "staging", None, services=services)
    return returned, {(item["check"], item["component"]): item for item in returned["checks"]}


def test_everything_is_checked_at_once(world):
    returned, found = checks(world)
    good = {name for name, item in found.items() if item["ok"]}
    assert good >= {
        ("backend local", ""),
        ("disk", ""),
        ("mirror", ""),
        ("credentials hive", ""),
        ("instance type", "hosts"),
        ("binary", "hosts"),
        ("module", "hosts"),
    }
    assert "000000000001" in found["credentials hive", ""]["detail"]
    # The emulator was started with no room for instances.
    assert found["instance quota", "hosts"]["detail"] == "0 of 0 instances in use"
    assert returned["retcode"] == 1
    assert "1 of" in returned["summary"]


def test_an_instance_type_that_is_not_offered_is_named(world):
    world.components["hosts"]["variables"] = {"instance_type": "t9.mega"}
    _, found = checks(world)
    assert "t9.mega is not offered" in found["instance type", "hosts"]["detail"]
    assert found["instance type", "hosts"]["fix"]


def test_keys_that_are_not_taken_are_named_by_their_source(world, monkeypatch):
    monkeypatch.setenv("KEY", "wrong-wrong-wrong-wrong")
    _, found = checks(world)
    item = found["credentials hive", ""]
    assert not item["ok"]
    assert "SignatureDoesNotMatch" in item["detail"]
    assert "infrastructure:providers:hive:credentials" in item["fix"]


def test_a_module_that_terraform_refuses_is_shown_with_its_place(world):
    world.module("hosts", HOSTS.replace("cidr_block", "cidr_blok"))
    _, found = checks(world)
    assert not found["module", "hosts"]["ok"]
    assert "cidr_blok" in found["module", "hosts"]["detail"]
