from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from hive_emulator.config import CloudConfig
from hive_emulator.ec2 import nat_gateways
from hive_emulator.testing import Desk


def shown(desk, nat):
    return desk("DescribeNatGateways", NatGatewayIds=[nat])["NatGateways"][0]


@pytest.fixture
def address(desk):
    return desk("AllocateAddress")["AllocationId"]


@pytest.fixture
def nat(desk, subnet, gateway, address):
    return desk("CreateNatGateway", SubnetId=subnet, AllocationId=address)["NatGateway"]["NatGatewayId"]


def test_a_public_gateway_has_an_interface_with_the_elastic_ip(desk, subnet, nat, address):
    record = shown(desk, nat)
    assert (record["State"], record["ConnectivityType"], record["SubnetId"]) == ("available", "public", subnet)
    [place] = record["NatGatewayAddresses"]
    assert (place["AllocationId"], place["PrivateIp"]) == (address, "10.0.1.4")
    [interface] = desk("DescribeNetworkInterfaces", NetworkInterfaceIds=[place["NetworkInterfaceId"]])[
        "NetworkInterfaces"
    ]
    assert (interface["InterfaceType"], interface["RequesterManaged"]) == ("nat_gateway", True)
    assert interface["Description"] == f"Interface for NAT Gateway {nat}"
    assert interface["Association"]["AllocationId"] == address


def test_a_deleted_one_is_shown_for_an_hour_and_leaves_nothing_behind(
    desk, subnet, nat, address, monkeypatch, refused
):
    desk("DeleteNatGateway", NatGatewayId=nat)
    assert shown(desk, nat)["State"] == "deleted"
    assert "AssociationId" not in desk("DescribeAddresses", AllocationIds=[address])["Addresses"][0]
    in_subnet = desk("DescribeNetworkInterfaces", Filters=[{"Name": "subnet-id", "Values": [subnet]}])
    assert in_subnet["NetworkInterfaces"] == []
    monkeypatch.setattr(nat_gateways, "REMEMBERED", timedelta(seconds=-1))
    with refused("NatGatewayNotFound", nat):
        shown(desk, nat)
    desk("CreateNatGateway", SubnetId=subnet, ConnectivityType="private")
    kept = [
        record["NatGatewayId"] for record in desk.emulator.call(desk.account, desk.region).cloud.all("natgateway")
    ]
    assert nat not in kept and len(kept) == 1


def test_a_private_gateway_needs_neither_address_nor_internet(desk, subnet, refused):
    made = desk("CreateNatGateway", SubnetId=subnet, ConnectivityType="private", PrivateIpAddress="10.0.1.77")
    [place] = made["NatGateway"]["NatGatewayAddresses"]
    assert place["PrivateIp"] == "10.0.1.77" and "PublicIp" not in place


def test_a_public_one_needs_both_and_the_address_free(desk, subnet, address, refused):
    with refused("MissingParameter", "allocationId"):
        desk("CreateNatGateway", SubnetId=subnet)
    with refused("InvalidParameterCombination"):
        desk("CreateNatGateway", SubnetId=subnet, AllocationId=address, ConnectivityType="private")


def test_an_address_that_is_used_is_refused_and_a_gateways_own_can_not_be_taken_off(
    desk, subnet, nat, address, refused
):
    with refused("Resource.AlreadyAssociated", address):
        desk("CreateNatGateway", SubnetId=subnet, AllocationId=address)
    association = desk("DescribeAddresses", AllocationIds=[address])["Addresses"][0]["AssociationId"]
    with refused("AuthFailure", "NAT gateway"):
        desk("DisassociateAddress", AssociationId=association)


def test_gateways_are_found_by_state_subnet_and_vpc(desk, vpc, subnet, nat):
    def found(name, value):
        return [
            each["NatGatewayId"]
            for each in desk("DescribeNatGateways", Filter=[{"Name": name, "Values": [value]}])["NatGateways"]
        ]

    assert found("vpc-id", vpc) == found("subnet-id", subnet) == found("state", "available") == [nat]
    assert found("state", "deleted") == []


def test_times_are_kept_and_a_quota_counts_by_zone(refused):
    desk = Desk(config=CloudConfig(quotas={"nat-gateways-per-zone": 1}))
    home, *_ = desk("DescribeSubnets")["Subnets"]
    made = desk("CreateNatGateway", SubnetId=home["SubnetId"], ConnectivityType="private")["NatGateway"]
    age = datetime.now(timezone.utc) - datetime.fromisoformat(made["CreateTime"].replace("Z", "+00:00"))
    assert age < timedelta(minutes=1)
    with refused("NatGatewayLimitExceeded", "ap-southeast-2a"):
        desk("CreateNatGateway", SubnetId=home["SubnetId"], ConnectivityType="private")


def test_an_unknown_id_is_not_found_and_a_strange_one_malformed(desk, refused):
    with refused("NatGatewayNotFound"):
        shown(desk, "nat-0123456789abcdef0")
    with refused("NatGatewayMalformed"):
        shown(desk, "gateway")


def test_one_for_a_whole_region_is_refused_by_name(desk, vpc, refused):
    with refused("UnsupportedOperation", "AvailabilityMode"):
        desk("CreateNatGateway", AvailabilityMode="regional", VpcId=vpc)


def test_the_address_of_a_gateway_is_not_moved_and_its_interface_gets_no_other(desk, subnet, nat, address, refused):
    place = shown(desk, nat)["NatGatewayAddresses"]
    own = desk("CreateNetworkInterface", SubnetId=subnet)["NetworkInterface"]["NetworkInterfaceId"]
    other = desk("AllocateAddress")["AllocationId"]
    with refused("AuthFailure", "NAT gateway"):
        desk("AssociateAddress", AllocationId=address, NetworkInterfaceId=own)
    with refused("AuthFailure", "NAT gateway"):
        desk("AssociateAddress", AllocationId=other, NetworkInterfaceId=place[0]["NetworkInterfaceId"])
    assert desk("DescribeAddresses", AllocationIds=[address])["Addresses"][0]["AssociationId"]


def test_without_an_internet_gateway_it_is_pending_and_then_failed(desk, subnet, address):
    begun = desk("CreateNatGateway", SubnetId=subnet, AllocationId=address)["NatGateway"]
    assert (begun["State"], "FailureCode" in begun) == ("pending", False)
    failed = shown(desk, begun["NatGatewayId"])
    assert (failed["State"], failed["FailureCode"]) == ("failed", "Gateway.NotAttached")
    assert begun["VpcId"] in failed["FailureMessage"]
    assert "AssociationId" not in desk("DescribeAddresses", AllocationIds=[address])["Addresses"][0]
    desk("DeleteNatGateway", NatGatewayId=begun["NatGatewayId"])
    assert shown(desk, begun["NatGatewayId"])["State"] == "deleted"
    desk("DeleteSubnet", SubnetId=subnet)
