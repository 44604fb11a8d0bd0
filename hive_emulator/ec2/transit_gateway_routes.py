"""Routes of a transit gateway's route table: static ones, and those that attachments propagate."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from typing import Any

from hive_emulator.action import Call, action
from hive_emulator.ec2 import cidrs, filters, ids, paging, parameters
from hive_emulator.ec2 import transit_gateway_route_tables as tables
from hive_emulator.ec2.transit_gateway_attachments import KIND as ATTACHMENT
from hive_emulator.ec2.transit_gateway_attachments import resource
from hive_emulator.errors import ApiError

Route = dict[str, Any]
Block = ipaddress.IPv4Network | ipaddress.IPv6Network

FILTERS = filters.table(
    "SearchTransitGatewayRoutes",
    {
        "attachment.resource-id": "TransitGatewayAttachments.ResourceId",
        "attachment.resource-type": "TransitGatewayAttachments.ResourceType",
        "attachment.transit-gateway-attachment-id": "TransitGatewayAttachments.TransitGatewayAttachmentId",
        "prefix-list-id": "PrefixListId",
        "route-search.exact-match": "DestinationCidrBlock",
        "route-search.longest-prefix-match": "DestinationCidrBlock",
        "route-search.subnet-of-match": "DestinationCidrBlock",
        "route-search.supernet-of-match": "DestinationCidrBlock",
        "state": "State",
        "type": "Type",
    },
)


@action("CreateTransitGatewayRoute")
def create_transit_gateway_route(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    table = ids.find(call, tables.KIND, params["TransitGatewayRouteTableId"])
    route = _route(call, table, params)
    if _static(table, route["DestinationCidrBlock"]):
        raise ApiError(
            "RouteAlreadyExists",
            f"Route {route['DestinationCidrBlock']} already exists in {table['TransitGatewayRouteTableId']}.",
        )
    return _keep(call, table, [*table["_Routes"], route], route)


@action("ReplaceTransitGatewayRoute")
def replace_transit_gateway_route(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    table = ids.find(call, tables.KIND, params["TransitGatewayRouteTableId"])
    route = _route(call, table, params)
    return _keep(call, table, [*_without(table, route["DestinationCidrBlock"]), route], route)


@action("DeleteTransitGatewayRoute")
def delete_transit_gateway_route(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    table = ids.find(call, tables.KIND, params["TransitGatewayRouteTableId"])
    block = _block(params["DestinationCidrBlock"])
    kept = _without(table, block)
    return _keep(call, table, kept, {**_shown(call, _static(table, block)[0]), "State": "deleted"})


def _keep(call: Call, table: dict[str, Any], routes: list[Route], answer: Route) -> dict[str, Any]:
    call.cloud.put(tables.KIND, table["TransitGatewayRouteTableId"], {**table, "_Routes": routes})
    return {"Route": answer}


def _static(table: dict[str, Any], block: str) -> list[Route]:
    return [each for each in table["_Routes"] if each["DestinationCidrBlock"] == block]


def _without(table: dict[str, Any], block: str) -> list[Route]:
    if not _static(table, block):
        raise ApiError("InvalidRoute.NotFound", f"Route {block} not found in {table['TransitGatewayRouteTableId']}.")
    return [each for each in table["_Routes"] if each["DestinationCidrBlock"] != block]


def _block(text: str) -> str:
    read: Callable[[str, str], Block] = cidrs.ipv6 if ":" in text else cidrs.ipv4
    return str(read(text, "destinationCidrBlock"))


def _route(call: Call, table: dict[str, Any], params: dict[str, Any]) -> Route:
    route = {"DestinationCidrBlock": _block(params["DestinationCidrBlock"]), "Type": "static"}
    wanted = params.get("TransitGatewayAttachmentId")
    if bool(params.get("Blackhole")) == bool(wanted):
        raise parameters.combination("A route has either an attachment or is a black hole")
    if not wanted:
        return {**route, "State": "blackhole"}
    attachment = ids.find(call, ATTACHMENT, wanted)
    if attachment["TransitGatewayId"] != table["TransitGatewayId"]:
        raise parameters.invalid(wanted, "transitGatewayAttachmentId", "an attachment of the same transit gateway")
    return {**route, "State": "active", "TransitGatewayAttachments": [_target(attachment)]}


def _target(attachment: dict[str, Any]) -> dict[str, str]:
    return {"TransitGatewayAttachmentId": attachment["TransitGatewayAttachmentId"], **resource(attachment)}


def _shown(call: Call, route: Route) -> Route:
    """A static route with its state as it is now: a black hole once its attachment is gone."""
    targets = route.get("TransitGatewayAttachments", [])
    if any(call.cloud.get(ATTACHMENT, each["TransitGatewayAttachmentId"]) for each in targets):
        return route
    return {key: value for key, value in route.items() if key != "TransitGatewayAttachments"} | {"State": "blackhole"}


def _propagated(call: Call, table: dict[str, Any]) -> list[Route]:
    """The blocks of each attached VPC that propagates into the table; a static route wins."""
    taken = {each["DestinationCidrBlock"] for each in table["_Routes"]}
    rows = []
    for attachment in tables.attachments(call, table):
        if table["TransitGatewayRouteTableId"] in attachment["_Propagations"]:
            vpc = ids.find(call, "vpc", attachment["VpcId"])
            target = {"TransitGatewayAttachments": [_target(attachment)], "Type": "propagated", "State": "active"}
            blocks = [*cidrs.ipv4_blocks(vpc), *cidrs.ipv6_blocks(vpc)]
            rows += [{"DestinationCidrBlock": each, **target} for each in blocks if each not in taken]
    return rows


@action("SearchTransitGatewayRoutes")
def search_transit_gateway_routes(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    table = ids.find(call, tables.KIND, params["TransitGatewayRouteTableId"])
    found = [*(_shown(call, each) for each in table["_Routes"]), *_propagated(call, table)]
    plain = []
    for one in params["Filters"]:
        search = _SEARCHES.get(one.get("Name", ""))
        if search is None:
            plain.append(one)
        else:
            wanted = [ipaddress.ip_network(_block(each)) for each in one.get("Values", ())]
            found = search(found, wanted)
    shown = paging.page("Routes", filters.apply(found, plain, FILTERS), params, "DestinationCidrBlock")
    return {**shown, "AdditionalRoutesAvailable": "NextToken" in shown}


def _inside(inner: Block, outer: Block) -> bool:
    return cidrs.inside(inner, [str(outer)])


def _network(route: Route) -> Block:
    return ipaddress.ip_network(route["DestinationCidrBlock"])


def _subnets(routes: list[Route], wanted: list[Block]) -> list[Route]:
    return [each for each in routes if any(_inside(_network(each), one) for one in wanted)]


def _supernets(routes: list[Route], wanted: list[Block]) -> list[Route]:
    return [each for each in routes if any(_inside(one, _network(each)) for one in wanted)]


def _longest(routes: list[Route], wanted: list[Block]) -> list[Route]:
    found = _supernets(routes, wanted)
    most = max((_network(each).prefixlen for each in found), default=0)
    return [each for each in found if _network(each).prefixlen == most]


_SEARCHES = {
    "route-search.longest-prefix-match": _longest,
    "route-search.subnet-of-match": _subnets,
    "route-search.supernet-of-match": _supernets,
}
