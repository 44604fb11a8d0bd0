"""Machine images: the stock ones, those made from an instance, and those registered from a snapshot."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Any

from hive_emulator.action import Call, action
from hive_emulator.ec2 import block_devices, filters, ids, instances, paging, parameters, snapshots, stock, tagging
from hive_emulator.errors import ApiError

_GONE = "deregistered-image"
_GONE_FOR = timedelta(minutes=15)
_NAME = re.compile(r"[A-Za-z0-9()\[\] ./\-'@_]{3,128}")

FILTERS = filters.table(
    "DescribeImages",
    {
        "architecture": "Architecture",
        "block-device-mapping.delete-on-termination": "BlockDeviceMappings.Ebs.DeleteOnTermination",
        "block-device-mapping.device-name": "BlockDeviceMappings.DeviceName",
        "block-device-mapping.encrypted": "BlockDeviceMappings.Ebs.Encrypted",
        "block-device-mapping.snapshot-id": "BlockDeviceMappings.Ebs.SnapshotId",
        "block-device-mapping.volume-size": "BlockDeviceMappings.Ebs.VolumeSize",
        "block-device-mapping.volume-type": "BlockDeviceMappings.Ebs.VolumeType",
        "boot-mode": "BootMode",
        "creation-date": "CreationDate",
        "description": "Description",
        "ena-support": "EnaSupport",
        "free-tier-eligible": "FreeTierEligible",
        "hypervisor": "Hypervisor",
        "image-allowed": lambda image: True,
        "image-id": "ImageId",
        "image-type": "ImageType",
        "image-watermark.source-image-creation-time": "ImageWatermarks.SourceImageCreationTime",
        "image-watermark.source-image-id": "ImageWatermarks.SourceImageId",
        "image-watermark.source-image-region": "ImageWatermarks.SourceImageRegion",
        "image-watermark.watermark-creation-time": "ImageWatermarks.WatermarkCreationTime",
        "image-watermark.watermark-key": "ImageWatermarks.WatermarkKey",
        "instance-type-specification.supported-instance-type": ("InstanceTypeSpecification.SupportedInstanceTypes"),
        "instance-type-specification.unsupported-instance-type": (
            "InstanceTypeSpecification.UnsupportedInstanceTypes"
        ),
        "is-public": "Public",
        "kernel-id": "KernelId",
        "manifest-location": "ImageLocation",
        "name": "Name",
        "owner-alias": "ImageOwnerAlias",
        "owner-id": stock.owners,
        "platform": "Platform",
        "product-code": "ProductCodes.ProductCodeId",
        "product-code.type": "ProductCodes.ProductCodeType",
        "public-ssm-parameter-name": "PublicSsmParameterName",
        "ramdisk-id": "RamdiskId",
        "root-device-name": "RootDeviceName",
        "root-device-type": "RootDeviceType",
        "scan-result.critical-fix-available-since": "ScanResults.CriticalFixAvailableSince",
        "scan-result.finding-scan-date": "ScanResults.FindingScanDate",
        "scan-result.high-fix-available-since": "ScanResults.HighFixAvailableSince",
        "scan-result.highest-finding-severity-label": "ScanResults.HighestFindingSeverityLabel",
        "scan-result.informational-fix-available-since": "ScanResults.InformationalFixAvailableSince",
        "scan-result.low-fix-available-since": "ScanResults.LowFixAvailableSince",
        "scan-result.medium-fix-available-since": "ScanResults.MediumFixAvailableSince",
        "source-image-id": "SourceImageId",
        "source-image-region": "SourceImageRegion",
        "source-instance-id": "SourceInstanceId",
        "sriov-net-support": "SriovNetSupport",
        "state": "State",
        "state-reason-code": "StateReason.Code",
        "state-reason-message": "StateReason.Message",
        "virtualization-type": "VirtualizationType",
    },
)


@action("DescribeImages")
def describe_images(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    wanted = params.get("ImageIds")
    if wanted:
        there = [one for one in dict.fromkeys(wanted) if not _just_deregistered(call, one)]
        found = ids.each(there, lambda one: find(call, one))
    else:
        found = [*call.cloud.all("image"), *stock.images().values()]
    found = [one for one in found if _owned(call, one, params) and _executable(call, one, params)]
    found = filters.apply(found, params.get("Filters"), FILTERS)
    return paging.page("Images", found, params, "ImageId")


@action("CreateImage")
def create_image(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    parameters.refuse(params, "BootModeOverride")
    instance = instances.find(call, params["InstanceId"])
    if instance["State"]["Name"] not in ("running", "stopped"):
        raise ApiError(
            "IncorrectState",
            f"Instance '{instance['InstanceId']}' is not 'running' or 'stopped' but '{instance['State']['Name']}'",
        )
    image_id, name = ids.new("ami"), _new_name(call, params)
    snapshot_tags = tagging.on_create(params, "snapshot", among=["image"])
    mappings = block_devices.of_instance(
        call,
        instance,
        params.get("BlockDeviceMappings", ()),
        f"Created by CreateImage({instance['InstanceId']}) for {image_id}",
        snapshot_tags,
    )
    record = {
        "BlockDeviceMappings": mappings,
        "Architecture": instance["Architecture"],
        "RootDeviceName": instance["RootDeviceName"],
        "BootMode": instance.get("BootMode"),
        "Platform": instance.get("Platform"),
        "PlatformDetails": instance["PlatformDetails"],
        "UsageOperation": instance["UsageOperation"],
        "VirtualizationType": instance["VirtualizationType"],
        "SourceInstanceId": instance["InstanceId"],
        "SourceImageId": instance["ImageId"],
        "SourceImageRegion": call.region,
    }
    tags = tagging.on_create(params, "image", among=["snapshot"])
    _keep(call, image_id, name, params, record, tags)
    return {"ImageId": image_id}


@action("RegisterImage")
def register_image(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    parameters.refuse(params, "ImageLocation", "BillingProducts")
    name = _new_name(call, params)
    root = params.get("RootDeviceName")
    mappings = block_devices.of_request(call, params.get("BlockDeviceMappings", ()), to_be_made=False)
    if not root or not mappings:
        raise ApiError("MissingParameter", "The request must contain rootDeviceName and its blockDeviceMapping")
    if not any(one["DeviceName"] == root and "SnapshotId" in one.get("Ebs", {}) for one in mappings):
        raise ApiError("InvalidBlockDeviceMapping", f"The root device {root} needs a mapping with a snapshotId")
    image_id = ids.new("ami")
    record = {
        "BlockDeviceMappings": mappings,
        "Architecture": params.get("Architecture", "i386"),  # AWS's own default, for what it is worth
        "RootDeviceName": root,
        "BootMode": params.get("BootMode"),
        "TpmSupport": params.get("TpmSupport"),
        "ImdsSupport": params.get("ImdsSupport"),
        "VirtualizationType": parameters.one_of(params, "VirtualizationType", ("hvm", "paravirtual"), "paravirtual"),
        "EnaSupport": params.get("EnaSupport", False),
        "SriovNetSupport": params.get("SriovNetSupport"),
        "KernelId": params.get("KernelId"),
        "RamdiskId": params.get("RamdiskId"),
        "_UefiData": params.get("UefiData"),
    }
    tags = tagging.on_create(params, "image", among=["snapshot"])
    _keep(call, image_id, name, params, record, tags)
    return {"ImageId": image_id}


@action("DeregisterImage")
def deregister_image(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    image = own(call, params["ImageId"])
    call.cloud.delete("image", image["ImageId"])
    for id, record in call.cloud.oldest(_GONE, 2):
        if not _is_recent(call, record):
            call.cloud.delete(_GONE, id)
    call.cloud.put(_GONE, image["ImageId"], {"At": call.timestamp()})
    results = []
    if params.get("DeleteAssociatedSnapshots"):
        results = [{"SnapshotId": one, "ReturnCode": _delete_snapshot(call, one)} for one in snapshot_ids(image)]
    return {"Return": True, "DeleteSnapshotResults": results}


def _just_deregistered(call: Call, image_id: str) -> bool:
    """AWS says nothing of an image that went a moment ago, and that it doesn't exist only later."""
    record = call.cloud.get(_GONE, image_id)
    return record is not None and _is_recent(call, record)


