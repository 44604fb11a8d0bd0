"""Placement groups: cluster, spread and partition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hive_emulator.action import Call, action
from hive_emulator.ec2 import catalog, dependencies, filters, ids, parameters, partitions, tagging
from hive_emulator.errors import ApiError

MAX_PARTITIONS = 7
MOST_SPREAD = 7
FILTERS = filters.table(
    "DescribePlacementGroups",
    {
        "group-name": "GroupName",
        "group-arn": "GroupArn",
        "spread-level": "SpreadLevel",
        "state": "State",
        "strategy": "Strategy",
    },
)


@action("CreatePlacementGroup")
def create_placement_group(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    parameters.refuse(params, "LinkedGroupId", "ParentGroupId", "Operator")
    name = parameters.name(params, "GroupName")
    if _by_name(call, name):
        raise ApiError("InvalidPlacementGroup.Duplicate", f"The placement group '{name}' already exists.")
    group_id = ids.new("pg")
    group = {
        "GroupId": group_id,
        "GroupName": name,
        "GroupArn": partitions.arn(call, f"placement-group/{name}"),
        "State": "available",
        **_strategy(params),
        "Tags": tagging.on_create(params, "placement-group"),
    }
    return {"PlacementGroup": call.cloud.put("placement-group", group_id, group)}


@action("DescribePlacementGroups")
def describe_placement_groups(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    found = ids.find_all(call, "placement-group", params.get("GroupIds"))
    if "GroupNames" in params:
        found = [find(call, name) for name in dict.fromkeys(params["GroupNames"])]
    return {"PlacementGroups": filters.apply(found, params.get("Filters"), FILTERS)}


@action("DeletePlacementGroup")
def delete_placement_group(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    group = find(call, params["GroupName"])
    dependencies.check(call, "placement-group", group["GroupName"])
    call.cloud.delete("placement-group", group["GroupId"])
    return {}


def find(call: Call, name: str) -> dict[str, Any]:
    """The placement group with this name, or AWS's error."""
    group = _by_name(call, name)
    if group is None:
        raise ids.not_found("placement-group", name)
    return group


def wanted(call: Call, placement: dict[str, Any]) -> dict[str, Any] | None:
    """The group that a placement names, by name or by id; None when it names none."""
    if "GroupName" in placement:
        return find(call, placement["GroupName"])
    return ids.find(call, "placement-group", placement["GroupId"]) if "GroupId" in placement else None


def members(call: Call, group: dict[str, Any]) -> Sequence[dict[str, Any]]:
    """The instances that are in it."""
    return call.cloud.by("instance", "PlacementGroup", group["GroupName"])


def place(call: Call, group: dict[str, Any], instance_type: str, wanted: dict[str, Any]) -> dict[str, Any]:
    """Members of a Placement for one more instance in the group, or AWS's error when it can't be there."""
    name, strategy = group["GroupName"], group["Strategy"]
    placement = {"GroupName": name, "GroupId": group["GroupId"]}
    if strategy not in catalog.types()[instance_type]["PlacementGroupInfo"]["SupportedStrategies"]:
        raise parameters.combination(
            f"{strategy.capitalize()} placement groups are not supported by the '{instance_type}' instance type. "
            "Specify a supported instance type or change the placement group strategy, and try again."
        )
    if strategy != "partition":
        if "PartitionNumber" in wanted:
            raise parameters.combination(f"The placement group '{name}' has no partitions")
        return placement
    taken = [one["Placement"]["PartitionNumber"] for one in members(call, group)]
    emptiest = min(range(1, group["PartitionCount"] + 1), key=taken.count)
    number = wanted.get("PartitionNumber", emptiest)
    parameters.within(number, "PartitionNumber", 1, group["PartitionCount"])
    return {**placement, "PartitionNumber": number}


def check_spread(call: Call, group: dict[str, Any], zone: str, count: int) -> None:
    """A spread group has room for seven running instances in each zone."""
    there = [one for one in members(call, group) if one["Placement"]["AvailabilityZone"] == zone]
    if group["Strategy"] == "spread" and len(there) + count > MOST_SPREAD:
        raise ApiError(
            "InsufficientInstanceCapacity",
            f"We currently do not have sufficient capacity to launch all of the additional requested instances "
            f"into Placement Group '{group['GroupName']}': it holds {MOST_SPREAD} in each zone.",
        )


def _by_name(call: Call, name: str) -> dict[str, Any] | None:
    return next(iter(call.cloud.by("placement-group", "GroupName", name)), None)


def _strategy(params: dict[str, Any]) -> dict[str, Any]:
    strategy = parameters.one_of(params, "Strategy", ("cluster", "spread", "partition"), "cluster")
    for parameter, only in (("PartitionCount", "partition"), ("SpreadLevel", "spread")):
        if parameter in params and strategy != only:
            raise parameters.combination(f"The parameter {parameter} is only supported for {only} groups")
    chosen: dict[str, Any] = {"Strategy": strategy}
    if strategy == "partition":
        count = params.get("PartitionCount", 2)
        chosen["PartitionCount"] = parameters.within(count, "PartitionCount", 1, MAX_PARTITIONS)
    if strategy == "spread":
        chosen["SpreadLevel"] = parameters.one_of(params, "SpreadLevel", ("rack", "host"), "rack")
    return chosen
