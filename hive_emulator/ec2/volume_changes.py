"""Changes to volumes in place (ModifyVolume) and what became of them, and the volumes' status."""

from __future__ import annotations

from typing import Any

from hive_emulator.action import Call, action
from hive_emulator.ec2 import filters, ids, paging, parameters, volume_types, volumes
from hive_emulator.errors import ApiError

CHANGE_FILTERS = filters.table(
    "DescribeVolumesModifications",
    {
        "modification-state": "ModificationState",
        "original-iops": "OriginalIops",
        "original-size": "OriginalSize",
        "original-volume-type": "OriginalVolumeType",
        "originalMultiAttachEnabled": "OriginalMultiAttachEnabled",
        "start-time": "StartTime",
        "target-iops": "TargetIops",
        "target-size": "TargetSize",
        "target-volume-type": "TargetVolumeType",
        "targetMultiAttachEnabled": "TargetMultiAttachEnabled",
        "volume-id": "VolumeId",
    },
)
STATUS_FILTERS = filters.table(
    "DescribeVolumeStatus",
    {
        "action.code": "Actions.Code",
        "action.description": "Actions.Description",
        "action.event-id": "Actions.EventId",
        "attachment-status.instance-id": "AttachmentStatuses.InstanceId",
        "attachment-status.io-performance": "AttachmentStatuses.IoPerformance",
        "availability-zone": "AvailabilityZone",
        "event.description": "Events.Description",
        "event.event-id": "Events.EventId",
        "event.event-type": "Events.EventType",
        "event.not-after": "Events.NotAfter",
        "event.not-before": "Events.NotBefore",
        "volume-status.details-name": "VolumeStatus.Details.Name",
        "volume-status.details-status": "VolumeStatus.Details.Status",
        "volume-status.status": "VolumeStatus.Status",
    },
)
_IOPS_OF_A_NEW_TYPE = 3000  # unless said otherwise, also of those that need to be told at their creation
_MEMBERS = ("Size", "VolumeType", "Iops", "Throughput", "MultiAttachEnabled")


@action("ModifyVolume")
def modify_volume(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    old = ids.find(call, "volume", params["VolumeId"])
    if not any(member in params for member in _MEMBERS):
        raise parameters.combination("Must specify at least one of size, volumeType, iops, throughput")
    figures = _figures(old, params)
    volumes.check_quota(call, figures["Size"] - old["Size"])
    change = _change(call, old, figures, params.get("MultiAttachEnabled", old["MultiAttachEnabled"]))
    new = {key: value for key, value in old.items() if key not in ("Iops", "Throughput")}
    new |= {**figures, "MultiAttachEnabled": change["TargetMultiAttachEnabled"], "_Modification": change}
    call.cloud.put("volume", old["VolumeId"], new)
    # The answer is the change as it starts; whoever asks later finds it done.
    return {"VolumeModification": {**change, "ModificationState": "modifying", "Progress": 0}}


def _figures(old: dict[str, Any], params: dict[str, Any]) -> dict[str, Any]:
    size, volume_type = params.get("Size", old["Size"]), params.get("VolumeType", old["VolumeType"])
    if size < old["Size"]:
        raise ApiError("InvalidParameterValue", f"New size cannot be smaller than existing size of {old['Size']} GiB")
    kind = volume_types.TYPES.get(volume_type)
    if params.get("MultiAttachEnabled") and kind is not None and not kind.multi_attach:
        raise parameters.combination(f"Multi-Attach is not supported for {volume_type} volumes.")
    # Figures stay as they are only while the type does, and only where they are the user's to choose.
    theirs = kind is not None and kind.iops is not None
    same = theirs and volume_type == old["VolumeType"]
    iops = params.get("Iops", old.get("Iops") if same else _IOPS_OF_A_NEW_TYPE if theirs else None)
    throughput = params.get("Throughput", old.get("Throughput") if same else None)
    return volume_types.performance(volume_type, size, iops, throughput).members()


def _change(call: Call, old: dict[str, Any], new: dict[str, Any], multi_attach: bool) -> dict[str, Any]:
    change: dict[str, Any] = {
        "VolumeId": old["VolumeId"],
        "ModificationState": "completed",
        "Progress": 100,
        "StartTime": call.timestamp(),
        "EndTime": call.timestamp(),
        "OriginalMultiAttachEnabled": old["MultiAttachEnabled"],
        "TargetMultiAttachEnabled": multi_attach,
    }
    for member in ("Size", "VolumeType", "Iops", "Throughput"):
        for prefix, volume in (("Original", old), ("Target", new)):
            if member in volume:
                change[prefix + member] = volume[member]
    return change


@action("DescribeVolumesModifications")
def describe_volumes_modifications(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    found = ids.find_all(call, "volume", params.get("VolumeIds"))
    for volume in found if params.get("VolumeIds") else ():
        if "_Modification" not in volume:
            raise ApiError(
                "InvalidVolumeModification.NotFound",
                f"Modification for volume '{volume['VolumeId']}' does not exist.",
            )
    changes = [volume["_Modification"] for volume in found if "_Modification" in volume]
    chosen = filters.apply(changes, params.get("Filters"), CHANGE_FILTERS)
    return paging.page("VolumesModifications", chosen, params, "VolumeId", lowest=1)


@action("DescribeVolumeStatus")
def describe_volume_status(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    statuses = [_status(volume) for volume in ids.find_all(call, "volume", params.get("VolumeIds"))]
    found = filters.apply(statuses, params.get("Filters"), STATUS_FILTERS)
    return paging.page("VolumeStatuses", found, params, "VolumeId")


@action("DescribeVolumeAttribute")
def describe_volume_attribute(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    volume = ids.find(call, "volume", params["VolumeId"])
    if params["Attribute"] == "productCodes":
        return {"VolumeId": volume["VolumeId"], "ProductCodes": []}
    return {"VolumeId": volume["VolumeId"], "AutoEnableIO": {"Value": False}}


def _status(volume: dict[str, Any]) -> dict[str, Any]:
    measured = "Iops" in volume and volume["VolumeType"] != "gp2"
    performance = "normal" if measured else "not-applicable"
    details = [{"Name": "io-enabled", "Status": "passed"}, {"Name": "io-performance", "Status": performance}]
    attached = [each["InstanceId"] for each in volume["Attachments"]]
    return {
        "VolumeId": volume["VolumeId"],
        "AvailabilityZone": volume["AvailabilityZone"],
        "VolumeStatus": {"Status": "ok", "Details": details},
        "AttachmentStatuses": [{"InstanceId": each, "IoPerformance": performance} for each in attached],
        "Actions": [],
        "Events": [],
    }
