"""What can be changed on an interface: description, groups, source check, attachment and addresses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hive_emulator.action import Call, action
from hive_emulator.ec2 import (
    catalog,
    ids,
    instance_view,
    network_interfaces,
    parameters,
    public_addresses,
    subnet_addresses,
)
from hive_emulator.errors import ApiError

Interface = dict[str, Any]

_PREFIXES = ("Ipv4Prefixes", "Ipv4PrefixCount", "Ipv6Prefixes", "Ipv6PrefixCount")


@action("ModifyNetworkInterfaceAttribute")
def modify_network_interface_attribute(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    interface = ids.find(call, "network-interface", params.get("NetworkInterfaceId"))
    given = [name for name in params if name != "NetworkInterfaceId"]
    if len(given) > 1:
        raise ApiError("InvalidParameterCombination", f"One attribute at a time, found: {', '.join(given)}")
    # An empty value counts as absent: a call that names no attribute is one that empties the description.
    name = given[0] if given else "Description"
    if name not in _CHANGES:
        raise ApiError("UnsupportedOperation", f"The parameter {name} is not supported here.")
    changed = {**interface, **_CHANGES[name](call, interface, params.get(name, {}))}
    instance_view.keep(call, changed)
    return {}


def _description(call: Call, interface: Interface, wanted: dict[str, Any]) -> Interface:
    return {"Description": wanted.get("Value", "")}


def _source_dest_check(call: Call, interface: Interface, wanted: dict[str, Any]) -> Interface:
    return {"SourceDestCheck": wanted.get("Value", False)}


def _groups(call: Call, interface: Interface, wanted: list[str]) -> Interface:
    return {"Groups": network_interfaces.chosen_groups(call, interface["VpcId"], wanted)}


def _attachment(call: Call, interface: Interface, wanted: dict[str, Any]) -> Interface:
    attachment = interface.get("Attachment", {})
    if attachment.get("AttachmentId") != wanted.get("AttachmentId"):
        raise ApiError(
            "InvalidAttachmentID.NotFound", f"The attachment ID '{wanted.get('AttachmentId')}' does not exist"
        )
    return {"Attachment": {**attachment, "DeleteOnTermination": wanted.get("DeleteOnTermination", False)}}


def _connection_tracking(call: Call, interface: Interface, wanted: dict[str, Any]) -> Interface:
    return {"ConnectionTrackingConfiguration": wanted}


def _primary_ipv6(call: Call, interface: Interface, wanted: bool) -> Interface:
    held = interface["Ipv6Addresses"]
    if not wanted and any(each["IsPrimaryIpv6"] for each in held):
        raise ApiError("InvalidParameterValue", "A primary IPv6 address can't be made an ordinary one again")
    addresses = [each["Ipv6Address"] for each in held]
    return {"Ipv6Addresses": network_interfaces.ipv6_shown(addresses, primary=wanted)}


_CHANGES: dict[str, Callable[[Call, Interface, Any], Interface]] = {
    "Description": _description,
    "SourceDestCheck": _source_dest_check,
    "Groups": _groups,
    "Attachment": _attachment,
    "ConnectionTrackingSpecification": _connection_tracking,
    "EnablePrimaryIpv6": _primary_ipv6,
}


@action("AssignPrivateIpAddresses")
def assign_private_ip_addresses(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    parameters.refuse(params, *_PREFIXES)
    interface = ids.find(call, "network-interface", params.get("NetworkInterfaceId"))
    count = params.get("SecondaryPrivateIpAddressCount", 0)
    parameters.within(count, "secondaryPrivateIpAddressCount", 0, network_interfaces.MOST_ADDRESSES)
    wanted: list[str | None] = params.get("PrivateIpAddresses") or [None] * count
    if not wanted:
        raise ApiError("MissingParameter", "The request must contain privateIpAddress or a count")
    _check_room(call, interface, len(wanted))
    taken = subnet_addresses.take(call, interface["SubnetId"], wanted)
    added = [network_interfaces.private_address(call, each, primary=False) for each in taken]
    changed = {**interface, "PrivateIpAddresses": [*interface["PrivateIpAddresses"], *added]}
    instance_view.keep(call, changed)
    return {
        "NetworkInterfaceId": interface["NetworkInterfaceId"],
        "AssignedPrivateIpAddresses": [{"PrivateIpAddress": each} for each in taken],
    }


def _check_room(call: Call, interface: Interface, more: int) -> None:
    """An instance type says how many addresses each interface may have; one on its own may have any number."""
    holder = interface.get("Attachment", {}).get("InstanceId")
    if holder is None:
        return
    instance_type = ids.find(call, "instance", holder)["InstanceType"]
    most = catalog.types()[instance_type]["NetworkInfo"]["Ipv4AddressesPerInterface"]
    if len(interface["PrivateIpAddresses"]) + more > most:
        raise ApiError(
            "PrivateIpAddressLimitExceeded",
            f"Number of private addresses will exceed limit: an interface of {instance_type} has {most} at most.",
        )


@action("UnassignPrivateIpAddresses")
def unassign_private_ip_addresses(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    parameters.refuse(params, *_PREFIXES)
    interface = ids.find(call, "network-interface", params.get("NetworkInterfaceId"))
    gone = set(params.get("PrivateIpAddresses", ()))
    held = {each["PrivateIpAddress"] for each in interface["PrivateIpAddresses"] if not each["Primary"]}
    if not gone or not gone <= held:
        wrong = ", ".join(sorted(gone - held)) or "no address"
        raise ApiError("InvalidParameterValue", f"Not a secondary address of this interface: {wrong}")
    for address in call.cloud.by("elastic-ip", "NetworkInterfaceId", interface["NetworkInterfaceId"]):
        if address["PrivateIpAddress"] in gone:
            interface = public_addresses.on_interface(interface, address["PrivateIpAddress"], None)
            call.cloud.put("elastic-ip", address["AllocationId"], network_interfaces.without_place(address))
    kept = [each for each in interface["PrivateIpAddresses"] if each["PrivateIpAddress"] not in gone]
    changed = {**interface, "PrivateIpAddresses": kept}
    instance_view.keep(call, changed)
    subnet_addresses.give_back(call, interface["SubnetId"], len(gone))
    return {}


@action("AssignIpv6Addresses")
def assign_ipv6_addresses(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    parameters.refuse(params, *_PREFIXES)
    interface = ids.find(call, "network-interface", params.get("NetworkInterfaceId"))
    count = params.get("Ipv6AddressCount", 0)
    parameters.within(count, "ipv6AddressCount", 0, network_interfaces.MOST_ADDRESSES)
    wanted: list[str | None] = params.get("Ipv6Addresses") or [None] * count
    if not wanted:
        raise ApiError("MissingParameter", "The request must contain ipv6Addresses or ipv6AddressCount")
    taken = subnet_addresses.take_ipv6(call, interface["SubnetId"], wanted)
    added = network_interfaces.ipv6_shown(taken, primary=False)
    changed = {**interface, "Ipv6Addresses": [*interface["Ipv6Addresses"], *added]}
    instance_view.keep(call, changed)
    return {"NetworkInterfaceId": interface["NetworkInterfaceId"], "AssignedIpv6Addresses": taken}


@action("UnassignIpv6Addresses")
def unassign_ipv6_addresses(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    parameters.refuse(params, *_PREFIXES)
    interface = ids.find(call, "network-interface", params.get("NetworkInterfaceId"))
    gone = params.get("Ipv6Addresses", [])
    kept = [each for each in interface["Ipv6Addresses"] if each["Ipv6Address"] not in gone]
    if not gone or len(kept) + len(set(gone)) != len(interface["Ipv6Addresses"]):
        raise ApiError("InvalidParameterValue", f"Not all are addresses of this interface: {', '.join(gone)}")
    if any(each["IsPrimaryIpv6"] and each["Ipv6Address"] in gone for each in interface["Ipv6Addresses"]):
        raise ApiError("InvalidParameterValue", "The primary IPv6 address can't be unassigned")
    changed = {**interface, "Ipv6Addresses": kept}
    instance_view.keep(call, changed)
    return {"NetworkInterfaceId": interface["NetworkInterfaceId"], "UnassignedIpv6Addresses": gone}
