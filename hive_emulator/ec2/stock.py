"""The images that are there from the start, and the snapshots behind them.

They belong to who publishes them on AWS, are found under the system account too, are public, and are the same in
every region: a table (data/images.csv, newest first) and not records, so they cost nothing until somebody asks. Their
ids are made from their names and never change. An instance of one is a record like any other.
"""

from __future__ import annotations

import csv
import hashlib
from functools import cache
from importlib import resources
from typing import Any

from hive_emulator.config import SYSTEM_ACCOUNT
from hive_emulator.store.state import Record

# PlatformDetails, UsageOperation
_PLATFORMS = {
    "": ("Linux/UNIX", "RunInstances"),
    "windows": ("Windows", "RunInstances:0002"),
    "rhel": ("Red Hat Enterprise Linux", "RunInstances:0010"),
    "suse": ("SUSE Linux", "RunInstances:000g"),
}


@cache
def images() -> dict[str, Record]:
    """Every stock image by id. ``_Stock`` says that a search for the system account's finds it."""
    return {_id("ami", row["name"]): Record(_image(row)) for row in _rows()}


@cache
def snapshots() -> dict[str, Record]:
    """The snapshot behind each stock image, by id."""
    return {_id("snap", row["name"]): Record(_snapshot(row)) for row in _rows() if row["root_type"] == "ebs"}


@cache
def public_parameters() -> dict[str, Record]:
    """The image that each public parameter of the Systems Manager names."""
    known = images()
    return {name: known[_id("ami", row["name"])] for row in _rows() for name in row["ssm"].split()}


def owners(record: dict[str, Any]) -> list[str]:
    """The accounts that an image or a snapshot is found under."""
    return [record["OwnerId"], SYSTEM_ACCOUNT] if "_Stock" in record else [record["OwnerId"]]


@cache
def _rows() -> list[dict[str, str]]:
    text = resources.files("hive_emulator.ec2").joinpath("data/images.csv").read_text("utf-8")
    return list(csv.DictReader(text.splitlines()))


def _id(prefix: str, name: str) -> str:
    return f"{prefix}-{hashlib.sha256(name.encode()).hexdigest()[:17]}"


def _image(row: dict[str, str]) -> dict[str, Any]:
    details, operation = _PLATFORMS[row["platform"]]
    image = {
        "ImageId": _id("ami", row["name"]),
        "Name": row["name"],
        "Description": row["description"],
        "ImageLocation": f"{row['alias'] or row['publisher']}/{row['name']}",
        "ImageOwnerAlias": row["alias"],
        "OwnerId": row["publisher"],
        "_Stock": True,
        "CreationDate": row["created"],
        "Public": True,
        "State": "available",
        "Architecture": row["architecture"],
        "ImageType": "machine",
        "BootMode": row["boot_mode"],
        "Platform": "windows" if row["platform"] == "windows" else "",
        "PlatformDetails": details,
        "UsageOperation": operation,
        "EnaSupport": row["virtualization"] == "hvm",
        "SriovNetSupport": "simple" if row["virtualization"] == "hvm" else "",
        "ImdsSupport": "v2.0" if row["name"].startswith("al2023-") else "",
        "Hypervisor": "xen",
        "VirtualizationType": row["virtualization"],
        "RootDeviceType": row["root_type"],
        "RootDeviceName": row["root_device"],
        "BlockDeviceMappings": [_root(row)] if row["root_type"] == "ebs" else [],
        "FreeTierEligible": True,
        "ProductCodes": [],
        "Tags": [],
    }
    return {key: value for key, value in image.items() if value != ""}


def _root(row: dict[str, str]) -> dict[str, Any]:
    ebs = {
        "DeleteOnTermination": True,
        "SnapshotId": _id("snap", row["name"]),
        "VolumeSize": int(row["size_gib"]),
        "VolumeType": row["volume_type"],
        "Encrypted": False,
    }
    return {"DeviceName": row["root_device"], "Ebs": ebs}


def _snapshot(row: dict[str, str]) -> dict[str, Any]:
    snapshot = {
        "SnapshotId": _id("snap", row["name"]),
        "VolumeId": "vol-ffffffff",
        "VolumeSize": int(row["size_gib"]),
        "Description": f"Root of {row['name']}",
        "State": "completed",
        "Progress": "100%",
        "StartTime": row["created"],
        "CompletionTime": row["created"],
        "OwnerId": row["publisher"],
        "OwnerAlias": row["alias"],
        "_Stock": True,
        "Encrypted": False,
        "StorageTier": "standard",
        "Tags": [],
    }
    return {key: value for key, value in snapshot.items() if value != ""}
