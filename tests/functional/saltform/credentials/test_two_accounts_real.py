"""State in one AWS account, resources in another, one process: real Terraform, S3, provider and Hive endpoint."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hive_emulator.testing import running_emulator
from saltform.config.kinds import KINDS
from saltform.config.types import Backend
from saltform.credentials import backends
from saltform.credentials.check import check
from saltform.credentials.lender import Lender
from tests.support.credentials import component, source
from tests.support.plain_terraform import PlainTerraform, provider_mirrors
from tests.support.planted import CommandLines, report, search_files
from tests.support.seaweedfs import s3_server

pytestmark = pytest.mark.functional

STATE = {
    "AWS_ACCESS_KEY_ID": "AKIASTATEACCOUNT0001",
    "AWS_SECRET_ACCESS_KEY": "secret/of+the/state+account/0123456789",
}


@pytest.fixture(scope="module")
def s3(tmp_path_factory):
    with s3_server(tmp_path_factory.mktemp("s3"), *STATE.values(), "states") as client:
        yield client


@pytest.fixture(scope="module")
def hive():
    with running_emulator() as running:
        yield running


@pytest.fixture
def needs(hive):
    asked = source("pillar", path="hive")
    backend = Backend("s3", credentials=(source("pillar", path="state"),))
    return component(asked, endpoint=hive.endpoint, region=hive.region, backend=backend)


@pytest.fixture
def pillar(hive):
    return {
        "hive": {"AWS_ACCESS_KEY_ID": hive.access_key, "AWS_SECRET_ACCESS_KEY": hive.secret_key},
        "state": STATE,
    }


def root(folder, needs, s3):
    folder.mkdir()
    address = s3.meta.endpoint_url
    skipped = dict.fromkeys(("skip_credentials_validation", "skip_requesting_account_id", "use_path_style"), True)
    bucket = {"bucket": "states", "key": folder.name, "region": "us-east-1", "endpoints": {"s3": address}}
    tags = {"environment": "staging", "component": "llm"}
    tree = {
        "terraform": {
            "required_providers": {"aws": {"source": KINDS["aws"].source}},
            "backend": {"s3": {**bucket, **skipped, **backends.settings("s3")}},
        },
        "provider": {"aws": KINDS["aws"].provider_block(needs.provider, tags)},
        "data": {"aws_caller_identity": {"me": {}}},
        "resource": {"aws_vpc": {"this": {"cidr_block": "10.0.0.0/16"}}},
        "output": {
            "account": {"value": "${data.aws_caller_identity.me.account_id}"},
            "tags": {"value": "${aws_vpc.this.tags_all}"},
        },
    }
    (folder / "main.tf.json").write_text(json.dumps(tree))
    return folder


@pytest.mark.parametrize("mirror", provider_mirrors(), ids=Path)
def test_each_account_serves_its_own_and_no_key_is_in_a_file_or_argument(tmp_path, hive, s3, needs, pillar, mirror):
    with Lender(environ={}, pillar=pillar) as lender, lender.lend(needs) as loan:
        lent = {**loan.environment, **KINDS["aws"].environment(needs.provider)}
        terraform = PlainTerraform(root(tmp_path / "both", needs, s3), tmp_path / "cache", mirror, lent)
        with CommandLines() as lines:
            terraform.init()
            assert terraform.apply() == {"aws_vpc.this": "create"}
            outputs = terraform.outputs()
        assert outputs == {"account": hive.account, "tags": {"environment": "staging", "component": "llm"}}
        state = s3.get_object(Bucket="states", Key="both")["Body"].read()
        assert b"aws_caller_identity" in state
        secrets = {"provider": hive.secret_key, "backend": STATE["AWS_SECRET_ACCESS_KEY"]}
        found = search_files(secrets, tmp_path) + lines.search(secrets)
        assert not found, report(found)
        terraform.destroy()


def test_the_providers_keys_are_not_used_for_the_backend(tmp_path, hive, s3, needs, pillar):
    pillar["state"] = pillar["hive"]
    with Lender(environ={}, pillar=pillar) as lender, lender.lend(needs) as loan:
        terraform = PlainTerraform(root(tmp_path / "wrong", needs, s3), tmp_path / "cache", "auto", loan.environment)
        with pytest.raises(AssertionError, match="InvalidAccessKeyId|403|Access"):
            terraform.init()


def test_the_check_asks_hive_who_we_are(hive, needs, pillar):
    with Lender(environ={}, pillar=pillar) as lender:
        result = check(lender, needs)
    assert result.ok, result.detail
    assert hive.account in result.who
    assert [item.purpose for item in result.served] == ["provider", "backend"]


def test_the_check_says_that_hive_refuses_a_wrong_key(hive, needs, pillar):
    pillar["hive"] = {**pillar["hive"], "AWS_SECRET_ACCESS_KEY": "not-the-secret-key-at-all"}
    with Lender(environ={}, pillar=pillar) as lender:
        result = check(lender, needs)
    assert result.ok is False
    assert "SignatureDoesNotMatch" in result.detail
    assert "not-the-secret-key" not in str(result)
