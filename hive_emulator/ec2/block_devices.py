"""Block device mappings: as images carry them, as requests change them, and as instances end up with them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from hive_emulator.action import Call
from hive_emulator.ec2 import ids, snapshots, tagging, volume_types
from hive_emulator.errors import ApiError

Mapping = dict[str, Any]

# /dev/sdf, /dev/sda1, /dev/xvdba, xvdf (Windows): what EBS takes. Not /dev/nvme1n1, which the guest calls it.
_DEVICE = re.compile(r"(/dev/)?(sd[a-z]([1-9]|1[0-5])?|xvd[a-d]?[a-z]|hd[a-z]([1-9]|1[0-5])?)\Z")


def check_device(device: str, parameter: str = "device") -> None:
    if not _DEVICE.match(device):
        raise ApiError(
            "InvalidParameterValue",
            f"Value ({device[:100]}) for parameter {parameter} is invalid. "
            f"{device[:100]} is not a valid EBS device name.",
        )


def of_request(call: Call, given: Iterable[Mapping], *, to_be_made: bool = True) -> list[Mapping]:
    """The mappings of a request, checked: each device once, each disk with a size.

    Figures are checked for disks ``to_be_made``; an image takes whatever iops it is given.
    """
    mappings = list(_by_device(given).values())
    return [{**one, "Ebs": _filled(call, one["Ebs"], to_be_made)} if "Ebs" in one else one for one in mappings]


def for_launch(call: Call, image: dict[str, Any], given: Iterable[Mapping]) -> list[Mapping]:
    """The disks an instance gets: the image's mappings with the request's laid over them, device by device."""
    merged = _by_device(image["BlockDeviceMappings"])
    for device, mapping in _by_device(given).items():
        known, asked = merged.get(device, {}).get("Ebs", {}), mapping.get("Ebs")
        merged[device] = {**mapping, "Ebs": {**_inherited(known, asked), **asked}} if asked else mapping
    disks = [one for one in of_request(call, merged.values()) if "Ebs" in one]
    if image["RootDeviceType"] == "ebs" and not any(one["DeviceName"] == image["RootDeviceName"] for one in disks):
        raise ApiError("InvalidBlockDeviceMapping", f"The root device {image['RootDeviceName']} can't be left out")
    return disks


def of_instance(
    call: Call, instance: dict[str, Any], given: Iterable[Mapping], description: str, tags: tagging.Tags
) -> list[Mapping]:
    """An image's mappings for an instance: a snapshot of each of its volumes, changed as the request says."""
    changes = _by_device(given)
    mappings = []
    for attached in instance["BlockDeviceMappings"]:
        change = changes.pop(attached["DeviceName"], None)
        if change is None or not _removes(change):
            mappings.append(_snapshotted(call, attached, (change or {}).get("Ebs", {}), description, tags))
    return mappings + [one for one in of_request(call, changes.values()) if not _removes(one)]


def _by_device(given: Iterable[Mapping]) -> dict[str, Mapping]:
    mappings: dict[str, Mapping] = {}
    for mapping in given:
        device = mapping.get("DeviceName")
        if not device:
            raise ApiError("InvalidBlockDeviceMapping", "A block device mapping needs a deviceName")
        check_device(device, "blockDeviceMapping.deviceName")
        if device in mappings:
            raise ApiError(
                "InvalidBlockDeviceMapping", f"The device '{device}' is used in more than one block-device mapping"
            )
        mappings[device] = mapping
    return mappings


def _removes(mapping: Mapping) -> bool:
    """NoDevice is sent with an empty value, which counts as absent: what is left is a device with nothing on it."""
    return "Ebs" not in mapping and "VirtualName" not in mapping


def _snapshotted(call: Call, attached: Mapping, asked: Mapping, description: str, tags: tagging.Tags) -> Mapping:
    volume = ids.find(call, "volume", attached["Ebs"]["VolumeId"])
    snapshot = snapshots.of_volume(call, volume, description, tags)
    figures = {key: volume[key] for key in ("VolumeType", "Encrypted", "Iops", "Throughput") if key in volume}
    if volume["VolumeType"] == "gp2":
        figures.pop("Iops")  # follows from the size
    ebs = {
        "DeleteOnTermination": attached["Ebs"]["DeleteOnTermination"],
        "SnapshotId": snapshot["SnapshotId"],
        "VolumeSize": volume["Size"],
        **figures,
        **asked,
    }
    return {"DeviceName": attached["DeviceName"], "Ebs": ebs}


def _filled(call: Call, ebs: Mapping, to_be_made: bool) -> Mapping:
    """An EBS mapping with its size, type and flags filled in from the snapshot and the defaults."""
    source = snapshots.find(call, ebs["SnapshotId"]) if "SnapshotId" in ebs else None
    size = ebs.get("VolumeSize", source["VolumeSize"] if source else None)
    if size is None:
        raise ApiError("MissingParameter", "The request must contain the parameter size or snapshotId")
    if source and size < source["VolumeSize"]:
        raise ApiError(
            "InvalidBlockDeviceMapping",
            f"Volume of size {size}GB is smaller than snapshot '{ebs['SnapshotId']}', "
            f"expect size >= {source['VolumeSize']}GB",
        )
    defaults = {
        "DeleteOnTermination": True,
        "VolumeType": volume_types.DEFAULT,
        "Encrypted": bool(source and source["Encrypted"]),
    }
    filled = {**defaults, **ebs, "VolumeSize": size}
    if to_be_made:
        volume_types.performance(filled["VolumeType"], size, ebs.get("Iops"), ebs.get("Throughput"))
    return filled


def _inherited(of_image: Mapping, asked: Mapping) -> Mapping:
    """What a request leaves unsaid comes from the image, but figures only while the type stays the same."""
    if asked.get("VolumeType", of_image.get("VolumeType")) == of_image.get("VolumeType"):
        return of_image
    return {key: value for key, value in of_image.items() if key not in ("Iops", "Throughput")}
