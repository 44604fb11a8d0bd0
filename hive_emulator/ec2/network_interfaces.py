"""Network interfaces: addresses of a subnet under security groups, for users, launches and NAT gateways."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any

from hive_emulator.action import Call, action
from hive_emulator.ec2 import (
    dependencies,
    filters,
    flow_logs,
    ids,
    limits,
    paging,
    parameters,
    permissions,
    public_addresses,
    subnet_addresses,
    tagging,
)
from hive_emulator.errors import ApiError

Interface = dict[str, Any]

MOST_ADDRESSES = 255  # of a kind that can be asked for at once

FILTERS = filters.table(
    "DescribeNetworkInterfaces",
    {
        "addresses.association.owner-id": "PrivateIpAddresses.Association.IpOwnerId",
        "addresses.association.public-ip": "PrivateIpAddresses.Association.PublicIp",
        "addresses.primary": "PrivateIpAddresses.Primary",
        "addresses.private-ip-address": "PrivateIpAddresses.PrivateIpAddress",
        "association.allocation-id": "Association.AllocationId",
        "association.association-id": "Association.AssociationId",
        "association.ip-owner-id": "Association.IpOwnerId",
        "association.public-dns-name": "Association.PublicDnsName",
        "association.public-ip": "Association.PublicIp",
        "attachment.attach-time": "Attachment.AttachTime",
        "attachment.attachment-id": "Attachment.AttachmentId",
        "attachment.delete-on-termination": "Attachment.DeleteOnTermination",
        "attachment.device-index": "Attachment.DeviceIndex",
        "attachment.instance-id": "Attachment.InstanceId",
        "attachment.instance-owner-id": "Attachment.InstanceOwnerId",
        "attachment.status": "Attachment.Status",
        "availability-zone": "AvailabilityZone",
        "availability-zone-id": "AvailabilityZoneId",
        "description": "Description",
        "group-id": "Groups.GroupId",
        "group-name": "Groups.GroupName",
        "interface-type": "InterfaceType",
        "ipv6-addresses.ipv6-address": "Ipv6Addresses.Ipv6Address",
        "mac-address": "MacAddress",
        "network-interface-id": "NetworkInterfaceId",
        "operator.managed": "Operator.Managed",
        "operator.principal": "Operator.Principal",
        "owner-id": "OwnerId",
        "private-dns-name": "PrivateDnsName",
        "private-ip-address": "PrivateIpAddress",
        "requester-id": "RequesterId",
        "requester-managed": "RequesterManaged",
        "source-dest-check": "SourceDestCheck",
        "status": "Status",
        "subnet-id": "SubnetId",
        "vpc-id": "VpcId",
    },
)


@action("CreateNetworkInterface")
def create_network_interface(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    subnet = ids.find(call, "subnet", params.get("SubnetId"))
    parameters.refuse(params, "Ipv4Prefixes", "Ipv4PrefixCount", "Ipv6Prefixes", "Ipv6PrefixCount", "Operator")
    interface = create(call, subnet, params, tags=tagging.on_create(params, "network-interface"))
    answer = {"NetworkInterface": shown(call, interface)}
    return {**answer, "ClientToken": params["ClientToken"]} if "ClientToken" in params else answer


def wanted_addresses(params: dict[str, Any]) -> list[str | None]:
    """The private addresses that a call asks for, the primary one first; None where any will do.

    The same members are in CreateNetworkInterface and in an interface of RunInstances.
    """
    listed = params.get("PrivateIpAddresses", [])
    primaries: list[str | None] = [each.get("PrivateIpAddress") for each in listed if each.get("Primary")]
    if "PrivateIpAddress" in params:
        primaries.append(params["PrivateIpAddress"])
    if len(set(primaries)) > 1:
        raise ApiError(
            "InvalidParameterCombination",
            f"Only one primary private IP address can be specified: {primaries}",
        )
    count = params.get("SecondaryPrivateIpAddressCount", 0)
    secondaries: list[str | None] = [each.get("PrivateIpAddress") for each in listed if not each.get("Primary")]
    if len(listed) == len(secondaries) == 1 and not primaries and not count:
        primaries, secondaries = secondaries, []  # one address alone is the primary one
    if count and secondaries:
        raise ApiError(
            "InvalidParameterCombination",
            "secondaryPrivateIpAddressCount and secondary privateIpAddresses exclude each other",
        )
    parameters.within(count, "secondaryPrivateIpAddressCount", 0, MOST_ADDRESSES)
    return [primaries[0] if primaries else None, *secondaries, *([None] * count)]


def create(
    call: Call,
    subnet: dict[str, Any],
    wanted: dict[str, Any],
    *,
    tags: tagging.Tags | None = None,
    public: bool = False,
    requester: str | None = None,
) -> Interface:
    """An interface that is attached to nothing yet; ``wanted`` has CreateNetworkInterface's members.

    ``public`` gives it one of Amazon's own public addresses; ``requester`` is who manages it, if not a user.
    """
    limits.check(
        call,
        "network-interfaces",
        lambda: call.cloud.all("network-interface"),
        "NetworkInterfaceLimitExceeded",
        "network interfaces",
    )
    private = [] if subnet["Ipv6Native"] else wanted_addresses(wanted)
    taken = subnet_addresses.take(call, subnet["SubnetId"], private)
    primary = taken[0] if taken else None
    interface_id = ids.new("eni")
    record: Interface = {
        "NetworkInterfaceId": interface_id,
        "SubnetId": subnet["SubnetId"],
        "VpcId": subnet["VpcId"],
        "AvailabilityZone": subnet["AvailabilityZone"],
        "AvailabilityZoneId": subnet["AvailabilityZoneId"],
        "Description": wanted.get("Description", ""),
        "Groups": [] if requester else chosen_groups(call, subnet["VpcId"], wanted.get("Groups")),
        "InterfaceType": wanted.get("InterfaceType", "interface"),
        "Ipv6Addresses": [] if requester else _new_ipv6(call, subnet, wanted),
        "MacAddress": "02:" + ":".join(f"{byte:02x}" for byte in secrets.token_bytes(5)),
        "Operator": {"Managed": False},
        "OwnerId": call.account,
        "PrivateIpAddress": primary,
        "PrivateDnsName": private_name(call, primary) if primary else None,
        "PrivateIpAddresses": [private_address(call, each, primary=each == primary) for each in taken],
        "RequesterManaged": requester is not None,
        "SourceDestCheck": requester is None,
        "Status": "available",
        "Tags": tags or [],
    }
    if requester:
        record["RequesterId"] = requester
    if "ConnectionTrackingSpecification" in wanted:
        record["ConnectionTrackingConfiguration"] = wanted["ConnectionTrackingSpecification"]
    if public and primary:
        address = public_addresses.association(call, public_addresses.free(call))
        record = public_addresses.on_interface(record, primary, address)
    return call.cloud.put("network-interface", interface_id, record)


def _new_ipv6(call: Call, subnet: dict[str, Any], wanted: dict[str, Any]) -> list[dict[str, Any]]:
    """``Ipv6Addresses`` of a new interface; a subnet may give one to each that asks for none."""
    count = parameters.within(wanted.get("Ipv6AddressCount", 0), "ipv6AddressCount", 0, MOST_ADDRESSES)
    asked = [each.get("Ipv6Address") for each in wanted.get("Ipv6Addresses", ())] + [None] * count
    if not asked and subnet["AssignIpv6AddressOnCreation"]:
        asked = [None]
    taken = subnet_addresses.take_ipv6(call, subnet["SubnetId"], asked)
    return ipv6_shown(taken, primary=wanted.get("EnablePrimaryIpv6", False))


def private_name(call: Call, address: str) -> str:
    zone = "ec2" if call.region == "us-east-1" else f"{call.region}.compute"
    return f"ip-{address.replace('.', '-')}.{zone}.internal"


def private_address(call: Call, address: str, *, primary: bool) -> dict[str, Any]:
    """An entry of ``PrivateIpAddresses``."""
    return {"PrivateIpAddress": address, "PrivateDnsName": private_name(call, address), "Primary": primary}


def ipv6_shown(addresses: Sequence[str], *, primary: bool) -> list[dict[str, Any]]:
    """``Ipv6Addresses``: the first one is the primary one, if there is to be one."""
    return [{"Ipv6Address": each, "IsPrimaryIpv6": primary and not place} for place, each in enumerate(addresses)]


def chosen_groups(call: Call, vpc_id: str, wanted: Sequence[str] | None) -> list[dict[str, str]]:
    """The groups of an interface, as it shows them: all in its VPC; the default one when none is named."""
    if wanted:
        groups = [ids.find(call, "security-group", each) for each in dict.fromkeys(wanted)]
    else:
        groups = [permissions.named(call, "default", vpc_id)]
    for group in groups:
        if group["VpcId"] != vpc_id:
            raise ApiError(
                "InvalidParameterValue",
                f"Security group {group['GroupId']} and the subnet belong to different networks.",
            )
    limits.check(
        call,
        "security-groups-per-interface",
        lambda: groups,
        "SecurityGroupsPerInterfaceLimitExceeded",
        "security groups per interface",
        more=0,
    )
    return [{"GroupId": group["GroupId"], "GroupName": group["GroupName"]} for group in groups]


def shown(call: Call, interface: Interface) -> Interface:
    """An interface as the calls on interfaces show it: AWS calls its tags TagSet here, and only here."""
    return {**public_addresses.with_names(call.cloud, interface), "TagSet": interface["Tags"]}


@action("DescribeNetworkInterfaces")
def describe_network_interfaces(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    paging.refuse_with_ids(params, "NetworkInterfaceIds")
    found = ids.find_all(call, "network-interface", params.get("NetworkInterfaceIds"))
    if any(each.get("Name") == "attachment.attachment-id" for each in params.get("Filters", ())):
        found = [_with_last_attachment(each) for each in found]
    chosen = filters.apply(found, params.get("Filters"), FILTERS)
    answer = paging.page("NetworkInterfaces", chosen, params, "NetworkInterfaceId")
    return {**answer, "NetworkInterfaces": [shown(call, each) for each in answer["NetworkInterfaces"]]}


def _with_last_attachment(interface: Interface) -> Interface:
    """Who asks for an attachment by its id sees it ``detached``: newer providers wait minutes for that word."""
    if "Attachment" in interface or "_LastAttachment" not in interface:
        return interface
    return {**interface, "Attachment": interface["_LastAttachment"]}


@action("DeleteNetworkInterface")
def delete_network_interface(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    interface = ids.find(call, "network-interface", params.get("NetworkInterfaceId"))
    dependencies.check(call, "network-interface", interface["NetworkInterfaceId"])
    remove(call, interface)
    return {}


def remove(call: Call, interface: Interface) -> None:
    """Deletes an interface: its addresses are free again, and elastic IPs are left without a place."""
    interface_id = interface["NetworkInterfaceId"]
    for address in call.cloud.by("elastic-ip", "NetworkInterfaceId", interface_id):
        call.cloud.put("elastic-ip", address["AllocationId"], without_place(address))
    flow_logs.forget(call, interface_id)
    call.cloud.delete("network-interface", interface_id)
    subnet_addresses.give_back(call, interface["SubnetId"], len(interface["PrivateIpAddresses"]))


_PLACE = (
    "AssociationId",
    "InstanceId",
    "NetworkInterfaceId",
    "NetworkInterfaceOwnerId",
    "PrivateIpAddress",
    "SubnetId",
)


def without_place(address: dict[str, Any]) -> dict[str, Any]:
    """An elastic IP that is associated with nothing."""
    return {name: value for name, value in address.items() if name not in _PLACE}
