"""EBS volumes: create, describe, modify, delete. Attaching them is in volume_attachments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hive_emulator.action import Call, action
from hive_emulator.ec2 import (
    dependencies,
    encryption,
    filters,
    ids,
    limits,
    paging,
    parameters,
    snapshots,
    tagging,
    volume_types,
    zones,
)
from hive_emulator.errors import ApiError

FILTERS = filters.table(
    "DescribeVolumes",
    {
        "attachment.attach-time": "Attachments.AttachTime",
        "attachment.delete-on-termination": "Attachments.DeleteOnTermination",
        "attachment.device": "Attachments.Device",
        "attachment.instance-id": "Attachments.InstanceId",
        "attachment.status": "Attachments.State",
        "availability-zone": "AvailabilityZone",
        "availability-zone-id": "AvailabilityZoneId",
        "create-time": "CreateTime",
        "encrypted": "Encrypted",
        "fast-restored": lambda volume: False,
        "multi-attach-enabled": "MultiAttachEnabled",
        "operator.managed": lambda volume: False,
        "operator.principal": lambda volume: None,
        "size": "Size",
        "snapshot-id": "SnapshotId",
        "status": "State",
        "volume-id": "VolumeId",
        "volume-type": "VolumeType",
    },
)


@action("CreateVolume")
def create_volume(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    volume = create(call, params, _zone(call, params), tagging.on_create(params, "volume"))
    return {**volume, "State": "creating"}


def create(call: Call, params: dict[str, Any], zone: str, tags: tagging.Tags) -> dict[str, Any]:
    """A new volume; ``params`` has CreateVolume's members."""
    parameters.refuse(params, "OutpostArn", "Operator", "EbsCardIndex")
    source = snapshots.find(call, params["SnapshotId"]) if "SnapshotId" in params else None
    volume_type = params.get("VolumeType", volume_types.DEFAULT)
    size = _size(params, source)
    figures = volume_types.performance(volume_type, size, params.get("Iops"), params.get("Throughput"))
    check_quota(call, size)
    volume_id = ids.new("vol")
    return call.cloud.put(
        "volume",
        volume_id,
        {
            "VolumeId": volume_id,
            "SnapshotId": params.get("SnapshotId", ""),
            "AvailabilityZone": zone,
            "AvailabilityZoneId": zones.zone_id(zone),
            "State": "available",
            "CreateTime": call.timestamp(),
            "Attachments": [],
            **encryption.members(call, params, source),
            **figures.members(),
            **{key: params[key] for key in ("VolumeInitializationRate",) if key in params},
            "MultiAttachEnabled": _multi_attach(params, volume_type),
            "Tags": tags,
        },
    )


@action("DescribeVolumes")
def describe_volumes(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    found = filters.apply(_candidates(call, params), params.get("Filters"), FILTERS)
    return paging.page("Volumes", found, params, "VolumeId")


def _candidates(call: Call, params: dict[str, Any]) -> Sequence[dict[str, Any]]:
    """The volumes to filter: those of one instance by index, because the providers ask that for every instance."""
    if not params.get("VolumeIds"):
        for one in params.get("Filters", ()):
            if one.get("Name") == "attachment.instance-id" and len(one.get("Values", ())) == 1:
                value = one["Values"][0]
                if value.startswith("i-") and value.isascii() and value[2:].isalnum():
                    return call.cloud.by("volume", "InstanceId", value)
    return ids.find_all(call, "volume", params.get("VolumeIds"))


@action("DeleteVolume")
def delete_volume(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    volume = ids.find(call, "volume", params["VolumeId"])
    dependencies.check(call, "volume", volume["VolumeId"])
    call.cloud.delete("volume", volume["VolumeId"])
    return {}


def _zone(call: Call, params: dict[str, Any]) -> str:
    name, zone_id = params.get("AvailabilityZone"), params.get("AvailabilityZoneId")
    if name is None and zone_id is None:
        raise parameters.missing("availabilityZone")
    for zone in call.config.zones(call.region):
        if zone == name or (name is None and zones.zone_id(zone) == zone_id):
            return zone
    raise ApiError("InvalidZone.NotFound", f"The zone '{name or zone_id}' does not exist.")


def _size(params: dict[str, Any], source: dict[str, Any] | None) -> int:
    size = params.get("Size")
    if source is None:
        if size is None:
            raise parameters.missing("size or snapshotId")
        return size
    if size is not None and size < source["VolumeSize"]:
        raise ApiError(
            "InvalidParameterValue",
            f"Volume of size {size}GB is smaller than snapshot '{source['SnapshotId']}', "
            f"expect size>= {source['VolumeSize']}GB",
        )
    return size or source["VolumeSize"]


def _multi_attach(params: dict[str, Any], volume_type: str) -> bool:
    wanted = params.get("MultiAttachEnabled", False)
    if wanted and not volume_types.TYPES[volume_type].multi_attach:
        raise parameters.combination(f"Multi-Attach is not supported for {volume_type} volumes.")
    return wanted


def check_quota(call: Call, more: int) -> None:
    """Refuses ``more`` GiB than all volumes of an account and region may have together."""

    def held() -> range:
        return range(sum(volume["Size"] for volume in call.cloud.all("volume")))

    limits.check(call, "volumes-gib", held, "VolumeLimitExceeded", "GiB of volumes", more=more)
