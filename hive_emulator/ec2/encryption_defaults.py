"""EBS encryption by default: a switch and a key of an account in a region, for what is made from then on."""

from __future__ import annotations

from typing import Any

from hive_emulator.action import Call, action
from hive_emulator.ec2 import encryption


@action("EnableEbsEncryptionByDefault")
def enable_ebs_encryption_by_default(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    return _switch(call, on=True)


@action("DisableEbsEncryptionByDefault")
def disable_ebs_encryption_by_default(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    return _switch(call, on=False)


def _switch(call: Call, *, on: bool) -> dict[str, Any]:
    call.cloud.put("meta", encryption.SETTINGS, {**encryption.settings(call), "Enabled": on})
    return {"EbsEncryptionByDefault": on}


@action("GetEbsEncryptionByDefault")
def get_ebs_encryption_by_default(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    return {"EbsEncryptionByDefault": encryption.settings(call).get("Enabled", False)}


@action("GetEbsDefaultKmsKeyId")
def get_ebs_default_kms_key_id(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    return {"KmsKeyId": encryption.settings(call).get("KmsKeyId", "alias/aws/ebs")}


@action("ModifyEbsDefaultKmsKeyId")
def modify_ebs_default_kms_key_id(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    key = encryption.arn(call, params["KmsKeyId"])
    call.cloud.put("meta", encryption.SETTINGS, {**encryption.settings(call), "KmsKeyId": key})
    return {"KmsKeyId": key}


@action("ResetEbsDefaultKmsKeyId")
def reset_ebs_default_kms_key_id(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in encryption.settings(call).items() if name != "KmsKeyId"}
    call.cloud.put("meta", encryption.SETTINGS, kept)
    return {"KmsKeyId": "alias/aws/ebs"}
