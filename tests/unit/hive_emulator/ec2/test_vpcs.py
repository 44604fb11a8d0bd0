from __future__ import annotations

import ipaddress

import pytest

from hive_emulator.config import CloudConfig
from hive_emulator.testing import Desk


def of_vpc(desk, action, member, vpc):
    return desk(action, Filters=[{"Name": "vpc-id", "Values": [vpc]}])[member]


def test_a_vpc_comes_with_a_main_route_table_a_default_group_and_a_default_acl(desk, vpc):
    [table] = of_vpc(desk, "DescribeRouteTables", "RouteTables", vpc)
    assert [each["Main"] for each in table["Associations"]] == [True]
    assert [(each["DestinationCidrBlock"], each["GatewayId"], each["State"]) for each in table["Routes"]] == [
        ("10.0.0.0/16", "local", "active")
    ]
    [group] = of_vpc(desk, "DescribeSecurityGroups", "SecurityGroups", vpc)
    assert (group["GroupName"], group["Description"]) == ("default", "default VPC security group")
    assert group["IpPermissions"][0]["UserIdGroupPairs"][0]["GroupId"] == group["GroupId"]
    assert group["IpPermissionsEgress"][0]["IpRanges"] == [{"CidrIp": "0.0.0.0/0"}]
    [acl] = of_vpc(desk, "DescribeNetworkAcls", "NetworkAcls", vpc)
    assert acl["IsDefault"] and len(acl["Entries"]) == 4


def test_they_go_with_the_vpc(desk, vpc, refused):
    desk("DeleteVpc", VpcId=vpc)
    for action, member in (
        ("DescribeRouteTables", "RouteTables"),
        ("DescribeSecurityGroups", "SecurityGroups"),
        ("DescribeNetworkAcls", "NetworkAcls"),
    ):
        assert of_vpc(desk, action, member, vpc) == []
    with refused("InvalidVpcID.NotFound", f"The vpc ID '{vpc}' does not exist"):
        desk("DescribeVpcs", VpcIds=[vpc])


def test_host_bits_of_the_block_are_cut_off(desk):
    assert desk("CreateVpc", CidrBlock="10.1.2.3/16")["Vpc"]["CidrBlock"] == "10.1.0.0/16"


@pytest.mark.parametrize(
    ("block", "code"),
    [
        ("10.0.0.0/15", "InvalidVpc.Range"),
        ("10.0.0.0/29", "InvalidVpc.Range"),
        ("0.0.0.0/16", "InvalidVpc.Range"),
        ("127.0.0.0/16", "InvalidVpc.Range"),
        ("169.254.0.0/16", "InvalidVpc.Range"),
        ("224.0.0.0/16", "InvalidVpc.Range"),
        ("10.0.0.0", "InvalidParameterValue"),
        ("10.0.0.256/16", "InvalidParameterValue"),
        ("fd00::/16", "InvalidParameterValue"),
        ("banana", "InvalidParameterValue"),
    ],
)
def test_a_block_that_is_no_vpc_block_is_refused(desk, refused, block, code):
    with refused(code, block):
        desk("CreateVpc", CidrBlock=block)


def test_a_vpc_of_dedicated_hosts_is_refused(desk, refused):
    made = desk("CreateVpc", CidrBlock="10.0.0.0/16", InstanceTenancy="dedicated")["Vpc"]
    assert made["InstanceTenancy"] == "dedicated"
    with refused("InvalidParameterValue", "host", "default, dedicated"):
        desk("CreateVpc", CidrBlock="10.0.0.0/16", InstanceTenancy="host")


def test_dns_attributes_start_as_aws_has_them_and_change_one_at_a_time(desk, vpc, refused):
    def value(name):
        answer = desk("DescribeVpcAttribute", VpcId=vpc, Attribute=name)
        return answer[name[0].upper() + name[1:]]["Value"]

    names = ("enableDnsSupport", "enableDnsHostnames", "enableNetworkAddressUsageMetrics")
    assert [value(name) for name in names] == [True, False, False]
    desk("ModifyVpcAttribute", VpcId=vpc, EnableDnsHostnames={"Value": True})
    assert value("enableDnsHostnames") is True
    with refused("InvalidParameterCombination"):
        desk("ModifyVpcAttribute", VpcId=vpc, EnableDnsHostnames={"Value": True}, EnableDnsSupport={"Value": True})
    with refused("InvalidParameterCombination"):
        desk("ModifyVpcAttribute", VpcId=vpc)
    with refused("InvalidParameterValue", "enableDnsSupport"):
        desk("DescribeVpcAttribute", VpcId=vpc, Attribute="colour")


