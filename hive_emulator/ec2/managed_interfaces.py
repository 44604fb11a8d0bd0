"""Network interfaces that a service of AWS makes and holds: of NAT gateways, endpoints, transit gateways."""

from __future__ import annotations

from typing import Any

from hive_emulator.action import Call
from hive_emulator.ec2 import ids, network_interfaces


def create(
    call: Call, subnet: dict[str, Any], wanted: dict[str, Any], groups: list[dict[str, str]] | None = None
) -> dict[str, Any]:
    """An interface that only its service may detach; ``wanted`` has CreateNetworkInterface's members."""
    interface = network_interfaces.create(call, subnet, wanted, requester=call.account)
    attachment = {
        "AttachmentId": ids.new("ela-attach"),
        "DeleteOnTermination": False,
        "DeviceIndex": 1,
        "InstanceOwnerId": "amazon-aws",
        "Status": "attached",
    }
    changed = {**interface, "Attachment": attachment, "Groups": groups or [], "Status": "in-use"}
    return call.cloud.put("network-interface", interface["NetworkInterfaceId"], changed)


def remove(call: Call, interface_id: str) -> None:
    network_interfaces.remove(call, ids.find(call, "network-interface", interface_id))
