"""Attributes of an instance: asked for and changed one at a time."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

from hive_emulator.action import Call, action
from hive_emulator.ec2 import (
    instance_launch,
    instance_options,
    instance_settings,
    instance_view,
    instances,
    network_interfaces,
    parameters,
)
from hive_emulator.errors import ApiError

Instance = dict[str, Any]


@action("DescribeInstanceAttribute")
def describe_instance_attribute(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    instance = instances.find(call, params["InstanceId"])
    values: dict[str, dict[str, Any]] = {
        "blockDeviceMapping": {"BlockDeviceMappings": instance["BlockDeviceMappings"]},
        "disableApiStop": {"DisableApiStop": {"Value": instance["_DisableApiStop"]}},
        "disableApiTermination": {"DisableApiTermination": {"Value": instance["_DisableApiTermination"]}},
        "ebsOptimized": {"EbsOptimized": {"Value": instance["EbsOptimized"]}},
        "enaSupport": {"EnaSupport": {"Value": instance["EnaSupport"]}},
        "enclaveOptions": {"EnclaveOptions": instance["EnclaveOptions"]},
        "groupSet": {"Groups": instance.get("SecurityGroups", [])},
        "instanceInitiatedShutdownBehavior": {
            "InstanceInitiatedShutdownBehavior": {"Value": instance["_ShutdownBehavior"]}
        },
        "instanceType": {"InstanceType": {"Value": instance["InstanceType"]}},
        "kernel": {"KernelId": _value(instance.get("KernelId"))},
        "productCodes": {"ProductCodes": []},
        "ramdisk": {"RamdiskId": _value(instance.get("RamdiskId"))},
        "rootDeviceName": {"RootDeviceName": {"Value": instance["RootDeviceName"]}},
        "sourceDestCheck": {"SourceDestCheck": {"Value": instance.get("SourceDestCheck", True)}},
        "sriovNetSupport": {"SriovNetSupport": {"Value": "simple"}},
        "userData": {"UserData": _value(instance["_UserData"])},
    }
    attribute = params["Attribute"]
    if attribute not in values:
        raise parameters.invalid(attribute, "attribute", ", ".join(values))
    return {"InstanceId": instance["InstanceId"], **values[attribute]}


def _value(value: Any) -> dict[str, Any]:
    return {"Value": value} if value else {}


@action("ModifyInstanceAttribute")
def modify_instance_attribute(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    instance = instances.find(call, params["InstanceId"])
    if instance["State"]["Name"] in ("terminated", "shutting-down"):
        raise ApiError(
            "IncorrectInstanceState",
            f"The instance '{instance['InstanceId']}' is '{instance['State']['Name']}' and can't be changed.",
        )
    name, value = _wanted(params)
    change, only_stopped = _CHANGES[name]
    if only_stopped and instance["State"]["Name"] != "stopped":
        raise ApiError(
            "IncorrectInstanceState", f"The instance '{instance['InstanceId']}' is not in the 'stopped' state."
        )
    change(call, instance, value)
    return {}


def _wanted(params: dict[str, Any]) -> tuple[str, Any]:
    """Which attribute, and its new value: as a member of its own, or as Attribute and Value."""
    given = [name for name in _CHANGES if name in params]
    if len(given) > 1:
        raise parameters.combination(f"Only one attribute can be changed at a time. Found: {', '.join(given)}")
    if given:
        value = params[given[0]]
        return given[0], value.get("Value") if isinstance(value, dict) and given[0] not in _WHOLE else value
    if "Attribute" in params:
        name = params["Attribute"][:1].upper() + params["Attribute"][1:]
        if name not in _CHANGES or name in _WHOLE:
            raise parameters.invalid(params["Attribute"], "attribute", "an attribute that can be changed")
        text = params.get("Value", "")
        return name, text == "true" if name in _BOOLEANS else text
    # An empty value counts as absent: a call that names nothing is one that empties the user data.
    return "UserData", ""


def _put(call: Call, instance: Instance, **members: Any) -> None:
    call.cloud.put("instance", instance["InstanceId"], {**instance, **members})


def _instance_type(call: Call, instance: Instance, value: str) -> None:
    new = instance_options.checked_type(value)
    instance_launch.check_architecture(instance, new)
    keeps = instance["_CpuCredits"] and new.startswith("t")
    _put(
        call,
        instance,
        InstanceType=new,
        CpuOptions=instance_options.cpu(new, {}),
        _CpuCredits=instance["_CpuCredits"] if keeps else instance_options.credits(new, {}),
    )


def _user_data(call: Call, instance: Instance, value: Any) -> None:
    # As a member of its own it is a blob, which arrives decoded; as Attribute and Value it is still base64.
    text = base64.b64encode(value).decode() if isinstance(value, bytes) else value or ""
    _put(call, instance, _UserData=instance_settings.checked_user_data(text))


def _termination(call: Call, instance: Instance, value: Any) -> None:
    _put(call, instance, _DisableApiTermination=bool(value))


def _stop(call: Call, instance: Instance, value: Any) -> None:
    _put(call, instance, _DisableApiStop=bool(value))


def _ebs_optimized(call: Call, instance: Instance, value: Any) -> None:
    _put(call, instance, EbsOptimized=bool(value))


def _ena_support(call: Call, instance: Instance, value: Any) -> None:
    _put(call, instance, EnaSupport=bool(value))


def _shutdown(call: Call, instance: Instance, value: Any) -> None:
    if value not in ("stop", "terminate"):
        raise parameters.invalid(value, "instanceInitiatedShutdownBehavior", "stop, terminate")
    _put(call, instance, _ShutdownBehavior=value)


def _enclaves(call: Call, instance: Instance, value: dict[str, Any]) -> None:
    _put(call, instance, EnclaveOptions={"Enabled": value.get("Enabled", False)})


def _source_dest_check(call: Call, instance: Instance, value: Any) -> None:
    instance_view.keep(call, {**_only_interface(call, instance), "SourceDestCheck": bool(value)})


def _groups(call: Call, instance: Instance, value: Any) -> None:
    interface = _only_interface(call, instance)
    wanted = value if isinstance(value, list) else [value]
    groups = network_interfaces.chosen_groups(call, interface["VpcId"], wanted)
    instance_view.keep(call, {**interface, "Groups": groups})


def _only_interface(call: Call, instance: Instance) -> dict[str, Any]:
    interfaces = instance_view.of(call, instance["InstanceId"])
    if len(interfaces) != 1:
        raise ApiError(
            "InvalidInstanceID",
            f"There are multiple interfaces attached to instance '{instance['InstanceId']}'. "
            "Please specify an interface ID for the operation instead.",
        )
    return interfaces[0]


def _block_devices(call: Call, instance: Instance, value: list[dict[str, Any]]) -> None:
    """Only whether a disk goes with its instance can be changed here."""
    kept = {mapping["DeviceName"]: mapping for mapping in instance["BlockDeviceMappings"]}
    for wanted in value:
        device, goes = wanted.get("DeviceName", ""), wanted.get("Ebs", {}).get("DeleteOnTermination")
        if device not in kept:
            raise ApiError("InvalidInstanceAttributeValue", f"No device is currently mapped at {device}")
        if goes is not None:
            mapping = kept[device]
            kept[device] = {**mapping, "Ebs": {**mapping["Ebs"], "DeleteOnTermination": goes}}
            _mark_volume(call, instance["InstanceId"], mapping["Ebs"]["VolumeId"], goes)
    _put(call, instance, BlockDeviceMappings=list(kept.values()))


def _mark_volume(call: Call, instance_id: str, volume_id: str, goes: bool) -> None:
    volume = call.cloud.get("volume", volume_id)
    if volume is not None:
        attachments = [
            {**one, "DeleteOnTermination": goes} if one["InstanceId"] == instance_id else one
            for one in volume["Attachments"]
        ]
        call.cloud.put("volume", volume_id, {**volume, "Attachments": attachments})


def _sriov(call: Call, instance: Instance, value: Any) -> None:
    """Every instance has it, and AWS can't take it away either."""
    if value != "simple":
        raise parameters.invalid(value, "sriovNetSupport", "simple")


