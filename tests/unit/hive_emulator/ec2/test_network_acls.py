"""Network ACLs: made, filled, put over subnets, deleted."""

from __future__ import annotations

import pytest


@pytest.fixture
def acl(desk, vpc):
    return desk("CreateNetworkAcl", VpcId=vpc)["NetworkAcl"]["NetworkAclId"]


def shown(desk, acl):
    return desk("DescribeNetworkAcls", NetworkAclIds=[acl])["NetworkAcls"][0]


def entry(desk, acl, action="CreateNetworkAclEntry", **params):
    usual = {"RuleNumber": 100, "Protocol": "-1", "RuleAction": "allow", "Egress": False, "CidrBlock": "10.0.0.0/8"}
    desk(action, NetworkAclId=acl, **{**usual, **params})


def users(desk, acl):
    return [each for each in shown(desk, acl)["Entries"] if each["RuleNumber"] <= 32766]


def test_a_new_one_denies_everything_and_has_its_tags(desk, vpc):
    tags = [{"ResourceType": "network-acl", "Tags": [{"Key": "Name", "Value": "mine"}]}]
    made = desk("CreateNetworkAcl", VpcId=vpc, TagSpecifications=tags)["NetworkAcl"]
    assert (made["IsDefault"], made["Associations"], made["Tags"]) == (False, [], [{"Key": "Name", "Value": "mine"}])
    assert [(each["Egress"], each["RuleNumber"], each["RuleAction"]) for each in made["Entries"]] == [
        (True, 32767, "deny"),
        (False, 32767, "deny"),
    ]


def test_one_of_a_vpc_with_ipv6_denies_that_too(desk):
    vpc = desk("CreateVpc", CidrBlock="10.8.0.0/16", AmazonProvidedIpv6CidrBlock=True)["Vpc"]["VpcId"]
    made = desk("CreateNetworkAcl", VpcId=vpc)["NetworkAcl"]
    assert [each["RuleNumber"] for each in made["Entries"] if each.get("Ipv6CidrBlock")] == [32768, 32768]


def test_entries_are_kept_by_direction_and_number(desk, acl, refused):
    entry(desk, acl, RuleNumber=200, Protocol="tcp", PortRange={"From": 80, "To": 81})
    entry(desk, acl, RuleNumber=100, Protocol="17", PortRange={"From": 53, "To": 53}, RuleAction="deny")
    entry(desk, acl, RuleNumber=100, Egress=True)
    entry(desk, acl, RuleNumber=300, Protocol="1", IcmpTypeCode={"Type": 8})
    del_me = {"RuleNumber": 400, "Protocol": "58", "Ipv6CidrBlock": "::/0", "IcmpTypeCode": {"Type": -1, "Code": -1}}
    desk("CreateNetworkAclEntry", NetworkAclId=acl, RuleAction="allow", Egress=False, **del_me)
    assert [(each["Egress"], each["RuleNumber"], each["Protocol"]) for each in users(desk, acl)] == [
        (True, 100, "-1"),
        (False, 100, "17"),
        (False, 200, "6"),
        (False, 300, "1"),
        (False, 400, "58"),
    ]
    assert users(desk, acl)[2]["PortRange"] == {"From": 80, "To": 81}
    assert users(desk, acl)[3]["IcmpTypeCode"] == {"Type": 8, "Code": -1}
    with refused("NetworkAclEntryAlreadyExists", "200"):
        entry(desk, acl, RuleNumber=200)
    desk("DeleteNetworkAclEntry", NetworkAclId=acl, RuleNumber=400, Egress=False)
    with refused("InvalidNetworkAclEntry.NotFound", "400"):
        desk("DeleteNetworkAclEntry", NetworkAclId=acl, RuleNumber=400, Egress=False)


def test_an_entry_is_replaced_under_its_number(desk, acl, refused):
    entry(desk, acl)
    entry(desk, acl, "ReplaceNetworkAclEntry", RuleAction="deny", CidrBlock="10.1.0.0/16")
    [only] = users(desk, acl)
    assert (only["RuleAction"], only["CidrBlock"]) == ("deny", "10.1.0.0/16")
    with refused("InvalidNetworkAclEntry.NotFound", "7"):
        entry(desk, acl, "ReplaceNetworkAclEntry", RuleNumber=7)


