"""Interfaces on instances: attached at a device index, and detached again."""

from __future__ import annotations

from typing import Any

from hive_emulator.action import Call, action
from hive_emulator.ec2 import catalog, ids, instance_view, parameters
from hive_emulator.errors import ApiError

Interface = dict[str, Any]

MOST_DEVICES = 31  # no instance type has a device index above this


@action("AttachNetworkInterface")
def attach_network_interface(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    parameters.refuse(params, "EnaQueueCount", "EnaSrdSpecification")
    interface = ids.find(call, "network-interface", params.get("NetworkInterfaceId"))
    instance = ids.find(call, "instance", params.get("InstanceId"))
    if "DeviceIndex" not in params:
        raise ApiError("MissingParameter", "The request must contain the parameter deviceIndex")
    parameters.within(params["DeviceIndex"], "deviceIndex", 0, MOST_DEVICES)
    _check(call, interface, instance, params["DeviceIndex"])
    card = params.get("NetworkCardIndex", 0)
    attached = attach(call, interface, instance["InstanceId"], params["DeviceIndex"], card=card)
    return {"AttachmentId": attached["Attachment"]["AttachmentId"], "NetworkCardIndex": card}


def _check(call: Call, interface: Interface, instance: dict[str, Any], index: int) -> None:
    instance_id = instance["InstanceId"]
    if instance["State"]["Name"] not in ("pending", "running", "stopping", "stopped"):
        raise ApiError("IncorrectState", f"Instance '{instance_id}' is not 'running' or 'stopped'.")
    refuse_if_in_use(interface)
    if interface["AvailabilityZone"] != instance["Placement"]["AvailabilityZone"]:
        raise ApiError(
            "InvalidParameterCombination",
            "You may not attach a network interface to an instance if they are not in the same availability zone",
        )
    held = call.cloud.by("network-interface", "InstanceId", instance_id)
    if any(each["Attachment"]["DeviceIndex"] == index for each in held):
        raise ApiError(
            "InvalidParameterValue",
            f"Instance '{instance_id}' already has an interface attached at device index '{index}'.",
        )
    check_count(instance["InstanceType"], len(held) + 1)


def refuse_if_in_use(interface: Interface) -> None:
    if "Attachment" in interface:
        raise ApiError("InvalidNetworkInterface.InUse", f"Interface: [{interface['NetworkInterfaceId']}] in use.")


def check_count(instance_type: str, count: int) -> None:
    """Refuses more interfaces than the instance type can have."""
    network = catalog.types().get(instance_type, {}).get("NetworkInfo", {})
    most = network.get("MaximumNetworkInterfaces")
    if most is not None and count > most:
        raise ApiError(
            "AttachmentLimitExceeded",
            f"Interface count {count} exceeds the limit for {instance_type}: {most}",
        )


def attach(
    call: Call,
    interface: Interface,
    instance_id: str,
    index: int,
    *,
    delete_on_termination: bool = False,
    card: int = 0,
) -> Interface:
    """The interface, attached. Elastic IPs on it show the instance from now on."""
    attachment = {
        "AttachTime": call.timestamp(),
        "AttachmentId": ids.new("eni-attach"),
        "DeleteOnTermination": delete_on_termination,
        "DeviceIndex": index,
        "NetworkCardIndex": card,
        "InstanceId": instance_id,
        "InstanceOwnerId": call.account,
        "Status": "attached",
    }
    interface_id = interface["NetworkInterfaceId"]
    for address in call.cloud.by("elastic-ip", "NetworkInterfaceId", interface_id):
        call.cloud.put("elastic-ip", address["AllocationId"], {**address, "InstanceId": instance_id})
    changed = {**interface, "Attachment": attachment, "Status": "in-use"}
    return instance_view.keep(call, changed)


@action("DetachNetworkInterface")
def detach_network_interface(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    wanted = params.get("AttachmentId", "")
    found = call.cloud.by("network-interface", "AttachmentId", wanted)
    if not found:
        raise ApiError("InvalidAttachmentID.NotFound", f"The attachment ID '{wanted}' does not exist")
    attachment = found[0]["Attachment"]
    if "InstanceId" not in attachment:
        raise ApiError(
            "AuthFailure", f"You do not have permission to access the attachment '{wanted}' of a service", 403
        )
    if attachment["DeviceIndex"] == 0:
        raise ApiError(
            "OperationNotPermitted",
            "The network interface at device index 0 and networkCard index 0 cannot be detached.",
        )
    detach(call, found[0])
    return {}


def detach(call: Call, interface: Interface) -> Interface:
    """The interface, free again. Its elastic IPs stay on it."""
    interface_id = interface["NetworkInterfaceId"]
    for address in call.cloud.by("elastic-ip", "NetworkInterfaceId", interface_id):
        alone = {name: value for name, value in address.items() if name != "InstanceId"}
        call.cloud.put("elastic-ip", address["AllocationId"], alone)
    free = {name: value for name, value in interface.items() if name != "Attachment"}
    ended = {**interface["Attachment"], "Status": "detached"}
    return instance_view.keep(call, {**free, "Status": "available", "_LastAttachment": ended})
