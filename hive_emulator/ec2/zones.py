"""Regions and their zones: three in every region, and every region that AWS has is there."""

from __future__ import annotations

import re
from typing import Any

from hive_emulator.action import Call, action
from hive_emulator.ec2 import filters
from hive_emulator.errors import ApiError

REGIONS = (
    "ap-northeast-1",
    "ap-northeast-2",
    "ap-northeast-3",
    "ap-south-1",
    "ap-southeast-1",
    "ap-southeast-2",
    "ca-central-1",
    "eu-central-1",
    "eu-north-1",
    "eu-west-1",
    "eu-west-2",
    "eu-west-3",
    "sa-east-1",
    "us-east-1",
    "us-east-2",
    "us-west-1",
    "us-west-2",
)

_DIRECTIONS = {
    "north": "n", "south": "s", "east": "e", "west": "w", "central": "c",
    "northeast": "ne", "northwest": "nw", "southeast": "se", "southwest": "sw",
}  # fmt: skip

ZONE_FILTERS = filters.table(
    "DescribeAvailabilityZones",
    {
        "group-long-name": "GroupLongName",
        "group-name": "GroupName",
        "message": "Messages.Message",
        "opt-in-status": "OptInStatus",
        "parent-zone-id": "ParentZoneId",
        "parent-zone-name": "ParentZoneName",
        "region-name": "RegionName",
        "state": "State",
        "zone-id": "ZoneId",
        "zone-name": "ZoneName",
        "zone-type": "ZoneType",
    },
)
REGION_FILTERS = filters.table(
    "DescribeRegions",
    {"endpoint": "Endpoint", "opt-in-status": "OptInStatus", "region-name": "RegionName"},
)


def zone_id(zone: str) -> str:
    """``ap-southeast-2a`` → ``apse2-az1``: the name that means the same zone in every account."""
    match = re.fullmatch(r"([a-z]+(?:-[a-z]+)*)-([a-z]+)-(\d+)([a-z])", zone)
    if match is None:
        return zone
    area, direction, number, letter = match.groups()
    short = area.replace("-", "") + _DIRECTIONS.get(direction, direction[:1])
    return f"{short}{number}-az{ord(letter) - ord('a') + 1}"


def chosen(call: Call, name: str | None, its_id: str | None = None) -> str:
    """The zone that a call names, by name or id; the region's first when it names none."""
    known = call.config.zones(call.region)
    if name is None and its_id is None:
        return known[0]
    for zone in known:
        if zone == name or (name is None and zone_id(zone) == its_id):
            return zone
    wrong, member = (name, "availabilityZone") if name else (its_id, "availabilityZoneId")
    raise ApiError(
        "InvalidParameterValue",
        f"Value ({wrong}) for parameter {member} is invalid. Subnets can currently only be created in the "
        f"following availability zones: {', '.join(known)}.",
    )


@action("DescribeAvailabilityZones")
def describe_availability_zones(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    zones = [_zone(call, name) for name in call.config.zones(call.region)]
    zones = _named(zones, params.get("ZoneNames"), "ZoneName", "availability zone")
    zones = _named(zones, params.get("ZoneIds"), "ZoneId", "availability zone")
    return {"AvailabilityZones": filters.apply(zones, params.get("Filters"), ZONE_FILTERS)}


def _zone(call: Call, name: str) -> dict[str, Any]:
    return {
        "ZoneName": name,
        "ZoneId": zone_id(name),
        "ZoneType": "availability-zone",
        "RegionName": call.region,
        "GroupName": f"{call.region}-zg-1",
        "NetworkBorderGroup": call.region,
        "OptInStatus": "opt-in-not-required",
        "State": "available",
        "Messages": [],
    }


@action("DescribeRegions")
def describe_regions(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    regions = [
        {
            "RegionName": name,
            "Endpoint": f"ec2.{name}.amazonaws.com",
            "OptInStatus": "opt-in-not-required",
        }
        for name in sorted({*REGIONS, call.region})
    ]
    regions = _named(regions, params.get("RegionNames"), "RegionName", "region")
    return {"Regions": filters.apply(regions, params.get("Filters"), REGION_FILTERS)}


def _named(rows: list[dict[str, Any]], wanted: list[str] | None, key: str, noun: str) -> list[dict[str, Any]]:
    if not wanted:
        return rows
    unknown = [each for each in wanted if all(each != row[key] for row in rows)]
    if unknown:
        raise ApiError("InvalidParameterValue", f"Invalid {noun}: [{', '.join(unknown)}]")
    return [row for row in rows if row[key] in wanted]
