"""What happens to an instance's interfaces when it stops, starts and ends."""

from __future__ import annotations

from typing import Any

from hive_emulator.action import Call
from hive_emulator.ec2 import network_interface_attachments, network_interfaces, public_addresses
from hive_emulator.ec2.instance_view import keep, of

Interface = dict[str, Any]


def stopped(call: Call, instance_id: str) -> None:
    """An address that came from Amazon's pool at the launch goes back there; elastic IPs stay."""
    for interface in of(call, instance_id):
        if _is_lent(interface):
            keep(call, {**_without_lent_address(interface), "_LendsPublicAddress": True})


def started(call: Call, instance_id: str) -> None:
    """An interface that had an address from the pool gets a new one."""
    for interface in of(call, instance_id):
        if interface.get("_LendsPublicAddress") and "Association" not in interface:
            lent = public_addresses.association(call, public_addresses.free(call))
            keep(call, public_addresses.on_interface(interface, interface["PrivateIpAddress"], lent))


def terminated(call: Call, instance_id: str) -> None:
    """Interfaces that go with the instance are deleted, the others are free again."""
    for interface in of(call, instance_id):
        if interface["Attachment"]["DeleteOnTermination"]:
            network_interfaces.remove(call, interface)
        else:
            own = _without_lent_address(interface) if _is_lent(interface) else interface
            network_interface_attachments.detach(call, own)


def _is_lent(interface: Interface) -> bool:
    return interface.get("Association", {}).get("IpOwnerId") == "amazon"


def _without_lent_address(interface: Interface) -> Interface:
    return public_addresses.on_interface(interface, interface["PrivateIpAddress"], None)
