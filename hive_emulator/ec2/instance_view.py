"""How an instance shows its interfaces.

The interfaces are records of their own; the instance carries the view that DescribeInstances shows of them. Whoever
changes an interface stores it with :func:`keep`, which brings that view up to date.
"""

from __future__ import annotations

from typing import Any

from hive_emulator.action import Call
from hive_emulator.ec2 import public_addresses

Interface = dict[str, Any]
Instance = dict[str, Any]

_SHOWN = (
    "Description",
    "Groups",
    "Ipv6Addresses",
    "InterfaceType",
    "MacAddress",
    "NetworkInterfaceId",
    "OwnerId",
    "PrivateDnsName",
    "PrivateIpAddress",
    "SourceDestCheck",
    "Status",
    "SubnetId",
    "VpcId",
)
_ATTACHMENT = ("AttachTime", "AttachmentId", "DeleteOnTermination", "DeviceIndex", "NetworkCardIndex", "Status")
_OWN = ("PublicIpAddress", "Ipv6Address")  # of an instance only while its interface has one


def of(call: Call, instance_id: str) -> list[Interface]:
    """The interfaces of an instance, the primary one first."""
    attached = call.cloud.by("network-interface", "InstanceId", instance_id)
    return sorted(attached, key=lambda interface: interface["Attachment"]["DeviceIndex"])


def keep(call: Call, interface: Interface) -> Interface:
    """Stores an interface, and shows the change in the instance that has it or had it."""
    interface_id = interface["NetworkInterfaceId"]
    before = call.cloud.get("network-interface", interface_id)
    stored = call.cloud.put("network-interface", interface_id, interface)
    for instance_id in {_holder(before), _holder(stored)} - {None}:
        refresh(call, str(instance_id))
    return stored


def refresh(call: Call, instance_id: str) -> None:
    """Brings the view of its interfaces in an instance's record up to date."""
    instance = call.cloud.get("instance", instance_id)
    if instance is not None:
        call.cloud.put("instance", instance_id, with_interfaces(call, instance, of(call, instance_id)))


def with_interfaces(call: Call, instance: Instance, interfaces: list[Interface]) -> Instance:
    """The instance with the view of these interfaces."""
    shown = {key: value for key, value in instance.items() if key not in _OWN}
    shown["NetworkInterfaces"] = [_shown(public_addresses.with_names(call.cloud, each)) for each in interfaces]
    if not interfaces:
        return {**shown, "PublicDnsName": ""}
    primary = interfaces[0]
    association = primary.get("Association", {})
    shown |= {
        "PrivateIpAddress": primary["PrivateIpAddress"],
        "PrivateDnsName": primary["PrivateDnsName"],
        "PublicDnsName": association.get("PublicDnsName", "") if _has_names(call, primary) else "",
        "SecurityGroups": primary["Groups"],
        "SourceDestCheck": primary["SourceDestCheck"],
        "SubnetId": primary["SubnetId"],
        "VpcId": primary["VpcId"],
    }
    if association:
        shown["PublicIpAddress"] = association["PublicIp"]
    if primary["Ipv6Addresses"]:
        shown["Ipv6Address"] = primary["Ipv6Addresses"][0]["Ipv6Address"]
    return shown


def _holder(interface: Interface | None) -> str | None:
    return ((interface or {}).get("Attachment") or {}).get("InstanceId")


def _shown(interface: Interface) -> Interface:
    view = {key: interface[key] for key in _SHOWN}
    view["Attachment"] = {key: interface["Attachment"][key] for key in _ATTACHMENT}
    view["PrivateIpAddresses"] = interface["PrivateIpAddresses"]
    if "Association" in interface:
        view["Association"] = interface["Association"]
    return {**view, "_Tags": interface["Tags"]}


def _has_names(call: Call, interface: Interface) -> bool:
    vpc = call.cloud.get("vpc", interface["VpcId"])
    return bool(vpc and vpc["_dns_hostnames"])
