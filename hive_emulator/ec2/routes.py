"""Routes of a table: a destination and one target."""

from __future__ import annotations

import ipaddress
from typing import Any

from hive_emulator.action import Call, action
from hive_emulator.ec2 import cidrs, ids, limits, prefix_lists
from hive_emulator.errors import ApiError

Route = dict[str, Any]

_DESTINATIONS = ("DestinationCidrBlock", "DestinationIpv6CidrBlock", "DestinationPrefixListId")
# Targets of other clouds' parts, which this one doesn't have: their ids can't exist.
_ELSEWHERE = {
    "LocalGatewayId": "InvalidLocalGatewayID.NotFound",
    "CarrierGatewayId": "InvalidCarrierGatewayID.NotFound",
    "CoreNetworkArn": "InvalidCoreNetworkArn.NotFound",
    "OdbNetworkArn": "InvalidOdbNetworkArn.NotFound",
}
_TARGETS = (
    "GatewayId",
    "NatGatewayId",
    "NetworkInterfaceId",
    "InstanceId",
    "EgressOnlyInternetGatewayId",
    "VpcEndpointId",
    "VpcPeeringConnectionId",
    "TransitGatewayId",
    *_ELSEWHERE,
)


@action("CreateRoute")
def create_route(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    table = ids.find(call, "route-table", params.get("RouteTableId"))
    destination = _destination(call, params)
    if _place(table, destination) is not None:
        [block] = destination.values()
        raise ApiError("RouteAlreadyExists", f"The route identified by {block} already exists.")
    add(call, table, {**destination, **_target(call, table, params)})
    return {"Return": True}


def add(call: Call, table: dict[str, Any], route: Route) -> None:
    """Appends a route to a table."""
    made = sum(_weight(call, each) for each in table["Routes"] if each["Origin"] == "CreateRoute")
    more = _weight(call, route)
    limits.check(call, "routes-per-table", lambda: range(made), "RouteLimitExceeded", "routes", more=more)
    added = {**route, "Origin": "CreateRoute", "State": "active"}
    call.cloud.put("route-table", table["RouteTableId"], {**table, "Routes": [*table["Routes"], added]})


def _weight(call: Call, route: Route) -> int:
    """How many routes it counts as: one to a prefix list as the entries that the list may have."""
    return prefix_lists.weight(call, route["DestinationPrefixListId"]) if "DestinationPrefixListId" in route else 1


@action("ReplaceRoute")
def replace_route(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    table = ids.find(call, "route-table", params.get("RouteTableId"))
    destination = _destination(call, params)
    place = _place(table, destination)
    if place is None:
        [block] = destination.values()
        raise ApiError(
            "InvalidParameterValue",
            f"There is no route defined for '{block}' in the route table. Use CreateRoute instead.",
        )
    routes = list(table["Routes"])
    if params.get("LocalTarget") and routes[place]["Origin"] != "CreateRouteTable":
        raise ApiError(
            "InvalidParameterValue", "Only the local route of one of the VPC's blocks can be made local again"
        )
    target = {"GatewayId": "local"} if params.get("LocalTarget") else _target(call, table, params)
    routes[place] = {**destination, **target, "Origin": routes[place]["Origin"], "State": "active"}
    call.cloud.put("route-table", table["RouteTableId"], {**table, "Routes": routes})
    return {}


@action("DeleteRoute")
def delete_route(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    table = ids.find(call, "route-table", params.get("RouteTableId"))
    destination = _destination(call, params)
    [(member, block)] = destination.items()
    place = _place(table, destination)
    if place is None:
        name = {"DestinationCidrBlock": "cidr-block", "DestinationIpv6CidrBlock": "ipv6-cidr-block"}
        kind = name.get(member, "prefix-list-id")
        raise ApiError(
            "InvalidRoute.NotFound",
            f"no route with destination-{kind} {block} in route table {table['RouteTableId']}",
        )
    if member == "DestinationPrefixListId" and _is_of_gateway_endpoint(call, table["Routes"][place]):
        raise ApiError(
            "InvalidParameterValue",
            f"cannot remove VPC endpoint route {block} in route table {table['RouteTableId']}",
        )
    if table["Routes"][place]["Origin"] == "CreateRouteTable":
        raise ApiError(
            "InvalidParameterValue",
            f"cannot remove local route {block} in route table {table['RouteTableId']}",
        )
    kept = [route for index, route in enumerate(table["Routes"]) if index != place]
    call.cloud.put("route-table", table["RouteTableId"], {**table, "Routes": kept})
    return {}


def _destination(call: Call, params: dict[str, Any]) -> dict[str, str]:
    given = [name for name in _DESTINATIONS if name in params]
    if len(given) != 1:
        raise ApiError(
            "MissingParameter" if not given else "InvalidParameterCombination",
            f"The request must contain exactly one of {', '.join(_DESTINATIONS)}, {len(given)} were given",
        )
    [name] = given
    if name == "DestinationCidrBlock":
        return {name: str(cidrs.ipv4(params[name], "destinationCidrBlock"))}
    if name == "DestinationIpv6CidrBlock":
        return {name: str(cidrs.ipv6(params[name], "destinationIpv6CidrBlock"))}
    return {name: prefix_lists.find(call, params[name])["PrefixListId"]}


def _place(table: dict[str, Any], destination: dict[str, str]) -> int | None:
    [(name, block)] = destination.items()
    for index, route in enumerate(table["Routes"]):
        if route.get(name) == block:
            return index
    return None


def _target(call: Call, table: dict[str, Any], params: dict[str, Any]) -> Route:
    given = [name for name in _TARGETS if name in params]
    if len(given) != 1:
        raise ApiError(
            "MissingParameter" if not given else "InvalidParameterCombination",
            f"The request must contain exactly one target, found: {', '.join(given) or 'none'}",
        )
    [name] = given
    wanted = params[name]
    if name in _ELSEWHERE:
        raise ApiError(_ELSEWHERE[name], f"The {name} '{wanted}' does not exist")
    target = _FINDERS[name](call, table, wanted)
    if "EgressOnlyInternetGatewayId" in target and "DestinationCidrBlock" in params:
        raise ApiError("InvalidParameterValue", f"{wanted} is a way out for IPv6 only, not for an IPv4 destination")
    if "NetworkInterfaceId" not in target and "NatGatewayId" not in target:
        _refuse_inside(call, table, _destination(call, params))
    return target


def _refuse_inside(call: Call, table: dict[str, Any], destination: dict[str, str]) -> None:
    """What is meant for the VPC itself can't be sent out of it."""
    vpc = ids.find(call, "vpc", table["VpcId"])
    [(member, block)] = destination.items()
    own = [*cidrs.ipv4_blocks(vpc), *cidrs.ipv6_blocks(vpc)]
    if member != "DestinationPrefixListId" and cidrs.inside(ipaddress.ip_network(block), own):
        raise ApiError(
            "InvalidParameterValue",
            f"The destination CIDR block {block} is equal to or more specific than one of this VPC's CIDR blocks. "
            "This route can target only an interface, an instance or a NAT gateway.",
        )


def _internet_gateway(call: Call, table: dict[str, Any], wanted: str) -> Route:
    if wanted == "local":
        raise ApiError("InvalidParameterValue", "Local routes come with the VPC's address blocks")
    if wanted.startswith("eigw-"):
        return _egress_gateway(call, table, wanted)
    gateway = call.cloud.get("internet-gateway", wanted) or call.cloud.get("vpn-gateway", wanted)
    if gateway is None:
        raise ApiError("InvalidGatewayID.NotFound", f"The gateway ID '{wanted}' does not exist")
    attachments = gateway.get("Attachments") or gateway.get("VpcAttachments", [])
    if all(each["VpcId"] != table["VpcId"] or each["State"] == "detached" for each in attachments):
        raise _different_networks(table, "network gateway", wanted)
    return {"GatewayId": wanted}


def _egress_gateway(call: Call, table: dict[str, Any], wanted: str) -> Route:
    gateway = ids.find(call, "egress-only-internet-gateway", wanted)
    if gateway["Attachments"][0]["VpcId"] != table["VpcId"]:
        raise _different_networks(table, "egress-only internet gateway", wanted)
    return {"EgressOnlyInternetGatewayId": wanted}


def _nat_gateway(call: Call, table: dict[str, Any], wanted: str) -> Route:
    gateway = call.cloud.get("natgateway", wanted)
    if gateway is None or gateway["State"] == "deleted":
        raise ApiError("InvalidNatGatewayID.NotFound", f"The natGateway ID '{wanted}' does not exist")
    if gateway["VpcId"] != table["VpcId"]:
        raise _different_networks(table, "NAT gateway", wanted)
    return {"NatGatewayId": wanted}


def _interface(call: Call, table: dict[str, Any], wanted: str) -> Route:
    interface = ids.find(call, "network-interface", wanted)
    if interface["VpcId"] != table["VpcId"]:
        raise _different_networks(table, "network interface", wanted)
    attachment = interface.get("Attachment", {})
    if "InstanceId" not in attachment:
        return {"NetworkInterfaceId": wanted}
    return {
        "NetworkInterfaceId": wanted,
        "InstanceId": attachment["InstanceId"],
        "InstanceOwnerId": call.account,
    }


def _instance(call: Call, table: dict[str, Any], wanted: str) -> Route:
    ids.find(call, "instance", wanted)
    interfaces = call.cloud.by("network-interface", "InstanceId", wanted)
    if len(interfaces) != 1:
        raise ApiError(
            "InvalidInstanceID",
            f"There are {len(interfaces)} interfaces attached to instance '{wanted}'. Please specify an "
            "interface ID for the operation instead.",
        )
    return _interface(call, table, interfaces[0]["NetworkInterfaceId"])


def _is_of_gateway_endpoint(call: Call, route: Route) -> bool:
    endpoint = call.cloud.get("vpc-endpoint", route.get("GatewayId", ""))
    return endpoint is not None and endpoint["VpcEndpointType"] == "Gateway"


def _endpoint(call: Call, table: dict[str, Any], wanted: str) -> Route:
    """A gateway load balancer's endpoint; the routes of gateway endpoints come with these."""
    endpoint = ids.find(call, "vpc-endpoint", wanted)
    if endpoint["VpcEndpointType"] != "GatewayLoadBalancer":
        raise ApiError("InvalidParameterValue", f"{wanted} is not a gateway load balancer endpoint")
    if endpoint["VpcId"] != table["VpcId"]:
        raise _different_networks(table, "VPC endpoint", wanted)
    return {"GatewayId": wanted}


def _peering(call: Call, table: dict[str, Any], wanted: str) -> Route:
    """One of either side's; until it is active the route is a black hole."""
    peering = ids.find(call, "vpc-peering-connection", wanted)
    if peering["Status"]["Code"] not in ("pending-acceptance", "active"):
        raise ids.not_found("vpc-peering-connection", wanted)
    if table["VpcId"] not in (peering["RequesterVpcInfo"]["VpcId"], peering["AccepterVpcInfo"]["VpcId"]):
        raise _different_networks(table, "vpc peering connection", wanted)
    return {"VpcPeeringConnectionId": wanted}


def _transit_gateway(call: Call, table: dict[str, Any], wanted: str) -> Route:
    ids.find(call, "transit-gateway", wanted)
    attached = call.cloud.by("transit-gateway-attachment", "VpcId", table["VpcId"])
    if all(each["TransitGatewayId"] != wanted for each in attached):
        raise ids.not_found("transit-gateway", wanted)
    return {"TransitGatewayId": wanted}


def _different_networks(table: dict[str, Any], noun: str, wanted: str) -> ApiError:
    return ApiError(
        "InvalidParameterValue",
        f"route table {table['RouteTableId']} and {noun} {wanted} belong to different networks",
    )


_FINDERS = {
    "GatewayId": _internet_gateway,
    "NatGatewayId": _nat_gateway,
    "NetworkInterfaceId": _interface,
    "InstanceId": _instance,
    "EgressOnlyInternetGatewayId": _egress_gateway,
    "VpcEndpointId": _endpoint,
    "VpcPeeringConnectionId": _peering,
    "TransitGatewayId": _transit_gateway,
}
