"""State in one AWS account, resources in another, one process: a deploy with real Terraform, S3 and provider."""

from __future__ import annotations

import pytest

from hive_emulator.testing import running_emulator
from saltform.credentials.check import check
from saltform.credentials.lender import Lender
from tests.support.credentials import component, source
from tests.support.hive_world import HiveWorld
from tests.support.planted import CommandLines, report, search_files
from tests.support.seaweedfs import s3_server
from tests.support.world import statuses

STATE = {
    "AWS_ACCESS_KEY_ID": "AKIASTATEACCOUNT0001",
    "AWS_SECRET_ACCESS_KEY": "secret/of+the/state+account/0123456789",
}
MODULE = """
data "aws_caller_identity" "me" {}
resource "aws_vpc" "this" { cidr_block = "10.0.0.0/16" }
output "account" { value = data.aws_caller_identity.me.account_id }
output "id" { value = aws_vpc.this.id }
"""
KEY = "staging/net/terraform.tfstate"


@pytest.fixture(scope="module")
def s3(tmp_path_factory):
    with s3_server(tmp_path_factory.mktemp("s3"), *STATE.values(), "states") as client:
        yield client


@pytest.fixture(scope="module")
def hive():
    with running_emulator() as running:
        yield running


@pytest.fixture
def world(tmp_path, hive, s3, monkeypatch):
    made = HiveWorld(tmp_path, hive)
    made.module("net", MODULE)
    for name, value in STATE.items():
        monkeypatch.setenv(f"STATES_{name}", value)
    backend = {"type": "s3", "bucket": "states", "region": "us-east-1", "endpoint": s3.meta.endpoint_url}
    backend["credentials"] = {"environment": {"map": {name: f"STATES_{name}" for name in STATE}}}
    made.components = {"net": {"module": "net", "provider": "hive", "backend": backend}}
    return made


def test_each_account_serves_its_own_and_no_key_is_in_a_file_or_argument(world, hive, s3):
    with CommandLines() as lines:
        deployed = world.deploy()
    assert statuses(deployed) == {"net": "applied"}, deployed
    assert deployed["outputs"]["net"]["account"] == hive.account
    state = s3.get_object(Bucket="states", Key=KEY)["Body"].read()
    assert b"aws_caller_identity" in state
    secrets = {"provider": hive.secret_key, "backend": STATE["AWS_SECRET_ACCESS_KEY"]}
    found = search_files(secrets, world.home) + lines.search(secrets)
    assert not found, report(found)
    assert statuses(world.deploy()) == {"net": "unchanged"}
    assert world.processes.started == []
    served = world.call("credentials", "staging", None, None)["components"]["net"]["served"]
    assert [item["purpose"] for item in served] == ["provider", "backend"]
    assert statuses(world.destroy()) == {"net": "destroyed"}


def test_the_providers_keys_are_not_used_for_the_backend(world, hive, monkeypatch):
    monkeypatch.setenv("STATES_AWS_ACCESS_KEY_ID", hive.access_key)
    monkeypatch.setenv("STATES_AWS_SECRET_ACCESS_KEY", hive.secret_key)
    refused = world.deploy()
    assert statuses(refused) == {"net": "failed"}
    said = str(refused["steps"]["net"]["error"])
    assert "InvalidAccessKeyId" in said and "backend:credentials" in said
    assert hive.secret_key not in said


@pytest.fixture
def needs(hive):
    return component(source("pillar", path="hive"), endpoint=hive.endpoint, region=hive.region)


@pytest.fixture
def pillar(hive):
    return {"hive": {"AWS_ACCESS_KEY_ID": hive.access_key, "AWS_SECRET_ACCESS_KEY": hive.secret_key}}


def test_the_check_asks_hive_who_we_are(hive, needs, pillar):
    with Lender(environ={}, pillar=pillar) as lender:
        result = check(lender, needs)
    assert result.ok, result.detail
    assert hive.account in result.who


def test_the_check_says_that_hive_refuses_a_wrong_key(hive, needs, pillar):
    pillar["hive"] = {**pillar["hive"], "AWS_SECRET_ACCESS_KEY": "not-the-secret-key-at-all"}
    with Lender(environ={}, pillar=pillar) as lender:
        result = check(lender, needs)
    assert result.ok is False
    assert "SignatureDoesNotMatch" in result.detail
    assert "not-the-secret-key" not in str(result)
