from __future__ import annotations

import asyncio
import ipaddress

import pytest

from hive_emulator.config import CloudConfig
from hive_emulator.ec2 import public_addresses
from hive_emulator.ec2.instance_states import state
from hive_emulator.testing import Desk


def interface(desk, subnet, **more):
    return desk("CreateNetworkInterface", SubnetId=subnet, **more)["NetworkInterface"]["NetworkInterfaceId"]


def shown(desk, address):
    return desk("DescribeAddresses", AllocationIds=[address])["Addresses"][0]


def association(desk, interface):
    found = desk("DescribeNetworkInterfaces", NetworkInterfaceIds=[interface])["NetworkInterfaces"][0]
    return found.get("Association")


@pytest.fixture
def address(desk):
    return desk("AllocateAddress", Domain="vpc")["AllocationId"]


def test_an_address_is_one_that_nobody_on_the_internet_has(desk, address):
    record = shown(desk, address)
    assert ipaddress.IPv4Address(record["PublicIp"]) in public_addresses.POOL
    assert (record["Domain"], record["NetworkBorderGroup"]) == ("vpc", "ap-southeast-2")


def test_a_released_address_can_be_asked_for_again(desk, address, refused):
    public = shown(desk, address)["PublicIp"]
    with refused("InvalidAddress.InUse"):
        desk("AllocateAddress", Address=public)
    desk("ReleaseAddress", AllocationId=address)
    assert desk("AllocateAddress", Address=public)["PublicIp"] == public
    with refused("InvalidParameterValue"):
        desk("AllocateAddress", Address="8.8.8.8")


def test_it_is_put_on_an_interface_and_taken_off(desk, subnet, gateway, address, refused):
    place = interface(desk, subnet)
    made = desk("AssociateAddress", AllocationId=address, NetworkInterfaceId=place)["AssociationId"]
    record = shown(desk, address)
    assert (record["AssociationId"], record["NetworkInterfaceId"], record["PrivateIpAddress"]) == (
        made,
        place,
        "10.0.1.4",
    )
    seen = association(desk, place)
    assert (seen["PublicIp"], seen["AllocationId"], seen["IpOwnerId"]) == (record["PublicIp"], address, desk.account)
    desk("DisassociateAddress", AssociationId=made)
    assert association(desk, place) is None
    assert "AssociationId" not in shown(desk, address)
    with refused("InvalidAssociationID.NotFound"):
        desk("DisassociateAddress", AssociationId=made)


def test_without_an_internet_gateway_there_is_no_way_to_a_public_address(desk, vpc, subnet, address, refused):
    with refused("Gateway.NotAttached", vpc):
        desk("AssociateAddress", AllocationId=address, NetworkInterfaceId=interface(desk, subnet))


def test_an_instance_with_several_interfaces_has_to_be_more_precise(desk, subnet, gateway, address, launch, refused):
    host = launch(SubnetId=subnet)
    made = desk("AssociateAddress", AllocationId=address, InstanceId=host["InstanceId"])["AssociationId"]
    desk("DisassociateAddress", AssociationId=made)
    second = interface(desk, subnet)
    desk("AttachNetworkInterface", NetworkInterfaceId=second, InstanceId=host["InstanceId"], DeviceIndex=1)
    with refused("InvalidInstanceID", "multiple interfaces", host["InstanceId"]):
        desk("AssociateAddress", AllocationId=address, InstanceId=host["InstanceId"])
    desk("AssociateAddress", AllocationId=address, NetworkInterfaceId=second)
    assert shown(desk, address)["InstanceId"] == host["InstanceId"]


def test_an_instance_that_is_still_pending_gets_none_yet(desk, address, launch, refused):
    made = launch()["InstanceId"]

    def pending(call):
        call.cloud.put("instance", made, {**call.cloud.get("instance", made), "State": state("pending")})

    asyncio.run(desk.emulator.run(desk.account, desk.region, pending))
    with refused("InvalidInstanceID", "not in a valid state"):
        desk("AssociateAddress", AllocationId=address, InstanceId=made)


