"""Regions and their zones: three in every region, and every region that AWS has is there."""

from __future__ import annotations

import re
from typing import Any

from hive_emulator.action import Call, action
from hive_emulator.ec2 import filters, partitions
from hive_emulator.errors import ApiError

_CHINA = ("cn-north-1", "cn-northwest-1")
_GOVCLOUD = ("us-gov-east-1", "us-gov-west-1")
# Those of AWS's that an account has to ask for: named, they are shown; in a list of all only when that is asked for.
_OPT_IN = (
    "af-south-1", "ap-east-1", "ap-east-2", "ap-south-2", "ap-southeast-3", "ap-southeast-4", "ap-southeast-5",
    "ap-southeast-6", "ap-southeast-7", "ca-west-1", "eu-central-2", "eu-south-1", "eu-south-2", "il-central-1",
    "me-central-1", "me-south-1", "mx-central-1",
)  # fmt: skip
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
    short = {"us-gov": "usg"}.get(area, area.replace("-", "")) + _DIRECTIONS.get(direction, direction[:1])
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
    usual, optional = _known_regions(call.region)
    wanted = params.get("RegionNames")
    shown = {*usual, call.region} | (optional if wanted or params.get("AllRegions") else set())
    regions = [_region(call, name, optional) for name in sorted(shown)]
    regions = _named(regions, wanted, "RegionName", "region")
    return {"Regions": filters.apply(regions, params.get("Filters"), REGION_FILTERS)}


def _known_regions(region: str) -> tuple[set[str], set[str]]:
    """The regions of the partition that ``region`` is in: those that everybody has, and those one asks for."""
    partition = partitions.of(region)
    if partition == "aws":
        return set(REGIONS), set(_OPT_IN)
    return set(_CHINA if partition == "aws-cn" else _GOVCLOUD), set()


def _region(call: Call, name: str, optional: set[str]) -> dict[str, Any]:
    asked = name in optional
    suffix = "amazonaws.com.cn" if name in _CHINA else "amazonaws.com"
    status = "opt-in-not-required" if not asked else "opted-in" if name == call.region else "not-opted-in"
    return {"RegionName": name, "Endpoint": f"ec2.{name}.{suffix}", "OptInStatus": status}


def _named(rows: list[dict[str, Any]], wanted: list[str] | None, key: str, noun: str) -> list[dict[str, Any]]:
    if not wanted:
        return rows
    unknown = [each for each in wanted if all(each != row[key] for row in rows)]
    if unknown:
        raise ApiError("InvalidParameterValue", f"Invalid {noun}: [{', '.join(unknown)}]")
    return [row for row in rows if row[key] in wanted]
