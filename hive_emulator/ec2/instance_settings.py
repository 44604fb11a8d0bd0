"""What a launch writes into the record of every instance: from the image, from the request, and from defaults."""

from __future__ import annotations

import base64
import binascii
from typing import Any

from hive_emulator.action import Call
from hive_emulator.ec2 import instance_options
from hive_emulator.errors import ApiError

MOST_USER_DATA = 16 * 1024
_NAMES_IN_DNS = {
    "HostnameType": "ip-name",
    "EnableResourceNameDnsARecord": False,
    "EnableResourceNameDnsAAAARecord": False,
}


def of_launch(call: Call, params: dict[str, Any], image: dict[str, Any], instance_type: str) -> dict[str, Any]:
    """The members that all instances of one call share."""
    return {
        **_of_image(image),
        **_of_now(call),
        **_of_request(params, instance_type, image),
        **_unseen(call, params, instance_type),
        **_only_if_given(call, params),
    }


def _of_image(image: dict[str, Any]) -> dict[str, Any]:
    boot = image.get("BootMode", "legacy-bios")
    same = (
        "ImageId",
        "Architecture",
        "RootDeviceName",
        "RootDeviceType",
        "VirtualizationType",
        "Platform",
        "PlatformDetails",
        "UsageOperation",
        "TpmSupport",
    )
    return {
        **{key: image[key] for key in same if key in image},
        "BootMode": boot,
        "CurrentInstanceBootMode": "uefi" if boot.startswith("uefi") else "legacy-bios",
        "Hypervisor": "xen",
        "EnaSupport": image["EnaSupport"],
        "ProductCodes": [],
    }


def _of_now(call: Call) -> dict[str, Any]:
    now = call.timestamp()
    return {"LaunchTime": now, "UsageOperationUpdateTime": now, "StateTransitionReason": ""}


def _of_request(params: dict[str, Any], instance_type: str, image: dict[str, Any]) -> dict[str, Any]:
    def flag(options: str, member: str) -> bool:
        return params.get(options, {}).get(member, False)

    return {
        "InstanceType": instance_type,
        "EbsOptimized": params.get("EbsOptimized", False),
        "ClientToken": params.get("ClientToken", ""),
        "Monitoring": {"State": "enabled" if flag("Monitoring", "Enabled") else "disabled"},
        "CpuOptions": instance_options.cpu(instance_type, params.get("CpuOptions", {})),
        "CapacityReservationSpecification": params.get(
            "CapacityReservationSpecification", {"CapacityReservationPreference": "open"}
        ),
        "HibernationOptions": {"Configured": flag("HibernationOptions", "Configured")},
        "EnclaveOptions": {"Enabled": flag("EnclaveOptions", "Enabled")},
        "MaintenanceOptions": {"AutoRecovery": "default", **params.get("MaintenanceOptions", {})},
        "MetadataOptions": instance_options.metadata(params.get("MetadataOptions", {}), _metadata_of_image(image)),
        "PrivateDnsNameOptions": {**_NAMES_IN_DNS, **params.get("PrivateDnsNameOptions", {})},
    }


def _metadata_of_image(image: dict[str, Any]) -> dict[str, Any]:
    """An image that says so has instances which give out metadata to who asks with a token, and to containers."""
    if image.get("ImdsSupport") != "v2.0":
        return {}
    return {"HttpTokens": "required", "HttpPutResponseHopLimit": 2}


def _unseen(call: Call, params: dict[str, Any], instance_type: str) -> dict[str, Any]:
    """What DescribeInstances doesn't show."""
    return {
        "_OwnerId": call.account,
        "_UserData": checked_user_data(params.get("UserData", "")),
        "_DisableApiTermination": params.get("DisableApiTermination", False),
        "_DisableApiStop": params.get("DisableApiStop", False),
        "_ShutdownBehavior": params.get("InstanceInitiatedShutdownBehavior", "stop"),
        "_CpuCredits": instance_options.credits(instance_type, params.get("CreditSpecification", {})),
    }


def _only_if_given(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    same = ("KeyName", "KernelId", "RamdiskId", "NetworkPerformanceOptions")
    given = {key: params[key] for key in same if key in params}
    if "IamInstanceProfile" in params:
        given["IamInstanceProfile"] = instance_options.profile(call, params["IamInstanceProfile"])
    return given


def checked_user_data(text: str) -> str:
    try:
        size = len(base64.b64decode(text, validate=True))
    except (ValueError, binascii.Error):
        raise ApiError("InvalidParameterValue", "Invalid BASE64 encoding of user data.") from None
    if size > MOST_USER_DATA:
        raise ApiError("InvalidParameterValue", f"User data is limited to {MOST_USER_DATA} bytes")
    return text
