"""Elastic IP addresses: allocated, put on an interface or an instance, and released."""

from __future__ import annotations

import ipaddress
from typing import Any

from hive_emulator.action import Call, action
from hive_emulator.ec2 import (
    dependencies,
    filters,
    ids,
    instance_view,
    limits,
    network_interfaces,
    paging,
    parameters,
    public_addresses,
    tagging,
)
from hive_emulator.errors import ApiError

Address = dict[str, Any]

NAT = "nat_gateway"  # the type of a NAT gateway's interface

FILTERS = filters.table(
    "DescribeAddresses",
    {
        "allocation-id": "AllocationId",
        "association-id": "AssociationId",
        "domain": "Domain",
        "instance-id": "InstanceId",
        "network-border-group": "NetworkBorderGroup",
        "network-interface-id": "NetworkInterfaceId",
        "network-interface-owner-id": "NetworkInterfaceOwnerId",
        "private-ip-address": "PrivateIpAddress",
        "public-ip": "PublicIp",
    },
)


@action("AllocateAddress")
def allocate_address(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    parameters.refuse(params, "CustomerOwnedIpv4Pool", "IpamPoolId")
    limits.check(call, "addresses", lambda: call.cloud.all("elastic-ip"), "AddressLimitExceeded", "addresses")
    allocation_id = ids.new("eipalloc")
    record = {
        "AllocationId": allocation_id,
        "PublicIp": _public_address(call, params.get("Address")),
        "PublicIpv4Pool": "amazon",
        "NetworkBorderGroup": call.region,
        "Domain": "vpc",
        "Tags": tagging.on_create(params, "elastic-ip"),
    }
    return call.cloud.put("elastic-ip", allocation_id, record)


def _public_address(call: Call, wanted: str | None) -> str:
    """The address that was asked for (one that was released before), or any."""
    if wanted is None:
        return public_addresses.free(call)
    try:
        in_pool = ipaddress.IPv4Address(wanted) in public_addresses.POOL
    except ValueError:
        in_pool = False
    if not in_pool:
        raise ApiError("InvalidParameterValue", f"Address {wanted} is not in the pool {public_addresses.POOL}")
    if public_addresses.taken(call, wanted):
        raise ApiError("InvalidAddress.InUse", f"Address {wanted} is in use.")
    return wanted


@action("DescribeAddresses")
def describe_addresses(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    found = ids.find_all(call, "elastic-ip", params.get("AllocationIds"))
    if "PublicIps" in params:
        by_address = [_by_public_address(call, each) for each in dict.fromkeys(params["PublicIps"])]
        found = [*found, *by_address] if "AllocationIds" in params else by_address
    return {"Addresses": filters.apply(found, params.get("Filters"), FILTERS)}


def _by_public_address(call: Call, wanted: str) -> Address:
    for address in call.cloud.by("elastic-ip", "PublicIp", wanted):
        return address
    raise ApiError("InvalidAddress.NotFound", f"Address '{wanted}' not found.")


def _of_call(call: Call, params: dict[str, Any]) -> Address:
    if "AllocationId" in params:
        return ids.find(call, "elastic-ip", params["AllocationId"])
    if "PublicIp" in params:
        return _by_public_address(call, params["PublicIp"])
    raise ApiError("MissingParameter", "Either public IP or allocation id must be specified")


@action("DescribeAddressesAttribute")
def describe_addresses_attribute(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """Reverse DNS names. Nothing sets them here, so no address has one."""
    found = ids.find_all(call, "elastic-ip", params.get("AllocationIds"))
    shown = [{"PublicIp": each["PublicIp"], "AllocationId": each["AllocationId"]} for each in found]
    return paging.page("Addresses", shown, params, "AllocationId", lowest=1)


@action("ReleaseAddress")
def release_address(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    address = _of_call(call, params)
    if _in_default_vpc(call, address):
        # There, and only there, AWS takes the address off whatever has it.
        address = disassociate(call, address)
    dependencies.check(call, "elastic-ip", address["AllocationId"])
    call.cloud.delete("elastic-ip", address["AllocationId"])
    return {}


def _in_default_vpc(call: Call, address: Address) -> bool:
    if "NetworkInterfaceId" not in address:
        return False
    interface = ids.find(call, "network-interface", address["NetworkInterfaceId"])
    return interface["InterfaceType"] != NAT and ids.find(call, "vpc", interface["VpcId"])["IsDefault"]


@action("AssociateAddress")
def associate_address(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    address = _of_call(call, params)
    interface = _interface(call, params)
    _refuse_of_nat_gateway(address, interface)
    private = params.get("PrivateIpAddress", interface["PrivateIpAddress"])
    if all(each["PrivateIpAddress"] != private for each in interface["PrivateIpAddresses"]):
        raise ApiError(
            "InvalidParameterValue",
            f"The private IP address {private} is not assigned to {interface['NetworkInterfaceId']}",
        )
    _check_gateway(call, interface["VpcId"])
    if "AssociationId" in address:
        if (
            address["NetworkInterfaceId"] == interface["NetworkInterfaceId"]
            and address["PrivateIpAddress"] == private
        ):
            return {"AssociationId": address["AssociationId"]}
        _refuse_of_nat_gateway(address, ids.find(call, "network-interface", address["NetworkInterfaceId"]))
        if params.get("AllowReassociation") is False:
            raise ApiError(
                "Resource.AlreadyAssociated",
                f"resource {address['AllocationId']} is already associated with associate-id "
                f"{address['AssociationId']}",
            )
        address = disassociate(call, address)
    return {"AssociationId": associate(call, address, interface["NetworkInterfaceId"], private)}


def _interface(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    if "NetworkInterfaceId" in params:
        return ids.find(call, "network-interface", params["NetworkInterfaceId"])
    instance = ids.find(call, "instance", params.get("InstanceId"))
    if instance["State"]["Name"] in ("pending", "shutting-down", "terminated"):
        raise ApiError(
            "InvalidInstanceID",
            f"The instance '{instance['InstanceId']}' is not in a valid state for this operation.",
        )
    interfaces = call.cloud.by("network-interface", "InstanceId", instance["InstanceId"])
    if len(interfaces) > 1:
        raise ApiError(
            "InvalidInstanceID",
            f"There are multiple interfaces attached to instance '{instance['InstanceId']}'. "
            "Please specify an interface ID for the operation instead.",
        )
    return interfaces[0]


def _check_gateway(call: Call, vpc_id: str) -> None:
    if not call.cloud.by("internet-gateway", "VpcId", vpc_id):
        raise ApiError("Gateway.NotAttached", f"Network {vpc_id} is not attached to any internet gateway")


def associate(call: Call, address: Address, interface_id: str, private: str) -> str:
    """Puts a free elastic IP on a private address; another one that is there goes off it."""
    for other in call.cloud.by("elastic-ip", "NetworkInterfaceId", interface_id):
        if other["PrivateIpAddress"] == private:
            disassociate(call, other)
    interface = ids.find(call, "network-interface", interface_id)
    association_id = ids.new("eipassoc")
    place = {
        "AssociationId": association_id,
        "NetworkInterfaceId": interface_id,
        "NetworkInterfaceOwnerId": call.account,
        "PrivateIpAddress": private,
        "SubnetId": interface["SubnetId"],
    }
    if "InstanceId" in interface.get("Attachment", {}):
        place["InstanceId"] = interface["Attachment"]["InstanceId"]
    call.cloud.put("elastic-ip", address["AllocationId"], {**address, **place})
    own = {"AllocationId": address["AllocationId"], "AssociationId": association_id}
    seen_as = public_addresses.association(call, address["PublicIp"], **own)
    changed = public_addresses.on_interface(interface, private, seen_as)
    instance_view.keep(call, changed)
    return association_id


def disassociate(call: Call, address: Address) -> Address:
    """Takes an elastic IP off the interface that has it; returns it, free."""
    interface = call.cloud.get("network-interface", address["NetworkInterfaceId"])
    if interface is not None:
        changed = public_addresses.on_interface(interface, address["PrivateIpAddress"], None)
        instance_view.keep(call, changed)
    free = network_interfaces.without_place(address)
    return call.cloud.put("elastic-ip", address["AllocationId"], free)


@action("DisassociateAddress")
def disassociate_address(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    if "AssociationId" in params:
        wanted = params["AssociationId"]
        found = call.cloud.by("elastic-ip", "AssociationId", wanted)
        if not found:
            raise ApiError("InvalidAssociationID.NotFound", f"The association ID '{wanted}' does not exist")
        address: Address = found[0]
    else:
        address = _of_call(call, params)
    if "AssociationId" not in address:
        raise ApiError("InvalidAssociationID.NotFound", f"The address '{address['PublicIp']}' is not associated")
    _refuse_of_nat_gateway(address, ids.find(call, "network-interface", address["NetworkInterfaceId"]))
    disassociate(call, address)
    return {}


def _refuse_of_nat_gateway(address: Address, interface: dict[str, Any]) -> None:
    """A NAT gateway's address is on its interface for life: nobody else may move it, or put one there."""
    if interface["InterfaceType"] == NAT:
        what = f"{address['PublicIp']} on {interface['NetworkInterfaceId']}"
        raise ApiError("AuthFailure", f"You can't change what a NAT gateway's interface has: {what}", 403)
