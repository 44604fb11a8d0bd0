"""The interfaces that a launch asks for: as one list of specs, and made real for each instance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hive_emulator.action import Call
from hive_emulator.ec2 import (
    default_vpc,
    ids,
    network_interface_attachments,
    network_interfaces,
    parameters,
    permissions,
    tagging,
)

Spec = dict[str, Any]

# Where they stand in the request itself, they describe the one interface of the instance.
_OF_REQUEST = (
    "SubnetId",
    "SecurityGroupIds",
    "SecurityGroups",
    "PrivateIpAddress",
    "Ipv6Addresses",
    "Ipv6AddressCount",
    "EnablePrimaryIpv6",
)
_NOT_HERE = (
    "AssociateCarrierIpAddress",
    "EnaQueueCount",
    "EnaSrdSpecification",
    "Ipv4PrefixCount",
    "Ipv4Prefixes",
    "Ipv6PrefixCount",
    "Ipv6Prefixes",
)


def specs(params: dict[str, Any]) -> list[Spec]:
    """One spec for each interface, the primary one first, each with its subnet left open where none is named."""
    listed = params.get("NetworkInterfaces")
    for spec in listed or ():
        parameters.refuse(spec, *_NOT_HERE)
    if "SecurityGroups" in params and "SubnetId" in params:
        raise parameters.combination("The parameter groupName cannot be used with the parameter subnet")
    if not listed:
        renamed = {"SecurityGroupIds": "Groups", "EnablePrimaryIpv6": "PrimaryIpv6"}
        return [{"DeviceIndex": 0, **{renamed.get(key, key): params[key] for key in _OF_REQUEST if key in params}}]
    for member in _OF_REQUEST:
        if member in params:
            raise parameters.combination(
                f"Network interfaces and an instance-level {member} may not be specified on the same request"
            )
    indexes = [spec.get("DeviceIndex", 0) for spec in listed]
    if len(set(indexes)) < len(indexes) or 0 not in indexes:
        raise parameters.combination(
            f"Each network interface needs a device index of its own, and one of them 0. Found: {indexes}"
        )
    if len(listed) > 1 and any("AssociatePublicIpAddress" in spec for spec in listed):
        raise parameters.combination(
            "The associatePublicIPAddress parameter cannot be specified when launching with multiple network "
            "interfaces."
        )
    return sorted(listed, key=lambda spec: spec.get("DeviceIndex", 0))


def check_for_many(wanted: list[Spec], most: int) -> None:
    """An interface that exists, or an address, can't be given to several instances."""
    for spec in wanted:
        for member in ("NetworkInterfaceId", "PrivateIpAddress", "PrivateIpAddresses", "Ipv6Addresses"):
            if most > 1 and member in spec:
                raise parameters.combination(f"{member} can't be specified when launching several instances")


def subnet_of(call: Call, spec: Spec, zone: str | None) -> dict[str, Any]:
    """The subnet of a spec: of the interface it names, the one it names, or the default one of the zone."""
    if "NetworkInterfaceId" in spec:
        interface = ids.find(call, "network-interface", spec["NetworkInterfaceId"])
        return ids.find(call, "subnet", interface["SubnetId"])
    if "SubnetId" in spec:
        return ids.find(call, "subnet", spec["SubnetId"])
    return default_vpc.subnet(call, zone)


def attach_all(
    call: Call, instance_id: str, wanted: Sequence[Spec], subnet: dict[str, Any], tags: tagging.Tags
) -> list[dict[str, Any]]:
    """The interfaces of one new instance, attached. ``subnet`` is the primary one's."""
    attached = []
    for spec in wanted:
        existing = "NetworkInterfaceId" in spec
        if existing:
            interface = ids.find(call, "network-interface", spec["NetworkInterfaceId"])
            network_interface_attachments.refuse_if_in_use(interface)
        else:
            home = ids.find(call, "subnet", spec.get("SubnetId", subnet["SubnetId"]))
            interface = _create(call, spec, home, tags, alone=len(wanted) == 1)
        if interface["AvailabilityZone"] != subnet["AvailabilityZone"]:
            raise parameters.combination(
                "You may not attach a network interface to an instance if they are not in the same availability zone"
            )
        attached.append(
            network_interface_attachments.attach(
                call,
                interface,
                instance_id,
                spec.get("DeviceIndex", 0),
                delete_on_termination=spec.get("DeleteOnTermination", not existing),
                card=spec.get("NetworkCardIndex", 0),
            )
        )
    return attached


def _create(call: Call, spec: Spec, subnet: dict[str, Any], tags: tagging.Tags, *, alone: bool) -> dict[str, Any]:
    groups = spec.get("Groups")
    if "SecurityGroups" in spec:
        named = [permissions.named(call, name, subnet["VpcId"])["GroupId"] for name in spec["SecurityGroups"]]
        groups = [*(groups or ()), *named]
    wanted = {**spec, "Groups": groups, "EnablePrimaryIpv6": spec.get("PrimaryIpv6", False)}
    public = spec.get("AssociatePublicIpAddress", alone and subnet["MapPublicIpOnLaunch"])
    return network_interfaces.create(call, subnet, wanted, tags=tags, public=public)
