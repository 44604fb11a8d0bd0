"""Prefix lists: AWS's own and managed ones with versions, and what rules and routes make of them."""

from __future__ import annotations

import pytest


@pytest.fixture
def make(desk):
    def create(**params):
        usual = {"PrefixListName": "offices", "AddressFamily": "IPv4", "MaxEntries": 3}
        return desk("CreateManagedPrefixList", **{**usual, **params})["PrefixList"]["PrefixListId"]

    return create


def shown(desk, wanted):
    return desk("DescribeManagedPrefixLists", PrefixListIds=[wanted])["PrefixLists"][0]


def entries(desk, wanted, **params):
    found = desk("GetManagedPrefixListEntries", PrefixListId=wanted, **params)["Entries"]
    return {each["Cidr"]: each.get("Description") for each in found}


def test_a_list_has_its_entries_version_and_tags(desk, make):
    tags = [{"ResourceType": "prefix-list", "Tags": [{"Key": "Name", "Value": "mine"}]}]
    made = make(
        Entries=[{"Cidr": "10.1.2.3/16", "Description": "one"}, {"Cidr": "10.2.0.0/16"}], TagSpecifications=tags
    )
    one = shown(desk, made)
    assert (one["Version"], one["State"], one["MaxEntries"]) == (1, "create-complete", 3)
    assert one["PrefixListArn"].endswith(f":prefix-list/{made}")
    assert one["Tags"] == [{"Key": "Name", "Value": "mine"}]
    assert entries(desk, made) == {"10.1.0.0/16": "one", "10.2.0.0/16": None}


def test_a_change_is_a_version_and_an_old_one_can_be_read_and_restored(desk, make, refused):
    made = make(Entries=[{"Cidr": "10.1.0.0/16"}])
    change = {"AddEntries": [{"Cidr": "10.2.0.0/16"}], "RemoveEntries": [{"Cidr": "10.1.0.0/16"}]}
    desk("ModifyManagedPrefixList", PrefixListId=made, CurrentVersion=1, **change)
    assert (shown(desk, made)["Version"], shown(desk, made)["State"]) == (2, "modify-complete")
    assert entries(desk, made) == {"10.2.0.0/16": None}
    assert entries(desk, made, TargetVersion=1) == {"10.1.0.0/16": None}
    with refused("PrefixListVersionMismatch", "incorrect version"):
        desk("ModifyManagedPrefixList", PrefixListId=made, CurrentVersion=1, AddEntries=[{"Cidr": "10.3.0.0/16"}])
    desk("RestoreManagedPrefixListVersion", PrefixListId=made, CurrentVersion=2, PreviousVersion=1)
    assert (shown(desk, made)["Version"], entries(desk, made)) == (3, {"10.1.0.0/16": None})
    desk("ModifyManagedPrefixList", PrefixListId=made, PrefixListName="new")
    assert (shown(desk, made)["Version"], shown(desk, made)["PrefixListName"]) == (3, "new")


def test_an_entry_added_again_gets_another_description(desk, make):
    made = make(Entries=[{"Cidr": "10.1.0.0/16", "Description": "old"}])
    again = [{"Cidr": "10.1.0.0/16", "Description": "new"}]
    desk("ModifyManagedPrefixList", PrefixListId=made, CurrentVersion=1, AddEntries=again)
    assert entries(desk, made) == {"10.1.0.0/16": "new"}


def test_more_entries_than_its_maximum_are_refused(desk, make, refused):
    with refused("PrefixListMaxEntriesExceeded", "3"):
        make(Entries=[{"Cidr": f"10.{each}.0.0/16"} for each in range(4)])
    made = make(Entries=[{"Cidr": f"10.{each}.0.0/16"} for each in range(3)])
    with refused("PrefixListMaxEntriesExceeded"):
        desk("ModifyManagedPrefixList", PrefixListId=made, MaxEntries=2)
    with refused("InvalidParameterCombination", "same request"):
        desk(
            "ModifyManagedPrefixList",
            PrefixListId=made,
            MaxEntries=5,
            CurrentVersion=1,
            AddEntries=[{"Cidr": "::/0"}],
        )
    desk("ModifyManagedPrefixList", PrefixListId=made, MaxEntries=5)
    assert shown(desk, made)["MaxEntries"] == 5


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"AddressFamily": "IPv5"}, "InvalidParameterValue"),
        ({"PrefixListName": "com.amazonaws.mine"}, "InvalidParameterValue"),
        ({"MaxEntries": 0}, "InvalidParameterValue"),
        ({"Entries": [{"Cidr": "::/0"}]}, "InvalidParameterValue"),
        ({"Entries": [{"Cidr": "10.0.0.0/8"}, {"Cidr": "10.1.0.0/8"}]}, "InvalidParameterValue"),
    ],
)
def test_a_list_that_cannot_be_is_refused(make, refused, params, code):
    with refused(code):
        make(**params)


