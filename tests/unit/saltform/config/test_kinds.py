"""The table of provider kinds."""

from __future__ import annotations

import json

import pytest

from saltform.config.kinds import KINDS, validate_provider
from saltform.config.types import Provider

HIVE = Provider("hive", "aws", endpoint="https://127.0.0.1:9999", region="ap-southeast-2", ca="/etc/hive/ca.pem")


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_a_kind_is_whole(kind):
    assert kind.secret <= kind.variables
    assert all(
        way & kind.secret or any(name.endswith(("_PATH", "_FILE", "_URI", "_OIDC", "_CREDENTIALS")) for name in way)
        for way in kind.ways
    )
    provider = Provider("p", kind.name, endpoint="https://x", region="r", ca="/ca.pem")
    block = kind.provider_block(provider, {"environment": "staging"})
    assert not kind.never & set(block)
    json.dumps(block)
    assert kind.environment(provider)[kind.ca_variable] == "/ca.pem"
    assert not kind.secret & set(kind.environment(provider))


def test_hive_is_aws_at_another_address():
    block = KINDS["aws"].provider_block(HIVE, {"environment": "staging"})
    assert block["endpoints"] == dict.fromkeys(("ec2", "iam", "ssm", "sts"), "https://127.0.0.1:9999")
    assert block["region"] == "ap-southeast-2"
    assert block["skip_region_validation"] is True
    assert block["default_tags"] == {"tags": {"environment": "staging"}}
    assert KINDS["aws"].environment(HIVE) == {"AWS_CA_BUNDLE": "/etc/hive/ca.pem"}
    assert KINDS["hive"].provider_block(HIVE, {}) == KINDS["aws"].provider_block(HIVE, {})


def test_aws_proper_gets_no_endpoint_and_no_skipped_check():
    block = KINDS["aws"].provider_block(Provider("aws", "aws", region="eu-west-1"), {})
    assert block == {"region": "eu-west-1", "max_retries": 5}


def test_settings_from_pillar_win_map_by_map():
    provider = Provider(
        "hive", "aws", endpoint="https://a", settings={"endpoints": {"s3": "https://b"}, "max_retries": 2}
    )
    block = KINDS["aws"].provider_block(provider, {})
    assert block["endpoints"] == {
        "ec2": "https://a",
        "iam": "https://a",
        "ssm": "https://a",
        "sts": "https://a",
        "s3": "https://b",
    }
    assert block["max_retries"] == 2


@pytest.mark.parametrize("kind", ["aws", "hive"])
def test_aws_retries_by_itself_only_as_often_as_throttling_stays_visible(kind):
    assert KINDS[kind].provider_block(Provider("a", kind), {})["max_retries"] == 5
    assert KINDS[kind].provider_block(Provider("a", kind, settings={"max_retries": 25}), {})["max_retries"] == 25


def test_google_labels_are_made_of_what_google_allows():
    block = KINDS["gcp"].provider_block(Provider("g", "gcp"), {"Run": "20261116T033000-ab12"})
    assert block["default_labels"] == {"run": "20261116t033000-ab12"}


@pytest.mark.parametrize(
    ("kind", "have", "missing"),
    [
        ("aws", {"AWS_ACCESS_KEY_ID"}, {"AWS_SECRET_ACCESS_KEY"}),
        ("aws", {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"}, set()),
        ("azure", {"ARM_CLIENT_ID", "ARM_CLIENT_SECRET", "ARM_SUBSCRIPTION_ID"}, {"ARM_TENANT_ID"}),
        ("proxmox", {"PROXMOX_VE_USERNAME"}, {"PROXMOX_VE_PASSWORD"}),
        ("generic", set(), set()),
    ],
)
def test_missing_is_what_the_begun_way_lacks(kind, have, missing):
    assert KINDS[kind].missing(have) == missing


def test_a_secret_in_provider_settings_is_a_problem_with_its_path():
    provider = Provider("aws", "aws", settings={"secret_key": "hunter2hunter2", "max_retries": 3})
    (problem,) = validate_provider(provider, "infrastructure:providers:aws")
    assert problem.path == "infrastructure:providers:aws:settings:secret_key"
    assert "hunter2" not in str(problem)


def test_a_generic_provider_must_say_its_source():
    (problem,) = validate_provider(Provider("x", "generic"), "infrastructure:providers:x")
    assert problem.path.endswith(":source")
    assert not validate_provider(Provider("x", "generic", source="registry.terraform.io/a/b"), "p")