def _is_recent(call: Call, record: dict[str, Any]) -> bool:
    return call.now - datetime.fromisoformat(record["At"].replace("Z", "+00:00")) < _GONE_FOR


def _delete_snapshot(call: Call, snapshot_id: str) -> str:
    """What became of it: one that another image needs, or that is somebody else's, stays."""
    try:
        snapshots.delete_snapshot(call, {"SnapshotId": snapshot_id})
    except ApiError as error:
        return "skipped" if error.code == "InvalidSnapshot.InUse" else "missing-permissions"
    return "success"


def find(call: Call, image_id: str) -> dict[str, Any]:
    """An image that this account may use, or AWS's error."""
    return stock.images().get(image_id) or ids.find(call, "image", image_id)


def own(call: Call, image_id: str) -> dict[str, Any]:
    """An image that belongs to this account, or AWS's error."""
    image = find(call, image_id)
    if image["OwnerId"] != call.account:
        raise ApiError("AuthFailure", f"Not authorized for image:{image_id}", 403)
    return image


def snapshot_ids(image: dict[str, Any]) -> list[str]:
    ebs = (mapping.get("Ebs", {}) for mapping in image["BlockDeviceMappings"])
    return [one["SnapshotId"] for one in ebs if one.get("SnapshotId")]


def _new_name(call: Call, params: dict[str, Any]) -> str:
    name = params["Name"]
    if not _NAME.fullmatch(name):
        raise ApiError(
            "InvalidAMIName.Malformed",
            "AMI names must be between 3 and 128 characters long, and may contain letters, numbers, "
            "spaces, and these: ( ) [ ] . / - ' @ _",
        )
    for image in call.cloud.all("image"):
        if image["Name"] == name:
            raise ApiError("InvalidAMIName.Duplicate", f"AMI name {name} is already in use by AMI {image['ImageId']}")
    return name


