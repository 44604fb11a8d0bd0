from __future__ import annotations

import pytest

from hive_emulator.config import CloudConfig
from hive_emulator.ec2 import zones
from hive_emulator.testing import Desk


def test_a_region_has_three_zones_with_names_and_ids(desk):
    found = desk("DescribeAvailabilityZones")["AvailabilityZones"]
    assert [(zone["ZoneName"], zone["ZoneId"], zone["State"]) for zone in found] == [
        ("ap-southeast-2a", "apse2-az1", "available"),
        ("ap-southeast-2b", "apse2-az2", "available"),
        ("ap-southeast-2c", "apse2-az3", "available"),
    ]


def test_zones_are_found_by_name_id_and_filter(desk, refused):
    def names(**params):
        return [zone["ZoneName"][-1] for zone in desk("DescribeAvailabilityZones", **params)["AvailabilityZones"]]

    assert names(ZoneNames=["ap-southeast-2b"]) == ["b"]
    assert names(ZoneIds=["apse2-az3"]) == ["c"]
    assert names(Filters=[{"Name": "state", "Values": ["available"]}]) == ["a", "b", "c"]
    assert names(Filters=[{"Name": "zone-name", "Values": ["*a"]}]) == ["a"]
    assert names(Filters=[{"Name": "opt-in-status", "Values": ["opted-in"]}]) == []
    with refused("InvalidParameterValue", "us-east-1a"):
        names(ZoneNames=["us-east-1a"])


@pytest.mark.parametrize(
    ("zone", "its_id"),
    [("us-east-1a", "use1-az1"), ("eu-central-1b", "euc1-az2"), ("us-gov-west-1c", "usgw1-az3"), ("desk", "desk")],
)
def test_zone_ids_are_shortened_as_aws_does(zone, its_id):
    assert zones.zone_id(zone) == its_id


def test_regions_have_their_endpoints_and_the_callers_own_is_among_them(refused):
    desk = Desk(region="mars-north-1")
    found = {region["RegionName"]: region["Endpoint"] for region in desk("DescribeRegions")["Regions"]}
    assert found["us-east-1"] == "ec2.us-east-1.amazonaws.com" and "mars-north-1" in found
    assert len(desk("DescribeRegions", RegionNames=["us-east-1"])["Regions"]) == 1
    with refused("InvalidParameterValue", "nowhere-1"):
        desk("DescribeRegions", RegionNames=["nowhere-1"])


def test_a_region_that_one_has_to_ask_for_is_shown_when_it_is_named_or_all_are_wanted(desk):
    def shown(**params):
        return {each["RegionName"]: each["OptInStatus"] for each in desk("DescribeRegions", **params)["Regions"]}

    assert "af-south-1" not in shown()
    assert shown(RegionNames=["af-south-1"]) == shown(
        AllRegions=True, Filters=[{"Name": "region-name", "Values": ["af-*"]}]
    )
    assert shown(RegionNames=["af-south-1"]) == {"af-south-1": "not-opted-in"}


@pytest.mark.parametrize(
    ("region", "partition", "regions"),
    [
        ("cn-north-1", "aws-cn", {"cn-north-1", "cn-northwest-1"}),
        ("us-gov-west-1", "aws-us-gov", {"us-gov-east-1", "us-gov-west-1"}),
    ],
)
def test_china_and_govcloud_have_regions_and_arns_of_their_own(region, partition, regions):
    desk = Desk(region=region)
    assert {each["RegionName"] for each in desk("DescribeRegions")["Regions"]} == regions
    assert desk("DescribeSubnets")["Subnets"][0]["SubnetArn"].startswith(f"arn:{partition}:ec2:{region}:")
    assert desk("GetCallerIdentity", service="sts")["Arn"].startswith(f"arn:{partition}:iam::")


def test_account_attributes_say_vpc_and_the_quotas(refused):
    desk = Desk(config=CloudConfig(quotas={"addresses": 9}))
    answer = desk("DescribeAccountAttributes")["AccountAttributes"]
    found = {each["AttributeName"]: each["AttributeValues"][0]["AttributeValue"] for each in answer}
    assert (found["supported-platforms"], found["vpc-max-elastic-ips"]) == ("VPC", "9")
    assert found["default-vpc"] == desk("DescribeVpcs")["Vpcs"][0]["VpcId"]
    only = desk("DescribeAccountAttributes", AttributeNames=["supported-platforms"])["AccountAttributes"]
    assert [each["AttributeName"] for each in only] == ["supported-platforms"]
    with refused("InvalidParameterValue", "colour"):
        desk("DescribeAccountAttributes", AttributeNames=["colour"])
