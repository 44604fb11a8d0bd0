from __future__ import annotations

import ipaddress

import pytest


def make(desk, vpc, block, **more):
    return desk("CreateSubnet", VpcId=vpc, CidrBlock=block, **more)["Subnet"]


def available(desk, subnet):
    return desk("DescribeSubnets", SubnetIds=[subnet])["Subnets"][0]["AvailableIpAddressCount"]


def interface(desk, subnet, **more):
    return desk("CreateNetworkInterface", SubnetId=subnet, **more)["NetworkInterface"]


def test_a_subnet_has_all_addresses_but_five_and_a_zone_of_the_region(desk, vpc):
    subnet = make(desk, vpc, "10.0.1.0/24")
    assert subnet["AvailableIpAddressCount"] == 251
    assert (subnet["AvailabilityZone"], subnet["AvailabilityZoneId"]) == ("ap-southeast-2a", "apse2-az1")
    assert subnet["SubnetArn"].endswith(f":subnet/{subnet['SubnetId']}")
    by_id = make(desk, vpc, "10.0.2.0/24", AvailabilityZoneId="apse2-az3")
    assert by_id["AvailabilityZone"] == "ap-southeast-2c"


def test_an_unknown_zone_is_refused_with_the_names_of_the_known_ones(desk, vpc, refused):
    with refused("InvalidParameterValue", "us-east-1a", "ap-southeast-2a, ap-southeast-2b, ap-southeast-2c"):
        make(desk, vpc, "10.0.1.0/24", AvailabilityZone="us-east-1a")


@pytest.mark.parametrize(
    ("block", "code"),
    [
        ("10.1.0.0/24", "InvalidSubnet.Range"),
        ("10.0.0.0/29", "InvalidSubnet.Range"),
        ("10.0.0.0/15", "InvalidSubnet.Range"),
        ("10.0.1.128/25", "InvalidSubnet.Conflict"),
        ("10.0.0.0/16", "InvalidSubnet.Conflict"),
        ("10.0.1.0/24", "InvalidSubnet.Conflict"),
        ("10.0.1", "InvalidParameterValue"),
    ],
)
def test_a_block_outside_the_vpc_or_across_another_subnet_is_refused(desk, vpc, subnet, refused, block, code):
    with refused(code):
        make(desk, vpc, block)


def test_addresses_are_given_out_in_order_and_counted_and_come_back_late(desk, vpc):
    subnet = make(desk, vpc, "10.0.3.0/28")["SubnetId"]
    first, second = interface(desk, subnet), interface(desk, subnet)
    assert [first["PrivateIpAddress"], second["PrivateIpAddress"]] == ["10.0.3.4", "10.0.3.5"]
    assert available(desk, subnet) == 9
    desk("DeleteNetworkInterface", NetworkInterfaceId=first["NetworkInterfaceId"])
    assert available(desk, subnet) == 10
    assert interface(desk, subnet)["PrivateIpAddress"] == "10.0.3.6"


def test_a_full_subnet_refuses_and_a_freed_address_is_found_again(desk, vpc, refused):
    subnet = make(desk, vpc, "10.0.3.0/28")["SubnetId"]
    held = [interface(desk, subnet) for _ in range(11)]
    assert {each["PrivateIpAddress"] for each in held} == {f"10.0.3.{number}" for number in range(4, 15)}
    with refused("InsufficientFreeAddressesInSubnet", subnet):
        interface(desk, subnet)
    desk("DeleteNetworkInterface", NetworkInterfaceId=held[3]["NetworkInterfaceId"])
    assert interface(desk, subnet)["PrivateIpAddress"] == held[3]["PrivateIpAddress"]


@pytest.mark.parametrize(
    ("address", "code"),
    [
        ("10.0.1.0", "InvalidParameterValue"),
        ("10.0.1.3", "InvalidParameterValue"),
        ("10.0.1.255", "InvalidParameterValue"),
        ("10.0.2.9", "InvalidParameterValue"),
        ("ten", "InvalidParameterValue"),
        ("10.0.1.10", "InvalidIPAddress.InUse"),
    ],
)
def test_an_address_that_is_reserved_elsewhere_or_taken_is_refused(desk, subnet, refused, address, code):
    interface(desk, subnet, PrivateIpAddress="10.0.1.10")
    with refused(code):
        interface(desk, subnet, PrivateIpAddress=address)
    assert available(desk, subnet) == 250


def test_attributes_change(desk, subnet, refused):
    desk("ModifySubnetAttribute", SubnetId=subnet, MapPublicIpOnLaunch={"Value": True})
    desk("ModifySubnetAttribute", SubnetId=subnet, PrivateDnsHostnameTypeOnLaunch="resource-name")
    desk("ModifySubnetAttribute", SubnetId=subnet, EnableResourceNameDnsARecordOnLaunch={"Value": True})
    [shown] = desk("DescribeSubnets", SubnetIds=[subnet])["Subnets"]
    assert shown["MapPublicIpOnLaunch"] is True
    assert shown["PrivateDnsNameOptionsOnLaunch"] == {
        "HostnameType": "resource-name",
        "EnableResourceNameDnsARecord": True,
        "EnableResourceNameDnsAAAARecord": False,
    }
    with refused("InvalidParameterValue", "IPv6"):
        desk("ModifySubnetAttribute", SubnetId=subnet, AssignIpv6AddressOnCreation={"Value": True})
    with refused("InvalidParameterCombination"):
        desk("ModifySubnetAttribute", SubnetId=subnet)
    with refused("InvalidParameterCombination", "2 were given"):
        both = {"MapPublicIpOnLaunch": {"Value": True}, "EnableDns64": {"Value": True}}
        desk("ModifySubnetAttribute", SubnetId=subnet, **both)


