"""The images that are there from the start, and the snapshots behind them.

They belong to the system account, are public, and are the same in every region: a table (data/images.csv) and not
records in the store, so they cost nothing until somebody asks. Their ids are made from their names and never change.
"""

from __future__ import annotations

import csv
import hashlib
from functools import cache
from importlib import resources
from typing import Any

from hive_emulator.config import SYSTEM_ACCOUNT
from hive_emulator.store.state import Record

ALIAS = "amazon"  # `owners = ["amazon"]` finds them too


@cache
def images() -> dict[str, Record]:
    """Every stock image by id. ``_Publisher`` is the account that publishes it on AWS: a search for that finds it."""
    return {_id("ami", row["name"]): Record(_image(row)) for row in _rows()}


@cache
def snapshots() -> dict[str, Record]:
    """The snapshot behind each stock image, by id."""
    return {_id("snap", row["name"]): Record(_snapshot(row)) for row in _rows()}


@cache
def _rows() -> list[dict[str, str]]:
    text = resources.files("hive_emulator.ec2").joinpath("data/images.csv").read_text("utf-8")
    return list(csv.DictReader(text.splitlines()))


def _id(prefix: str, name: str) -> str:
    return f"{prefix}-{hashlib.sha256(name.encode()).hexdigest()[:17]}"


def _image(row: dict[str, str]) -> dict[str, Any]:
    root = {
        "DeleteOnTermination": True,
        "SnapshotId": _id("snap", row["name"]),
        "VolumeSize": int(row["size_gib"]),
        "VolumeType": "gp3",
        "Encrypted": False,
    }
    return {
        "ImageId": _id("ami", row["name"]),
        "Name": row["name"],
        "Description": row["description"],
        "ImageLocation": f"{ALIAS}/{row['name']}",
        "ImageOwnerAlias": ALIAS,
        "OwnerId": SYSTEM_ACCOUNT,
        "_Publisher": row["publisher"],
        "CreationDate": row["created"],
        "Public": True,
        "State": "available",
        "Architecture": row["architecture"],
        "ImageType": "machine",
        "BootMode": row["boot_mode"],
        "PlatformDetails": "Linux/UNIX",
        "UsageOperation": "RunInstances",
        "EnaSupport": True,
        "SriovNetSupport": "simple",
        "Hypervisor": "xen",
        "VirtualizationType": "hvm",
        "RootDeviceType": "ebs",
        "RootDeviceName": row["root_device"],
        "BlockDeviceMappings": [{"DeviceName": row["root_device"], "Ebs": root}],
        "FreeTierEligible": True,
        "ProductCodes": [],
        "Tags": [],
    }


def _snapshot(row: dict[str, str]) -> dict[str, Any]:
    return {
        "SnapshotId": _id("snap", row["name"]),
        "VolumeId": "vol-ffffffff",
        "VolumeSize": int(row["size_gib"]),
        "Description": f"Root of {row['name']}",
        "State": "completed",
        "Progress": "100%",
        "StartTime": row["created"],
        "CompletionTime": row["created"],
        "OwnerId": SYSTEM_ACCOUNT,
        "OwnerAlias": ALIAS,
        "Encrypted": False,
        "StorageTier": "standard",
        "Tags": [],
    }
