"""Placement groups, and the launch of instances into them."""

from __future__ import annotations

import pytest


def test_each_strategy_has_its_own_members(desk):
    def made(**params):
        group = desk("CreatePlacementGroup", **params)["PlacementGroup"]
        return {key: group[key] for key in ("Strategy", "SpreadLevel", "PartitionCount", "State") if key in group}

    assert made(GroupName="a", Strategy="cluster") == {"Strategy": "cluster", "State": "available"}
    assert made(GroupName="b", Strategy="spread") == {
        "Strategy": "spread",
        "SpreadLevel": "rack",
        "State": "available",
    }
    assert made(GroupName="c", Strategy="partition", PartitionCount=5)["PartitionCount"] == 5
    assert [group["GroupName"] for group in desk("DescribePlacementGroups")["PlacementGroups"]] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"Strategy": "cluster", "PartitionCount": 2}, "InvalidParameterCombination"),
        ({"Strategy": "partition", "SpreadLevel": "rack"}, "InvalidParameterCombination"),
        ({"Strategy": "partition", "PartitionCount": 8}, "InvalidParameterValue"),
        ({"Strategy": "heap"}, "InvalidParameterValue"),
    ],
)
def test_members_that_do_not_go_with_the_strategy_are_refused(desk, refused, params, code):
    with refused(code):
        desk("CreatePlacementGroup", GroupName="x", **params)


def test_a_name_can_be_used_once_and_an_unknown_one_is_named(desk, refused):
    desk("CreatePlacementGroup", GroupName="one", Strategy="spread")
    with refused("InvalidPlacementGroup.Duplicate", "'one'"):
        desk("CreatePlacementGroup", GroupName="one", Strategy="spread")
    for action, params in (
        ("DescribePlacementGroups", {"GroupNames": ["two"]}),
        ("DeletePlacementGroup", {"GroupName": "two"}),
    ):
        with refused("InvalidPlacementGroup.Unknown", "'two'"):
            desk(action, **params)


def test_a_group_is_held_by_its_instances(desk, refused, launch):
    desk("CreatePlacementGroup", GroupName="one", Strategy="spread")
    instance = launch(Placement={"GroupName": "one"})
    assert instance["Placement"]["GroupName"] == "one"
    with refused("InvalidPlacementGroup.InUse", "'one'"):
        desk("DeletePlacementGroup", GroupName="one")
    desk("TerminateInstances", InstanceIds=[instance["InstanceId"]])
    desk("DeletePlacementGroup", GroupName="one")


def test_a_cluster_takes_no_burstable_types(desk, refused, launch):
    desk("CreatePlacementGroup", GroupName="tight", Strategy="cluster")
    with refused("InvalidParameterCombination", "t3.micro"):
        launch(Placement={"GroupName": "tight"})
    assert launch(InstanceType="m5.large", Placement={"GroupName": "tight"})["Placement"]["GroupName"] == "tight"


def test_a_spread_group_has_room_for_seven_in_a_zone(desk, refused, launch):
    made = desk("CreatePlacementGroup", GroupName="wide", Strategy="spread")["PlacementGroup"]
    launch(MinCount=7, MaxCount=7, Placement={"GroupName": "wide"})
    with refused("InsufficientInstanceCapacity", "'wide'"):
        launch(Placement={"GroupId": made["GroupId"]})


def test_partitions_are_filled_evenly_unless_one_is_named(desk, refused, launch):
    desk("CreatePlacementGroup", GroupName="parts", Strategy="partition", PartitionCount=3)
    numbers = [launch(Placement={"GroupName": "parts"})["Placement"]["PartitionNumber"] for _ in range(4)]
    assert numbers == [1, 2, 3, 1]
    assert launch(Placement={"GroupName": "parts", "PartitionNumber": 3})["Placement"]["PartitionNumber"] == 3
    with refused("InvalidParameterValue", "1 to 3"):
        launch(Placement={"GroupName": "parts", "PartitionNumber": 4})


def test_an_instance_moves_to_another_group_only_while_it_is_stopped(desk, refused, launch, instance):
    desk("CreatePlacementGroup", GroupName="one", Strategy="spread")
    moved = launch()["InstanceId"]
    with refused("IncorrectInstanceState", "stopped"):
        desk("ModifyInstancePlacement", InstanceId=moved, GroupName="one")
    desk("StopInstances", InstanceIds=[moved])
    desk("ModifyInstancePlacement", InstanceId=moved, GroupName="one")
    assert instance(moved)["Placement"]["GroupName"] == "one"
    desk("ModifyInstancePlacement", InstanceId=moved)
    assert instance(moved)["Placement"]["GroupName"] == ""
