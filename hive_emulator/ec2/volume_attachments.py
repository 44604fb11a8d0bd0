"""Volumes on instances: attach and detach. Both records say it, the volume's and the instance's."""

from __future__ import annotations

from typing import Any

from hive_emulator.action import Call, action
from hive_emulator.ec2 import block_devices, catalog, ids, parameters
from hive_emulator.errors import ApiError

MOST_INSTANCES = 16  # of one multi-attach volume


@action("AttachVolume")
def attach_volume(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    parameters.refuse(params, "EbsCardIndex")
    volume = ids.find(call, "volume", params["VolumeId"])
    instance = ids.find(call, "instance", params["InstanceId"])
    device = params["Device"]
    block_devices.check_device(device)
    _check_volume(volume, instance)
    _check_instance(instance, device)
    attachment = attach(call, volume, instance, device, delete_on_termination=False)
    return {**attachment, "State": "attaching"}


def attach(
    call: Call, volume: dict[str, Any], instance: dict[str, Any], device: str, *, delete_on_termination: bool
) -> dict[str, Any]:
    """Writes the attachment into both records; the checks are the caller's."""
    attachment = {
        "VolumeId": volume["VolumeId"],
        "InstanceId": instance["InstanceId"],
        "Device": device,
        "State": "attached",
        "AttachTime": call.timestamp(),
        "DeleteOnTermination": delete_on_termination,
    }
    attachments = [*volume["Attachments"], attachment]
    call.cloud.put("volume", volume["VolumeId"], {**volume, "State": "in-use", "Attachments": attachments})
    mapping = {
        "DeviceName": device,
        "Ebs": {
            "VolumeId": volume["VolumeId"],
            "Status": "attached",
            "AttachTime": attachment["AttachTime"],
            "DeleteOnTermination": delete_on_termination,
        },
    }
    mappings = [*instance["BlockDeviceMappings"], mapping]
    call.cloud.put("instance", instance["InstanceId"], {**instance, "BlockDeviceMappings": mappings})
    return attachment


@action("DetachVolume")
def detach_volume(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    volume = ids.find(call, "volume", params["VolumeId"])
    attachment = _attachment(volume, params)
    instance = ids.find(call, "instance", attachment["InstanceId"])
    is_root = attachment["Device"] == instance["RootDeviceName"]
    if is_root and instance["State"]["Name"] != "stopped":
        raise ApiError(
            "OperationNotPermitted",
            f"Unable to detach root volume '{volume['VolumeId']}' from instance '{instance['InstanceId']}'",
        )
    kept = [one for one in instance["BlockDeviceMappings"] if one["Ebs"]["VolumeId"] != volume["VolumeId"]]
    call.cloud.put("instance", instance["InstanceId"], {**instance, "BlockDeviceMappings": kept})
    release(call, volume, instance["InstanceId"])
    return {**attachment, "State": "detaching"}


def release(call: Call, volume: dict[str, Any], instance_id: str) -> None:
    """Takes an instance out of a volume's attachments."""
    left = [one for one in volume["Attachments"] if one["InstanceId"] != instance_id]
    state = "in-use" if left else "available"
    call.cloud.put("volume", volume["VolumeId"], {**volume, "State": state, "Attachments": left})


def _check_volume(volume: dict[str, Any], instance: dict[str, Any]) -> None:
    volume_id, instance_id = volume["VolumeId"], instance["InstanceId"]
    holders = [one["InstanceId"] for one in volume["Attachments"]]
    shared = volume["MultiAttachEnabled"] and instance_id not in holders and len(holders) < MOST_INSTANCES
    if holders and not shared:
        raise ApiError("VolumeInUse", f"{volume_id} is already attached to an instance")
    if volume["AvailabilityZone"] != instance["Placement"]["AvailabilityZone"]:
        raise ApiError(
            "InvalidVolume.ZoneMismatch",
            f"The volume '{volume_id}' is not in the same availability zone as instance '{instance_id}'",
        )


def _check_instance(instance: dict[str, Any], device: str) -> None:
    if instance["State"]["Name"] not in ("running", "stopped"):
        raise ApiError("IncorrectState", f"Instance '{instance['InstanceId']}' is not 'running'.")
    mappings = instance["BlockDeviceMappings"]
    if any(one["DeviceName"] == device for one in mappings):
        raise ApiError(
            "InvalidParameterValue",
            f"Invalid value '{device}' for unixDevice. Attachment point {device} is already in use",
        )
    check_count(instance["InstanceType"], len(mappings) + 1)


def check_count(instance_type: str, count: int) -> None:
    """Refuses more volumes than the instance type can have."""
    most = catalog.types()[instance_type]["EbsInfo"]["MaximumEbsAttachments"]
    if count > most:
        raise ApiError(
            "AttachmentLimitExceeded", f"Volume count {count} exceeds the limit for {instance_type}: {most}"
        )


def _attachment(volume: dict[str, Any], params: dict[str, Any]) -> dict[str, Any]:
    """The attachment that a DetachVolume means."""
    volume_id = volume["VolumeId"]
    if not volume["Attachments"]:
        raise ApiError("IncorrectState", f"Volume '{volume_id}' is in the 'available' state.")
    if "InstanceId" not in params and len(volume["Attachments"]) > 1:
        raise parameters.missing("instanceId")
    for attachment in volume["Attachments"]:
        if params.get("InstanceId", attachment["InstanceId"]) != attachment["InstanceId"]:
            continue
        if params.get("Device", attachment["Device"]) == attachment["Device"]:
            return attachment
    raise ApiError(
        "InvalidAttachment.NotFound",
        f"The volume '{volume_id}' is not attached to instance '{params.get('InstanceId')}' "
        f"as device '{params.get('Device', 'any')}'.",
    )