@pytest.fixture
def six(desk):
    """A VPC with IPv6: its id and the blocks of 64 bits that its own has room for."""
    made = desk("CreateVpc", CidrBlock="10.0.0.0/16", AmazonProvidedIpv6CidrBlock=True)["Vpc"]
    block = ipaddress.IPv6Network(made["Ipv6CidrBlockAssociationSet"][0]["Ipv6CidrBlock"])
    return made["VpcId"], [str(each) for each in block.subnets(new_prefix=64)]


def test_ipv6_blocks_are_64_bits_of_the_vpcs_and_do_not_overlap(desk, six, refused):
    vpc, blocks = six
    first = make(desk, vpc, "10.0.1.0/24", Ipv6CidrBlock=blocks[1])
    assert first["Ipv6CidrBlockAssociationSet"][0]["Ipv6CidrBlock"]
    with refused("InvalidSubnet.Conflict"):
        make(desk, vpc, "10.0.2.0/24", Ipv6CidrBlock=blocks[1])
    with refused("InvalidSubnet.Range"):
        make(desk, vpc, "10.0.2.0/24", Ipv6CidrBlock=blocks[0].replace("/64", "/60"))
    with refused("InvalidSubnet.Range"):
        make(desk, vpc, "10.0.2.0/24", Ipv6CidrBlock="2001:db8::/64")


def test_an_ipv6_block_can_come_and_go_but_not_while_it_is_used(desk, six, refused):
    vpc, blocks = six
    subnet = make(desk, vpc, "10.0.1.0/24")["SubnetId"]
    added = desk("AssociateSubnetCidrBlock", SubnetId=subnet, Ipv6CidrBlock=blocks[7])
    desk("ModifySubnetAttribute", SubnetId=subnet, AssignIpv6AddressOnCreation={"Value": True})
    made = interface(desk, subnet)
    assert len(made["Ipv6Addresses"]) == 1
    its_id = added["Ipv6CidrBlockAssociation"]["AssociationId"]
    with refused("InvalidCidrBlock.InUse", made["NetworkInterfaceId"]):
        desk("DisassociateSubnetCidrBlock", AssociationId=its_id)
    desk("DeleteNetworkInterface", NetworkInterfaceId=made["NetworkInterfaceId"])
    desk("DisassociateSubnetCidrBlock", AssociationId=its_id)
    with refused("InvalidSubnetCidrBlockAssociationID.NotFound"):
        desk("DisassociateSubnetCidrBlock", AssociationId=its_id)


def test_a_deleted_subnet_leaves_no_association_behind(desk, vpc, subnet):
    table = desk("CreateRouteTable", VpcId=vpc)["RouteTable"]["RouteTableId"]
    desk("AssociateRouteTable", RouteTableId=table, SubnetId=subnet)
    desk("DeleteSubnet", SubnetId=subnet)
    assert desk("DescribeRouteTables", RouteTableIds=[table])["RouteTables"][0]["Associations"] == []
    acls = desk("DescribeNetworkAcls", Filters=[{"Name": "association.subnet-id", "Values": [subnet]}])
    assert acls["NetworkAcls"] == []


def test_describe_by_zone_by_vpc_and_by_block(desk, vpc, subnet):
    def found(**filters):
        wanted = [{"Name": name.replace("_", "-"), "Values": [value]} for name, value in filters.items()]
        return [each["SubnetId"] for each in desk("DescribeSubnets", Filters=wanted)["Subnets"]]

    assert found(vpc_id=vpc) == [subnet]
    assert found(cidr_block="10.0.1.0/24") == found(cidrBlock="10.0.*") == [subnet]
    assert subnet in found(availability_zone="ap-southeast-2a")
    assert subnet not in found(availability_zone="ap-southeast-2b")
    assert found(available_ip_address_count="251") == [subnet]


class TestIpv6Native:
    def test_it_has_no_ipv4_block_and_its_interfaces_have_ipv6_addresses_only(self, desk):
        vpc = desk("CreateVpc", CidrBlock="10.7.0.0/16", AmazonProvidedIpv6CidrBlock=True)["Vpc"]
        block = vpc["Ipv6CidrBlockAssociationSet"][0]["Ipv6CidrBlock"].replace("/56", "/64")
        made = desk("CreateSubnet", VpcId=vpc["VpcId"], Ipv6Native=True, Ipv6CidrBlock=block)["Subnet"]
        assert (made["Ipv6Native"], made["AssignIpv6AddressOnCreation"], "CidrBlock" in made) == (True, True, False)
        interface = desk("CreateNetworkInterface", SubnetId=made["SubnetId"])["NetworkInterface"]
        assert (len(interface["Ipv6Addresses"]), interface["PrivateIpAddresses"]) == (1, [])
        assert interface["PrivateIpAddress"] is None
        desk(
            "CreateSubnet", VpcId=vpc["VpcId"], CidrBlock="10.7.0.0/24"
        )  # the other one has no block to be in its way

    @pytest.mark.parametrize(
        ("params", "code", "word"),
        [
            ({"Ipv6Native": True}, "MissingParameter", "ipv6CidrBlock"),
            ({"Ipv6Native": True, "Ipv6CidrBlock": "2600::/64", "CidrBlock": "10.0.2.0/24"},
             "InvalidParameterCombination", "ipv6Native"),
            ({}, "MissingParameter", "cidrBlock"),
        ],
    )  # fmt: skip
    def test_what_it_cannot_be_is_refused(self, desk, refused, vpc, params, code, word):
        with refused(code, word):
            desk("CreateSubnet", VpcId=vpc, **params)