def test_it_moves_unless_that_is_forbidden(desk, subnet, gateway, address, refused):
    first, second = interface(desk, subnet), interface(desk, subnet)
    made = desk("AssociateAddress", AllocationId=address, NetworkInterfaceId=first)["AssociationId"]
    again = desk("AssociateAddress", AllocationId=address, NetworkInterfaceId=first)["AssociationId"]
    assert again == made
    with refused("Resource.AlreadyAssociated", address, made):
        desk("AssociateAddress", AllocationId=address, NetworkInterfaceId=second, AllowReassociation=False)
    desk("AssociateAddress", AllocationId=address, NetworkInterfaceId=second)
    assert association(desk, first) is None and association(desk, second)["AllocationId"] == address


def test_each_private_address_can_have_its_own(desk, subnet, gateway, address, refused):
    place = interface(desk, subnet, SecondaryPrivateIpAddressCount=1)
    desk("AssociateAddress", AllocationId=address, NetworkInterfaceId=place, PrivateIpAddress="10.0.1.5")
    assert association(desk, place) is None
    other = desk("AllocateAddress")["AllocationId"]
    desk("AssociateAddress", AllocationId=other, NetworkInterfaceId=place)
    assert association(desk, place)["AllocationId"] == other
    desk("UnassignPrivateIpAddresses", NetworkInterfaceId=place, PrivateIpAddresses=["10.0.1.5"])
    assert "AssociationId" not in shown(desk, address)
    with refused("InvalidParameterValue", "10.0.1.5"):
        desk("AssociateAddress", AllocationId=address, NetworkInterfaceId=place, PrivateIpAddress="10.0.1.5")


def test_a_second_address_pushes_the_first_one_off(desk, subnet, gateway, address):
    place = interface(desk, subnet)
    desk("AssociateAddress", AllocationId=address, NetworkInterfaceId=place)
    other = desk("AllocateAddress")["AllocationId"]
    desk("AssociateAddress", AllocationId=other, NetworkInterfaceId=place)
    assert "AssociationId" not in shown(desk, address)
    assert association(desk, place)["AllocationId"] == other


def test_a_deleted_interface_lets_its_address_go(desk, subnet, gateway, address):
    place = interface(desk, subnet)
    desk("AssociateAddress", AllocationId=address, NetworkInterfaceId=place)
    desk("DeleteNetworkInterface", NetworkInterfaceId=place)
    assert "AssociationId" not in shown(desk, address)
    desk("ReleaseAddress", AllocationId=address)


def test_in_the_default_vpc_releasing_takes_it_off(desk, address):
    home, *_ = desk("DescribeSubnets", Filters=[{"Name": "default-for-az", "Values": ["true"]}])["Subnets"]
    place = interface(desk, home["SubnetId"])
    desk("AssociateAddress", AllocationId=address, NetworkInterfaceId=place)
    desk("ReleaseAddress", AllocationId=address)
    assert association(desk, place) is None


def test_addresses_are_found_by_public_address_and_their_errors_name_them(desk, address, refused):
    public = shown(desk, address)["PublicIp"]
    assert desk("DescribeAddresses", PublicIps=[public])["Addresses"][0]["AllocationId"] == address
    by_filter = desk("DescribeAddresses", Filters=[{"Name": "public-ip", "Values": [public]}])
    assert len(by_filter["Addresses"]) == 1
    attributes = desk("DescribeAddressesAttribute", AllocationIds=[address], Attribute="domain-name")
    assert attributes["Addresses"] == [{"PublicIp": public, "AllocationId": address}]
    with refused("InvalidAddress.NotFound", "198.18.0.1"):
        desk("DescribeAddresses", PublicIps=["198.18.0.1"])
    with refused("InvalidAllocationID.NotFound"):
        shown(desk, "eipalloc-0123456789abcdef0")
    with refused("MissingParameter"):
        desk("ReleaseAddress")


def test_a_quota_can_be_set(refused):
    desk = Desk(config=CloudConfig(quotas={"addresses": 1}))
    desk("AllocateAddress")
    with refused("AddressLimitExceeded"):
        desk("AllocateAddress")
