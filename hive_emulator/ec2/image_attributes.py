"""Attributes of an image: asked for one at a time, and the few that can be changed."""

from __future__ import annotations

from typing import Any

from hive_emulator.action import Call, action
from hive_emulator.ec2 import images, parameters
from hive_emulator.errors import ApiError


@action("DescribeImageAttribute")
def describe_image_attribute(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    image = images.own(call, params["ImageId"])
    values: dict[str, dict[str, Any]] = {
        "description": {"Description": {"Value": image.get("Description", "")}},
        "kernel": {"KernelId": _value(image, "KernelId")},
        "ramdisk": {"RamdiskId": _value(image, "RamdiskId")},
        "launchPermission": {"LaunchPermissions": image["_LaunchPermissions"]},
        "productCodes": {"ProductCodes": []},
        "blockDeviceMapping": {"BlockDeviceMappings": image["BlockDeviceMappings"]},
        "sriovNetSupport": {"SriovNetSupport": _value(image, "SriovNetSupport")},
        "bootMode": {"BootMode": _value(image, "BootMode")},
        "tpmSupport": {"TpmSupport": _value(image, "TpmSupport")},
        "uefiData": {"UefiData": _value(image, "_UefiData")},
        "lastLaunchedTime": {"LastLaunchedTime": {}},
        "imdsSupport": {"ImdsSupport": _value(image, "ImdsSupport")},
        "deregistrationProtection": {"DeregistrationProtection": {"Value": "disabled"}},
    }
    attribute = params["Attribute"]
    if attribute not in values:
        raise parameters.invalid(attribute, "attribute", ", ".join(values))
    return {"ImageId": image["ImageId"], **values[attribute]}


@action("ModifyImageAttribute")
def modify_image_attribute(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    image = images.own(call, params["ImageId"])
    name = params.get("Attribute") or _named(params)
    change = _CHANGES.get(name[:1].upper() + name[1:])
    if change is None:
        raise parameters.invalid(name, "attribute", "description, launchPermission, imdsSupport")
    call.cloud.put("image", image["ImageId"], {**image, **change(image, params)})
    return {}


@action("ResetImageAttribute")
def reset_image_attribute(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """Nobody but its owner may launch it afterwards; AWS resets no other attribute."""
    image = images.own(call, params["ImageId"])
    if params["Attribute"] != "launchPermission":
        raise parameters.invalid(params["Attribute"], "attribute", "launchPermission")
    call.cloud.put("image", image["ImageId"], {**image, "_LaunchPermissions": [], "Public": False})
    return {}


def _named(params: dict[str, Any]) -> str:
    """The attribute that a call is about when it doesn't say so."""
    given = [name for name in _CHANGES if name in params]
    if given:
        return given[0]
    if any(name in params for name in _LISTS):
        return "LaunchPermission"
    # An empty value counts as absent: a call that names no attribute is one that empties the description.
    return next((name for name in params if name != "ImageId"), "Description")


def _description(image: dict[str, Any], params: dict[str, Any]) -> dict[str, Any]:
    return {"Description": _wanted("Description", params)}


def _launch_permission(image: dict[str, Any], params: dict[str, Any]) -> dict[str, Any]:
    permissions = _permissions(image["_LaunchPermissions"], params)
    return {"_LaunchPermissions": permissions, "Public": {"Group": "all"} in permissions}


def _imds_support(image: dict[str, Any], params: dict[str, Any]) -> dict[str, Any]:
    value = _wanted("ImdsSupport", params)
    if value != "v2.0":
        raise parameters.invalid(value, "imdsSupport", "v2.0")
    return {"ImdsSupport": value}


def _wanted(name: str, params: dict[str, Any]) -> str:
    """The new value: under the attribute's own name, or as Value beside Attribute."""
    return params.get(name, {}).get("Value", params.get("Value", ""))


_CHANGES = {
    "Description": _description,
    "LaunchPermission": _launch_permission,
    "ImdsSupport": _imds_support,
}


# The older way to say who may launch it, beside OperationType: list, and what its entries are.
_LISTS = {
    "UserIds": "UserId",
    "UserGroups": "Group",
    "OrganizationArns": "OrganizationArn",
    "OrganizationalUnitArns": "OrganizationalUnitArn",
}


def _permissions(old: list[dict[str, str]], params: dict[str, Any]) -> list[dict[str, str]]:
    change = params.get("LaunchPermission") or {}
    added, removed = list(change.get("Add", ())), list(change.get("Remove", ()))
    listed = [{entry: one} for member, entry in _LISTS.items() for one in params.get(member, ())]
    if listed:
        (removed if params.get("OperationType") == "remove" else added).extend(listed)
    for one in [*added, *removed]:
        if one.get("Group", "all") != "all":
            raise ApiError("InvalidAMIAttributeItemValue", f'Invalid attribute item value "{one["Group"]}"')
        user = one.get("UserId")
        if user is not None and not (len(user) == 12 and user.isdigit()):
            raise ApiError("InvalidAMIAttributeItemValue", f'Invalid attribute item value "{user}" for userId')
    kept = [one for one in old if one not in removed]
    return kept + [one for one in added if one not in kept]


def _value(image: dict[str, Any], member: str) -> dict[str, Any]:
    return {"Value": image[member]} if image.get(member) else {}