def test_those_of_aws_are_found_by_name_and_their_ids_stay(desk):
    wanted = [{"Name": "prefix-list-name", "Values": ["com.amazonaws.ap-southeast-2.s3"]}]
    [s3] = desk("DescribePrefixLists", Filters=wanted)["PrefixLists"]
    [same] = desk("DescribeManagedPrefixLists", Filters=wanted)["PrefixLists"]
    assert s3["Cidrs"] and same["OwnerId"] == "AWS" and same["PrefixListId"] == s3["PrefixListId"]
    assert list(entries(desk, s3["PrefixListId"])) == s3["Cidrs"]


def test_one_in_a_rule_or_a_route_cannot_go(desk, vpc, gateway, make):
    made = make()
    group = desk("CreateSecurityGroup", GroupName="g", Description="d", VpcId=vpc)["GroupId"]
    rule = {"IpProtocol": "-1", "PrefixListIds": [{"PrefixListId": made}]}
    desk("AuthorizeSecurityGroupIngress", GroupId=group, IpPermissions=[rule])
    table = desk("CreateRouteTable", VpcId=vpc)["RouteTable"]["RouteTableId"]
    desk("CreateRoute", RouteTableId=table, DestinationPrefixListId=made, GatewayId=gateway)
    users = desk("GetManagedPrefixListAssociations", PrefixListId=made)["PrefixListAssociations"]
    assert {each["ResourceId"] for each in users} == {group, table}
    desk("DeleteManagedPrefixList", PrefixListId=made)
    assert shown(desk, made)["State"] == "delete-failed"
    assert group in shown(desk, made)["StateMessage"]
    desk("RevokeSecurityGroupIngress", GroupId=group, IpPermissions=[rule])
    desk("DeleteRoute", RouteTableId=table, DestinationPrefixListId=made)
    desk("DeleteManagedPrefixList", PrefixListId=made)
    assert desk("DescribeManagedPrefixLists", Filters=[{"Name": "owner-id", "Values": ["0*"]}])["PrefixLists"] == []


def test_one_that_is_not_there_is_no_source_and_no_destination(desk, vpc, gateway, refused):
    group = desk("CreateSecurityGroup", GroupName="g", Description="d", VpcId=vpc)["GroupId"]
    rule = {"IpProtocol": "-1", "PrefixListIds": [{"PrefixListId": "pl-12345678"}]}
    with refused("InvalidPrefixListID.NotFound", "pl-12345678"):
        desk("AuthorizeSecurityGroupIngress", GroupId=group, IpPermissions=[rule])
    table = desk("CreateRouteTable", VpcId=vpc)["RouteTable"]["RouteTableId"]
    with refused("InvalidPrefixListID.NotFound", "pl-12345678"):
        desk("CreateRoute", RouteTableId=table, DestinationPrefixListId="pl-12345678", GatewayId=gateway)


def test_a_rule_counts_as_the_entries_that_the_list_may_have(desk, vpc, make, refused):
    group = desk("CreateSecurityGroup", GroupName="g", Description="d", VpcId=vpc)["GroupId"]
    most = make(MaxEntries=59)

    def allow(port, list_id):
        ports = {"IpProtocol": "tcp", "FromPort": port, "ToPort": port}
        rule = {**ports, "PrefixListIds": [{"PrefixListId": list_id}]}
        desk("AuthorizeSecurityGroupIngress", GroupId=group, IpPermissions=[rule])

    allow(1, most)
    allow(2, make(MaxEntries=1))
    allow(3, make(MaxEntries=60, AddressFamily="IPv6"))  # counted apart
    with refused("RulesPerSecurityGroupLimitExceeded"):
        allow(4, make(MaxEntries=1))


def test_a_route_counts_so_too(desk, vpc, gateway, make, refused):
    desk.emulator.config.quotas["routes-per-table"] = 4
    table = desk("CreateRouteTable", VpcId=vpc)["RouteTable"]["RouteTableId"]
    desk("CreateRoute", RouteTableId=table, DestinationPrefixListId=make(), GatewayId=gateway)
    with refused("RouteLimitExceeded"):
        desk("CreateRoute", RouteTableId=table, DestinationPrefixListId=make(MaxEntries=2), GatewayId=gateway)
    desk("CreateRoute", RouteTableId=table, DestinationCidrBlock="0.0.0.0/0", GatewayId=gateway)