def _keep(
    call: Call, image_id: str, name: str, params: dict[str, Any], record: dict[str, Any], tags: tagging.Tags
) -> None:
    full = {
        "ImageId": image_id,
        "Name": name,
        "Description": params.get("Description", ""),
        "ImageLocation": f"{call.account}/{name}",
        "OwnerId": call.account,
        "CreationDate": call.timestamp(),
        "Public": False,
        "State": "available",
        "ImageType": "machine",
        "PlatformDetails": "Linux/UNIX",
        "UsageOperation": "RunInstances",
        "EnaSupport": True,
        "SriovNetSupport": "simple",
        "Hypervisor": "xen",
        "VirtualizationType": "hvm",
        "RootDeviceType": "ebs",
        "FreeTierEligible": True,
        "ProductCodes": [],
        "Tags": tags,
        "_LaunchPermissions": [],
        **record,
    }
    call.cloud.put("image", image_id, {key: value for key, value in full.items() if value is not None})


def _owned(call: Call, image: dict[str, Any], params: dict[str, Any]) -> bool:
    owners = params.get("Owners")
    names = {*stock.owners(image), image.get("ImageOwnerAlias")}
    if image["OwnerId"] == call.account:
        names.add("self")
    return not owners or not names.isdisjoint(owners)


def _executable(call: Call, image: dict[str, Any], params: dict[str, Any]) -> bool:
    users = params.get("ExecutableUsers")
    able = {one.get("UserId") for one in image.get("_LaunchPermissions", ())}
    if call.account in able:
        able.add("self")
    if image["Public"]:
        able.add("all")
    return not users or not able.isdisjoint(users)
