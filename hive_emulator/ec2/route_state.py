"""Whether a route leads anywhere: ``active``, or ``blackhole`` once its target is gone.

It is looked up when a table is described, so that it is right whatever happened to the target.
"""

from __future__ import annotations

from typing import Any

from hive_emulator.action import Call


def shown(call: Call, table: dict[str, Any]) -> dict[str, Any]:
    """The table with the state of each route as it is now; the very same record when nothing differs."""
    routes = [_with_state(call, table["VpcId"], route) for route in table["Routes"]]
    if all(new is old for new, old in zip(routes, table["Routes"], strict=True)):
        return table
    return {**table, "Routes": routes}


def _with_state(call: Call, vpc_id: str, route: dict[str, Any]) -> dict[str, Any]:
    """The route with its state; an instance is named while the interface is attached to it."""
    state = "active" if _leads_somewhere(call, vpc_id, route) else "blackhole"
    if route["State"] == state:
        return route
    gone = ("InstanceId", "InstanceOwnerId") if state == "blackhole" else ()
    return {**{name: value for name, value in route.items() if name not in gone}, "State": state}


def _leads_somewhere(call: Call, vpc_id: str, route: dict[str, Any]) -> bool:
    get = call.cloud.get
    if "NatGatewayId" in route:
        nat = get("natgateway", route["NatGatewayId"])
        return nat is not None and nat["State"] in ("pending", "available")
    if "NetworkInterfaceId" in route:
        interface = get("network-interface", route["NetworkInterfaceId"])
        return interface is not None and interface["Status"] == "in-use"
    if "EgressOnlyInternetGatewayId" in route:
        return get("egress-only-internet-gateway", route["EgressOnlyInternetGatewayId"]) is not None
    if "VpcPeeringConnectionId" in route:
        peering = get("vpc-peering-connection", route["VpcPeeringConnectionId"])
        return peering is not None and peering["Status"]["Code"] == "active"
    if "TransitGatewayId" in route:
        attached = call.cloud.by("transit-gateway-attachment", "VpcId", vpc_id)
        return any(each["TransitGatewayId"] == route["TransitGatewayId"] for each in attached)
    if route.get("GatewayId", "local") == "local":
        return True
    if route["GatewayId"].startswith("vpce-"):
        return get("vpc-endpoint", route["GatewayId"]) is not None
    wanted = route["GatewayId"]
    gateway: dict[str, Any] = get("internet-gateway", wanted) or get("vpn-gateway", wanted) or {}
    attachments = gateway.get("Attachments") or gateway.get("VpcAttachments", ())
    return any(each["VpcId"] == vpc_id and each["State"] != "detached" for each in attachments)
