from __future__ import annotations

import pytest

NAME = {"Key": "Name", "Value": "one"}


def tags_of(desk, resource):
    rows = desk("DescribeTags", Filters=[{"Name": "resource-id", "Values": [resource]}])["Tags"]
    return {row["Key"]: row["Value"] for row in rows}


def test_tags_made_afterwards_show_in_the_resource_and_replace_older_values(desk, vpc, subnet):
    desk("CreateTags", Resources=[vpc, subnet], Tags=[NAME, {"Key": "Empty"}])
    desk("CreateTags", Resources=[vpc], Tags=[{"Key": "Name", "Value": "two"}])
    [shown] = desk("DescribeVpcs", VpcIds=[vpc])["Vpcs"]
    assert shown["Tags"] == [{"Key": "Name", "Value": "two"}, {"Key": "Empty", "Value": ""}]
    assert tags_of(desk, subnet) == {"Name": "one", "Empty": ""}


def test_interfaces_show_their_tags_as_tag_set(desk, subnet):
    made = desk("CreateNetworkInterface", SubnetId=subnet)["NetworkInterface"]["NetworkInterfaceId"]
    desk("CreateTags", Resources=[made], Tags=[NAME])
    [shown] = desk("DescribeNetworkInterfaces", NetworkInterfaceIds=[made])["NetworkInterfaces"]
    assert shown["TagSet"] == [NAME]


def test_every_kind_of_network_resource_can_be_tagged(desk, vpc, subnet, gateway):
    group = desk("CreateSecurityGroup", VpcId=vpc, GroupName="g", Description="g")["GroupId"]
    rule = desk("DescribeSecurityGroupRules")["SecurityGroupRules"][0]["SecurityGroupRuleId"]
    table = desk("CreateRouteTable", VpcId=vpc)["RouteTable"]["RouteTableId"]
    acl = desk("DescribeNetworkAcls")["NetworkAcls"][0]["NetworkAclId"]
    address = desk("AllocateAddress")["AllocationId"]
    nat = desk("CreateNatGateway", SubnetId=subnet, AllocationId=address)["NatGateway"]["NatGatewayId"]
    egress = desk("CreateEgressOnlyInternetGateway", VpcId=vpc)["EgressOnlyInternetGateway"]
    resources = [vpc, subnet, gateway, group, rule, table, acl, address, nat, "dopt-default"]
    resources.append(egress["EgressOnlyInternetGatewayId"])

    desk("CreateTags", Resources=resources, Tags=[NAME])

    rows = desk("DescribeTags", Filters=[{"Name": "tag:Name", "Values": ["one"]}])["Tags"]
    assert {row["ResourceId"] for row in rows} == set(resources)
    assert {row["ResourceType"] for row in rows} >= {"natgateway", "elastic-ip", "dhcp-options", "network-acl"}


def test_delete_tags_by_key_by_key_and_value_and_all(desk, vpc):
    desk("CreateTags", Resources=[vpc], Tags=[{"Key": key, "Value": "v"} for key in "abcd"])
    desk("DeleteTags", Resources=[vpc], Tags=[{"Key": "a"}, {"Key": "b", "Value": "other"}])
    assert set(tags_of(desk, vpc)) == {"b", "c", "d"}
    desk("DeleteTags", Resources=[vpc], Tags=[{"Key": "b", "Value": "v"}])
    assert set(tags_of(desk, vpc)) == {"c", "d"}
    desk("DeleteTags", Resources=[vpc])
    assert tags_of(desk, vpc) == {}


def test_fifty_tags_are_the_limit_old_ones_included(desk, vpc, refused):
    desk("CreateTags", Resources=[vpc], Tags=[{"Key": str(number)} for number in range(50)])
    desk("CreateTags", Resources=[vpc], Tags=[{"Key": "7", "Value": "again"}])
    with refused("TagLimitExceeded"):
        desk("CreateTags", Resources=[vpc], Tags=[{"Key": "one more"}])


def test_nothing_is_tagged_when_one_of_the_resources_is_not_there(desk, vpc, refused):
    with refused("InvalidSubnetID.NotFound", "subnet-0123456789abcdef0"):
        desk("CreateTags", Resources=[vpc, "subnet-0123456789abcdef0"], Tags=[NAME])
    assert tags_of(desk, vpc) == {}


def test_an_id_of_no_known_kind_and_missing_parameters_are_refused(desk, vpc, refused):
    with refused("InvalidID", "'what-1'"):
        desk("CreateTags", Resources=["what-1"], Tags=[NAME])
    with refused("MissingParameter"):
        desk("CreateTags", Tags=[NAME])
    with refused("MissingParameter"):
        desk("CreateTags", Resources=[vpc])
    with refused("InvalidParameterValue", "1000"):
        desk("DeleteTags", Resources=[f"vpc-{number:017x}" for number in range(1001)])


def test_describe_tags_filters_by_key_value_and_type_and_has_pages(desk, vpc, subnet):
    desk("CreateTags", Resources=[vpc, subnet], Tags=[{"Key": key, "Value": key.upper()} for key in "abcdef"])

    def found(**filters):
        wanted = [{"Name": name.replace("_", "-"), "Values": [value]} for name, value in filters.items()]
        return {(row["ResourceId"], row["Key"]) for row in desk("DescribeTags", Filters=wanted)["Tags"]}

    assert found(key="a") == {(vpc, "a"), (subnet, "a")}
    assert found(value="B", resource_type="vpc") == {(vpc, "b")}
    assert found(resource_id="subnet-*", key="c") == {(subnet, "c")}
    assert found(resource_id="vpc-0123456789abcdef0") == set()
    first = desk("DescribeTags", MaxResults=7)
    second = desk("DescribeTags", MaxResults=7, NextToken=first["NextToken"])
    assert len(first["Tags"]) == 7 and len(second["Tags"]) == 5 and "NextToken" not in second


@pytest.mark.parametrize("resource", ["vpc-zzz", "vpc-1", "nothing", "x-00000000000000000", "-"])
def test_a_malformed_id_is_not_valid(desk, refused, resource):
    with refused("InvalidID", resource):
        desk("CreateTags", Resources=[resource], Tags=[{"Key": "a", "Value": "b"}])
