"""What a call means when it names no VPC or subnet: the default ones."""

from __future__ import annotations

from typing import Any

from hive_emulator.action import Call
from hive_emulator.errors import ApiError


def vpc(call: Call) -> dict[str, Any]:
    """The region's default VPC."""
    for each in call.cloud.all("vpc"):
        if each["IsDefault"]:
            return each
    raise ApiError("VPCIdNotSpecified", "No default VPC for this user.")


def subnet(call: Call, zone: str | None = None) -> dict[str, Any]:
    """The default subnet of a zone, or the first one there is."""
    for each in call.cloud.by("subnet", "VpcId", vpc(call)["VpcId"]):
        if each["DefaultForAz"] and zone in (None, each["AvailabilityZone"]):
            return each
    where = f" in zone {zone}" if zone else ""
    raise ApiError("MissingInput", f"No default subnet{where}. Name a subnet with SubnetId.")