@pytest.mark.parametrize(
    ("params", "code", "word"),
    [
        ({"RuleNumber": 0}, "InvalidParameterValue", "32766"),
        ({"RuleNumber": 32767}, "InvalidParameterValue", "32766"),
        ({"Protocol": "smoke"}, "InvalidParameterValue", "smoke"),
        ({"Protocol": "6"}, "MissingParameter", "portRange.from"),
        ({"Protocol": "6", "PortRange": {"From": 2, "To": 1}}, "InvalidParameterValue", "portRange.to"),
        ({"Protocol": "1"}, "MissingParameter", "icmpTypeCode"),
        ({"Ipv6CidrBlock": "::/0"}, "MissingParameter", "exactly one"),
        ({"CidrBlock": "10.0.0.0/99"}, "InvalidParameterValue", "10.0.0.0/99"),
    ],
)
def test_an_entry_that_cannot_be_is_refused(desk, acl, refused, params, code, word):
    with refused(code, word):
        entry(desk, acl, **params)


def test_a_subnet_moves_from_one_to_another(desk, vpc, subnet, acl, refused):
    def over():
        found = desk("DescribeNetworkAcls", Filters=[{"Name": "association.subnet-id", "Values": [subnet]}])
        [one] = found["NetworkAcls"]
        [its] = [each for each in one["Associations"] if each["SubnetId"] == subnet]
        return one["NetworkAclId"], its["NetworkAclAssociationId"]

    default, association = over()
    new = desk("ReplaceNetworkAclAssociation", AssociationId=association, NetworkAclId=acl)["NewAssociationId"]
    assert over() == (acl, new)
    with refused("InvalidAssociationID.NotFound", association):
        desk("ReplaceNetworkAclAssociation", AssociationId=association, NetworkAclId=acl)
    with refused("DependencyViolation", acl):
        desk("DeleteNetworkAcl", NetworkAclId=acl)
    other = desk("CreateVpc", CidrBlock="10.9.0.0/16")["Vpc"]["VpcId"]
    foreign = desk("CreateNetworkAcl", VpcId=other)["NetworkAcl"]["NetworkAclId"]
    with refused("InvalidParameterValue", "different networks"):
        desk("ReplaceNetworkAclAssociation", AssociationId=new, NetworkAclId=foreign)
    back = desk("ReplaceNetworkAclAssociation", AssociationId=new, NetworkAclId=default)["NewAssociationId"]
    assert over() == (default, back)
    desk("DeleteNetworkAcl", NetworkAclId=acl)


def test_it_holds_its_vpc_and_the_default_one_stays(desk, vpc, acl, refused):
    with refused("DependencyViolation", vpc):
        desk("DeleteVpc", VpcId=vpc)
    [default] = [
        each["NetworkAclId"]
        for each in desk("DescribeNetworkAcls", Filters=[{"Name": "vpc-id", "Values": [vpc]}])["NetworkAcls"]
        if each["IsDefault"]
    ]
    with refused("InvalidParameterValue", default):
        desk("DeleteNetworkAcl", NetworkAclId=default)
    desk("DeleteNetworkAcl", NetworkAclId=acl)
    with refused("InvalidNetworkAclID.NotFound", acl):
        desk("DeleteNetworkAcl", NetworkAclId=acl)
    desk("DeleteVpc", VpcId=vpc)


def test_twenty_entries_in_a_direction_and_two_hundred_in_a_vpc(desk, vpc, acl, refused):
    for number in range(1, 21):
        entry(desk, acl, RuleNumber=number)
    entry(desk, acl, RuleNumber=1, Egress=True)
    with refused("NetworkAclEntryLimitExceeded", "rules-per-network-acl"):
        entry(desk, acl, RuleNumber=21)
    desk.emulator.config.quotas["network-acls-per-vpc"] = 3
    desk("CreateNetworkAcl", VpcId=vpc)
    with refused("NetworkAclLimitExceeded"):
        desk("CreateNetworkAcl", VpcId=vpc)