def _unchangeable(call: Call, instance: Instance, value: Any) -> None:
    raise ApiError("UnsupportedOperation", "Nitro instances boot without a kernel or RAM disk of their own.")


# attribute: (what changes it, only while the instance is stopped)
_CHANGES: dict[str, tuple[Callable[[Call, Instance, Any], None], bool]] = {
    "BlockDeviceMappings": (_block_devices, False),
    "DisableApiStop": (_stop, False),
    "DisableApiTermination": (_termination, False),
    "EbsOptimized": (_ebs_optimized, True),
    "EnaSupport": (_ena_support, True),
    "EnclaveOptions": (_enclaves, True),
    "Groups": (_groups, False),
    "InstanceInitiatedShutdownBehavior": (_shutdown, False),
    "InstanceType": (_instance_type, True),
    "Kernel": (_unchangeable, True),
    "Ramdisk": (_unchangeable, True),
    "SourceDestCheck": (_source_dest_check, False),
    "SriovNetSupport": (_sriov, True),
    "UserData": (_user_data, True),
}
_WHOLE = ("BlockDeviceMappings", "EnclaveOptions", "Groups")
_BOOLEANS = (
    "DisableApiStop",
    "DisableApiTermination",
    "EbsOptimized",
    "EnaSupport",
    "SourceDestCheck",
)