def test_host_names_need_dns(desk, vpc, refused):
    desk("ModifyVpcAttribute", VpcId=vpc, EnableDnsSupport={"Value": False})
    with refused("InvalidParameterValue"):
        desk("ModifyVpcAttribute", VpcId=vpc, EnableDnsHostnames={"Value": True})


def test_a_vpc_with_ipv6_has_a_block_of_56_bits_local_routes_and_open_rules(desk):
    made = desk("CreateVpc", CidrBlock="10.0.0.0/16", AmazonProvidedIpv6CidrBlock=True)["Vpc"]
    [block] = [each["Ipv6CidrBlock"] for each in made["Ipv6CidrBlockAssociationSet"]]
    assert ipaddress.IPv6Network(block).prefixlen == 56
    [table] = of_vpc(desk, "DescribeRouteTables", "RouteTables", made["VpcId"])
    assert [each.get("DestinationIpv6CidrBlock") for each in table["Routes"]] == [None, block]
    [group] = of_vpc(desk, "DescribeSecurityGroups", "SecurityGroups", made["VpcId"])
    assert group["IpPermissionsEgress"][0]["Ipv6Ranges"] == [{"CidrIpv6": "::/0"}]
    [acl] = of_vpc(desk, "DescribeNetworkAcls", "NetworkAcls", made["VpcId"])
    assert len(acl["Entries"]) == 8


def test_a_second_block_brings_a_local_route_and_takes_it_away(desk, vpc, refused):
    added = desk("AssociateVpcCidrBlock", VpcId=vpc, CidrBlock="10.1.0.0/16")["CidrBlockAssociation"]
    desk("CreateSubnet", VpcId=vpc, CidrBlock="10.1.1.0/24")
    [table] = of_vpc(desk, "DescribeRouteTables", "RouteTables", vpc)
    assert [each["DestinationCidrBlock"] for each in table["Routes"]] == ["10.0.0.0/16", "10.1.0.0/16"]
    with refused("InvalidCidrBlock.InUse"):
        desk("DisassociateVpcCidrBlock", AssociationId=added["AssociationId"])
    [subnet] = of_vpc(desk, "DescribeSubnets", "Subnets", vpc)
    desk("DeleteSubnet", SubnetId=subnet["SubnetId"])
    desk("DisassociateVpcCidrBlock", AssociationId=added["AssociationId"])
    [table] = of_vpc(desk, "DescribeRouteTables", "RouteTables", vpc)
    assert [each["DestinationCidrBlock"] for each in table["Routes"]] == ["10.0.0.0/16"]
    [shown] = desk("DescribeVpcs", VpcIds=[vpc])["Vpcs"]
    states = [each["CidrBlockState"]["State"] for each in shown["CidrBlockAssociationSet"]]
    assert states == ["associated", "disassociated"]


def test_blocks_that_overlap_are_too_many_or_are_the_first_one_are_refused(desk, vpc, refused):
    with refused("InvalidVpc.Range"):
        desk("AssociateVpcCidrBlock", VpcId=vpc, CidrBlock="10.0.128.0/20")
    for number in range(1, 5):
        desk("AssociateVpcCidrBlock", VpcId=vpc, CidrBlock=f"10.{number}.0.0/16")
    with refused("CidrLimitExceeded"):
        desk("AssociateVpcCidrBlock", VpcId=vpc, CidrBlock="10.5.0.0/16")
    [shown] = desk("DescribeVpcs", VpcIds=[vpc])["Vpcs"]
    with refused("OperationNotPermitted"):
        desk("DisassociateVpcCidrBlock", AssociationId=shown["CidrBlockAssociationSet"][0]["AssociationId"])
    with refused("InvalidVpcCidrBlockAssociationID.NotFound"):
        desk("DisassociateVpcCidrBlock", AssociationId="vpc-cidr-assoc-0123456789abcdef0")


