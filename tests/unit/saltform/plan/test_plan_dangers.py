"""What is dangerous is found, and what only looks like it is not."""

from __future__ import annotations

import pytest

from saltform.plan import UNKNOWN, Change, dangers
from saltform.plan.dangers import holds_data, is_anywhere


def found(kind, action="update", before=None, after=None):
    return [(each.rule, each.why) for each in dangers([Change(f"{kind}.x", kind, action, before, after)])]


@pytest.mark.parametrize(
    "kind",
    "aws_ebs_volume aws_db_instance aws_rds_cluster aws_ebs_snapshot aws_s3_bucket aws_dynamodb_table "
    "aws_efs_file_system azurerm_managed_disk azurerm_mssql_database azurerm_storage_account hcloud_volume "
    "google_sql_database_instance aws_secretsmanager_secret aws_kms_key".split(),
)
def test_these_hold_data(kind):
    assert holds_data(kind)


@pytest.mark.parametrize(
    "kind",
    "aws_volume_attachment aws_db_subnet_group aws_s3_bucket_policy aws_db_parameter_group aws_instance aws_vpc "
    "terraform_data hcloud_volume_attachment aws_s3_bucket_public_access_block aws_kms_alias".split(),
)
def test_these_hold_none(kind):
    assert not holds_data(kind)


def test_destroying_and_replacing_data_is_dangerous_and_changing_it_is_not():
    assert found("aws_ebs_volume", "delete") == [("data-destroyed", "holds data and would be destroyed")]
    assert found("aws_ebs_volume", "replace") == [("data-destroyed", "holds data and would be replaced")]
    assert found("aws_ebs_volume", "update", {"size": 1}, {"size": 2}) == []
    assert found("aws_ebs_volume", "create", None, {"size": 2}) == []


SSH = {"from_port": 22, "to_port": 22}


@pytest.mark.parametrize(
    ("kind", "after", "why"),
    [
        (
            "aws_security_group",
            {"ingress": [{**SSH, "cidr_blocks": ["10.0.0.0/8", "0.0.0.0/0"]}]},
            "0.0.0.0/0 in to port 22",
        ),
        (
            "aws_security_group",
            {"ingress": [{"from_port": 0, "to_port": 0, "ipv6_cidr_blocks": ["::/0"]}]},
            "::/0 in",
        ),
        (
            "aws_security_group_rule",
            {"type": "ingress", **SSH, "cidr_blocks": ["128.0.0.0/1"]},
            "128.0.0.0/1 in to port 22",
        ),
        (
            "aws_vpc_security_group_ingress_rule",
            {"from_port": 1, "to_port": 9, "cidr_ipv4": "0.0.0.0/0"},
            "0.0.0.0/0 in to ports 1 to 9",
        ),
        (
            "azurerm_network_security_rule",
            {"access": "Allow", "source_address_prefix": "*", "destination_port_range": "3389"},
            "* in to port 3389",
        ),
        (
            "hcloud_firewall",
            {"rule": [{"direction": "in", "port": "22", "source_ips": ["0.0.0.0/0"]}]},
            "0.0.0.0/0 in to port 22",
        ),
        ("google_compute_firewall", {"source_ranges": ["0.0.0.0/0"]}, "0.0.0.0/0 in"),
    ],
)
def test_a_rule_for_the_whole_world_is_dangerous(kind, after, why):
    assert found(kind, "create", None, after) == [("open-to-world", f"lets {why}")]


@pytest.mark.parametrize(
    ("kind", "before", "after"),
    [
        ("aws_security_group", {}, {"egress": [{"cidr_blocks": ["0.0.0.0/0"]}]}),
        ("aws_security_group_rule", {}, {"type": "egress", "cidr_blocks": ["0.0.0.0/0"]}),
        ("azurerm_network_security_rule", {}, {"access": "Deny", "source_address_prefix": "*"}),
        ("aws_security_group", {}, {"ingress": [{"cidr_blocks": ["10.0.0.0/8"]}]}),
        ("aws_security_group", {}, {"ingress": [{"cidr_blocks": UNKNOWN}]}),
        ("aws_route", {}, {"cidr_block": "0.0.0.0/0"}),
    ],
)
def test_what_goes_out_is_refused_or_is_our_own_net_is_not(kind, before, after):
    assert found(kind, "update", before, after) == []


def test_a_rule_that_was_open_before_is_no_news():
    rule = {"from_port": 80, "to_port": 80, "cidr_blocks": ["0.0.0.0/0"]}
    other = {"from_port": 22, "to_port": 22, "cidr_blocks": ["0.0.0.0/0"]}
    assert found("aws_security_group", "update", {"ingress": [rule]}, {"ingress": [rule, other]}) == [
        ("open-to-world", "lets 0.0.0.0/0 in to port 22")
    ]


def test_public_addresses():
    assert found("aws_eip", "create", None, {}) == [("public-address", "is a public address")]
    said = [("public-address", "can be reached from the internet: publicly_accessible is true")]
    assert found("aws_db_instance", "update", {"publicly_accessible": False}, {"publicly_accessible": True}) == said
    assert found("aws_db_instance", "update", {"publicly_accessible": True}, {"publicly_accessible": True}) == []
    assert found("aws_subnet", "create", None, {"map_public_ip_on_launch": True})[0][0] == "public-address"
    assert found("aws_instance", "create", None, {"associate_public_ip_address": UNKNOWN}) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"disable_api_termination": True}, {"disable_api_termination": False}),
        ({"deletion_protection": True}, {"deletion_protection": None}),
        ({"skip_final_snapshot": False}, {"skip_final_snapshot": True}),
        ({"force_destroy": None}, {"force_destroy": True}),
    ],
)
def test_protection_that_goes_is_dangerous_and_protection_that_comes_is_not(before, after):
    assert [rule for rule, _ in found("aws_thing", "update", before, after)] == ["protection-removed"]
    assert found("aws_thing", "update", after, before) == []
    assert found("aws_thing", "update", before, before) == []


@pytest.mark.parametrize("source", ["10.0.0.0/8", "nonsense", "192.0.2.1", None, 5, "sg-1234"])
def test_not_the_whole_world(source):
    assert not is_anywhere(source)
