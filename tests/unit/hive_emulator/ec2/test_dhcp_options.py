"""DHCP options: made, given to VPCs, deleted."""

from __future__ import annotations

import pytest

SERVERS = [{"Key": "domain-name-servers", "Values": ["10.0.0.2", "10.0.0.3"]}]


@pytest.fixture
def options(desk):
    return desk("CreateDhcpOptions", DhcpConfigurations=SERVERS)["DhcpOptions"]["DhcpOptionsId"]


def of_vpc(desk, vpc):
    return desk("DescribeVpcs", VpcIds=[vpc])["Vpcs"][0]["DhcpOptionsId"]


def test_what_was_given_is_shown_and_found(desk, options):
    [shown] = desk("DescribeDhcpOptions", DhcpOptionsIds=[options])["DhcpOptions"]
    assert shown["DhcpConfigurations"] == [
        {"Key": "domain-name-servers", "Values": [{"Value": "10.0.0.2"}, {"Value": "10.0.0.3"}]}
    ]
    found = desk("DescribeDhcpOptions", Filters=[{"Name": "value", "Values": ["10.0.0.3"]}])["DhcpOptions"]
    assert [each["DhcpOptionsId"] for each in found] == [options]


def test_a_vpc_takes_them_and_goes_back_to_the_default(desk, vpc, options, refused):
    assert of_vpc(desk, vpc) == "dopt-default"
    desk("AssociateDhcpOptions", VpcId=vpc, DhcpOptionsId=options)
    assert of_vpc(desk, vpc) == options
    with refused("DependencyViolation", options):
        desk("DeleteDhcpOptions", DhcpOptionsId=options)
    desk("AssociateDhcpOptions", VpcId=vpc, DhcpOptionsId="default")
    assert of_vpc(desk, vpc) == "dopt-default"
    desk("DeleteDhcpOptions", DhcpOptionsId=options)
    for action, more in (("DeleteDhcpOptions", {}), ("AssociateDhcpOptions", {"VpcId": vpc})):
        with refused("InvalidDhcpOptionID.NotFound", options):
            desk(action, DhcpOptionsId=options, **more)
    with refused("InvalidParameterValue", "dopt-default"):
        desk("DeleteDhcpOptions", DhcpOptionsId="dopt-default")


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"Key": "colour", "Values": ["red"]}, "colour"),
        ({"Key": "domain-name"}, "domain-name"),
        ({"Key": "ntp-servers", "Values": ["10.0.0.1"] * 5}, "1 to 4"),
        ({"Key": "netbios-node-type", "Values": ["3"]}, "1, 2, 4, 8"),
    ],
)
def test_options_that_cannot_be_are_refused(desk, refused, given, word):
    with refused("InvalidParameterValue", word):
        desk("CreateDhcpOptions", DhcpConfigurations=[given])