def test_an_ipv6_block_comes_and_goes_afterwards(desk, vpc, refused):
    added = desk("AssociateVpcCidrBlock", VpcId=vpc, AmazonProvidedIpv6CidrBlock=True)["Ipv6CidrBlockAssociation"]
    with refused("CidrLimitExceeded"):
        desk("AssociateVpcCidrBlock", VpcId=vpc, AmazonProvidedIpv6CidrBlock=True)
    answer = desk("DisassociateVpcCidrBlock", AssociationId=added["AssociationId"])
    assert answer["Ipv6CidrBlockAssociation"]["Ipv6CidrBlockState"]["State"] == "disassociating"
    again = desk("AssociateVpcCidrBlock", VpcId=vpc, AmazonProvidedIpv6CidrBlock=True)
    assert again["Ipv6CidrBlockAssociation"]["Ipv6CidrBlock"] != added["Ipv6CidrBlock"]


def test_a_fresh_region_has_a_default_vpc_with_a_public_subnet_in_each_zone_and_a_way_out(desk):
    [vpc] = desk("DescribeVpcs")["Vpcs"]
    assert (vpc["CidrBlock"], vpc["IsDefault"], vpc["DhcpOptionsId"]) == ("172.31.0.0/16", True, "dopt-default")
    subnets = desk("DescribeSubnets")["Subnets"]
    assert [(each["CidrBlock"], each["AvailabilityZone"]) for each in subnets] == [
        ("172.31.0.0/20", "ap-southeast-2a"),
        ("172.31.16.0/20", "ap-southeast-2b"),
        ("172.31.32.0/20", "ap-southeast-2c"),
    ]
    assert all(each["DefaultForAz"] and each["MapPublicIpOnLaunch"] for each in subnets)
    [table] = desk("DescribeRouteTables")["RouteTables"]
    assert [each["DestinationCidrBlock"] for each in table["Routes"]] == ["172.31.0.0/16", "0.0.0.0/0"]
    assert [each["State"] for each in table["Routes"]] == ["active", "active"]
    [options] = desk("DescribeDhcpOptions")["DhcpOptions"]
    assert options["DhcpConfigurations"][1]["Values"] == [{"Value": "AmazonProvidedDNS"}]


def test_a_vpc_quota_can_be_set(refused):
    desk = Desk(config=CloudConfig(quotas={"vpcs": 2}))
    desk("CreateVpc", CidrBlock="10.0.0.0/16")
    with refused("VpcLimitExceeded", "'vpcs': 2"):
        desk("CreateVpc", CidrBlock="10.1.0.0/16")


def test_two_regions_and_two_accounts_know_nothing_of_each_other(vpc, desk):
    here = desk.emulator
    other = Desk(region="us-east-1")
    other.emulator = here
    assert [each["VpcId"] for each in other("DescribeVpcs")["Vpcs"]] != [vpc]
    assert len(other("DescribeVpcs")["Vpcs"]) == 1
    stranger = Desk(account="000000000002")
    stranger.emulator = here
    assert len(stranger("DescribeVpcs")["Vpcs"]) == 1


@pytest.mark.parametrize(
    ("action", "params", "parameter"),
    [
        ("CreateVpc", {"Ipv4IpamPoolId": "ipam-pool-1"}, "Ipv4IpamPoolId"),
        ("CreateSubnet", {"OutpostArn": "arn:x"}, "OutpostArn"),
        ("AllocateAddress", {"IpamPoolId": "ipam-pool-1"}, "IpamPoolId"),
        ("CreateNatGateway", {"SecondaryAllocationIds": ["eipalloc-1"]}, "SecondaryAllocationIds"),
    ],
)
def test_a_parameter_that_is_not_supported_says_so(desk, vpc, refused, action, params, parameter):
    with refused("UnsupportedOperation", parameter):
        desk(action, VpcId=vpc, CidrBlock="10.0.1.0/24", **params)


def test_tenancy_goes_from_dedicated_to_default(desk):
    vpc = desk("CreateVpc", CidrBlock="10.4.0.0/16", InstanceTenancy="dedicated")["Vpc"]["VpcId"]
    desk("ModifyVpcTenancy", VpcId=vpc, InstanceTenancy="default")
    assert desk("DescribeVpcs", VpcIds=[vpc])["Vpcs"][0]["InstanceTenancy"] == "default"


def test_a_route_table_id_of_another_kind_is_not_found(desk, vpc, refused):
    with refused("InvalidRouteTableID.NotFound", vpc):
        desk("DescribeRouteTables", RouteTableIds=[vpc])
