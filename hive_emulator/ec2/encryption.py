"""Encryption at rest of volumes and snapshots: the flag, and the key that AWS would name."""

from __future__ import annotations

import uuid
from typing import Any

from hive_emulator.action import Call
from hive_emulator.ec2 import partitions
from hive_emulator.errors import ApiError

SETTINGS = "ebs-encryption"


def settings(call: Call) -> dict[str, Any]:
    """What the account has set for all its volumes here: ``Enabled``, ``KmsKeyId``."""
    return call.cloud.get("meta", SETTINGS) or {}


def members(call: Call, params: dict[str, Any], source: dict[str, Any] | None = None) -> dict[str, Any]:
    """Encrypted and KmsKeyId of what is made from ``params`` and the snapshot or volume it comes from."""
    source = source or {}
    if settings(call).get("Enabled"):
        params = {**params, "Encrypted": True}
    if "KmsKeyId" in params and not params.get("Encrypted", source.get("Encrypted", False)):
        raise ApiError(
            "InvalidParameterDependency", "The parameter KmsKeyId requires the parameter Encrypted to be set."
        )
    # What was encrypted stays encrypted, whatever is asked for.
    if not (params.get("Encrypted") or source.get("Encrypted")):
        return {"Encrypted": False}
    if "KmsKeyId" in params:
        return {"Encrypted": True, "KmsKeyId": arn(call, params["KmsKeyId"])}
    return {
        "Encrypted": True,
        "KmsKeyId": source.get("KmsKeyId") or settings(call).get("KmsKeyId") or _default_key(call),
    }


def arn(call: Call, key: str) -> str:
    if key.startswith("arn:"):
        return key
    name = key if key.startswith("alias/") else f"key/{key}"
    return partitions.arn(call, name, service="kms")


def _default_key(call: Call) -> str:
    """The account's own EBS key: always the same one for an account and region."""
    return arn(call, str(uuid.uuid5(uuid.NAMESPACE_DNS, f"ebs.{call.region}.{call.account}")))
