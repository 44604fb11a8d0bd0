"""DescribeInstanceTypes and DescribeInstanceTypeOfferings."""

from __future__ import annotations

from hive_emulator.ec2 import catalog


def names(answer):
    return [each["InstanceType"] for each in answer["InstanceTypes"]]


def test_only_the_types_that_are_asked_for_are_shown(desk):
    assert names(desk("DescribeInstanceTypes", InstanceTypes=["m5.large", "t3.micro"])) == ["m5.large", "t3.micro"]


def test_unknown_types_are_named(desk, refused):
    with refused("InvalidInstanceType", "t9.huge", "x.y"):
        desk("DescribeInstanceTypes", InstanceTypes=["t3.micro", "t9.huge", "x.y"])


def test_filters_read_figures_lists_and_flags(desk):
    def matching(**wanted):
        filters = [{"Name": name.replace("__", ".").replace("_", "-"), "Values": [v]} for name, v in wanted.items()]
        return names(desk("DescribeInstanceTypes", Filters=filters))

    assert matching(vcpu_info__default_vcpus="2", memory_info__size_in_mib="4096", instance_type="t*") == [
        "t2.medium",
        "t3.medium",
        "t3a.medium",
        "t4g.medium",
        "t8i.medium",
    ]
    assert matching(bare_metal="true", instance_type="g*") == ["g4dn.metal", "g5g.metal"]
    assert matching(processor_info__supported_architecture="i386", instance_type="t*.micro") == [
        "t1.micro",
        "t2.micro",
    ]
    assert matching(instance_storage_info__disk__size_in_gb="225", instance_type="g4*") == [
        "g4dn.2xlarge",
        "g4dn.4xlarge",
    ]


def test_pages_hold_together(desk):
    seen, token = [], {}
    while True:
        page = desk("DescribeInstanceTypes", **token)
        assert len(page["InstanceTypes"]) <= 100
        seen += names(page)
        if "NextToken" not in page:
            break
        token = {"NextToken": page["NextToken"]}
    assert seen == list(catalog.types())


def test_every_type_is_offered_in_the_region_and_in_each_of_its_zones(desk):
    def places(by):
        wanted = [{"Name": "instance-type", "Values": ["c5.large"]}]
        found = desk("DescribeInstanceTypeOfferings", LocationType=by, Filters=wanted)["InstanceTypeOfferings"]
        assert {each["LocationType"] for each in found} == {by}
        return [each["Location"] for each in found]

    assert places("region") == ["ap-southeast-2"]
    assert places("availability-zone") == ["ap-southeast-2a", "ap-southeast-2b", "ap-southeast-2c"]
    assert places("availability-zone-id") == ["apse2-az1", "apse2-az2", "apse2-az3"]
    assert desk("DescribeInstanceTypeOfferings", LocationType="outpost")["InstanceTypeOfferings"] == []


def test_offerings_of_one_zone_are_found_and_paged(desk):
    zone = [{"Name": "location", "Values": ["ap-southeast-2b"]}]
    first = desk("DescribeInstanceTypeOfferings", LocationType="availability-zone", Filters=zone, MaxResults=5)
    assert [each["Location"] for each in first["InstanceTypeOfferings"]] == ["ap-southeast-2b"] * 5
    assert first["NextToken"]
