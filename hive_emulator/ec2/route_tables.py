"""Route tables: a VPC's main one and others. See also ``route_associations`` and ``routes``."""

from __future__ import annotations

from typing import Any

from hive_emulator.action import Call, action
from hive_emulator.ec2 import cidrs, dependencies, filters, ids, limits, paging, route_state, tagging, vpc_endpoints

_LOCAL = {"GatewayId": "local", "Origin": "CreateRouteTable", "State": "active"}

FILTERS = filters.table(
    "DescribeRouteTables",
    {
        "association.gateway-id": "Associations.GatewayId",
        "association.main": "Associations.Main",
        "association.route-table-association-id": "Associations.RouteTableAssociationId",
        "association.route-table-id": "Associations.RouteTableId",
        "association.subnet-id": "Associations.SubnetId",
        "owner-id": "OwnerId",
        "route-table-id": "RouteTableId",
        "route.destination-cidr-block": "Routes.DestinationCidrBlock",
        "route.destination-ipv6-cidr-block": "Routes.DestinationIpv6CidrBlock",
        "route.destination-prefix-list-id": "Routes.DestinationPrefixListId",
        "route.egress-only-internet-gateway-id": "Routes.EgressOnlyInternetGatewayId",
        "route.gateway-id": "Routes.GatewayId",
        "route.instance-id": "Routes.InstanceId",
        "route.nat-gateway-id": "Routes.NatGatewayId",
        "route.origin": "Routes.Origin",
        "route.state": "Routes.State",
        "route.transit-gateway-id": "Routes.TransitGatewayId",
        "route.vpc-peering-connection-id": "Routes.VpcPeeringConnectionId",
        "vpc-id": "VpcId",
    },
)


@action("CreateRouteTable")
def create_route_table(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    vpc = ids.find(call, "vpc", params.get("VpcId"))
    answer = {"RouteTable": create(call, vpc, tags=tagging.on_create(params, "route-table"))}
    return {**answer, "ClientToken": params["ClientToken"]} if "ClientToken" in params else answer


def create(
    call: Call, vpc: dict[str, Any], *, main: bool = False, tags: tagging.Tags | None = None
) -> dict[str, Any]:
    """A table with the VPC's local routes."""
    limits.check(
        call,
        "route-tables-per-vpc",
        lambda: call.cloud.by("route-table", "VpcId", vpc["VpcId"]),
        "RouteTableLimitExceeded",
        "route tables",
    )
    table_id = ids.new("rtb")
    record = {
        "RouteTableId": table_id,
        "VpcId": vpc["VpcId"],
        "OwnerId": call.account,
        "Associations": [association(table_id, {}, main=True)] if main else [],
        "PropagatingVgws": [],
        "Routes": _local_routes(vpc),
        "Tags": tags or [],
    }
    return call.cloud.put("route-table", table_id, record)


def association(table_id: str, of: dict[str, str], *, main: bool = False) -> dict[str, Any]:
    """An entry of ``Associations``: the VPC's main one, or one of a subnet or a gateway."""
    return {
        "RouteTableAssociationId": ids.new("rtbassoc"),
        "RouteTableId": table_id,
        "Main": main,
        "AssociationState": {"State": "associated"},
        **of,
    }


def _local_routes(vpc: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"DestinationCidrBlock": block, **_LOCAL} for block in cidrs.ipv4_blocks(vpc)] + [
        {"DestinationIpv6CidrBlock": block, **_LOCAL} for block in cidrs.ipv6_blocks(vpc)
    ]


def refresh_local_routes(call: Call, vpc: dict[str, Any]) -> None:
    """Gives every table of a VPC the local routes of its present blocks; one that was replaced stays so."""
    for table in call.cloud.by("route-table", "VpcId", vpc["VpcId"]):
        before = {_block(route): route for route in table["Routes"] if route["Origin"] == _LOCAL["Origin"]}
        others = [route for route in table["Routes"] if route["Origin"] != _LOCAL["Origin"]]
        routes = [before.get(_block(route), route) for route in _local_routes(vpc)]
        call.cloud.put("route-table", table["RouteTableId"], {**table, "Routes": [*routes, *others]})


def _block(route: dict[str, Any]) -> str:
    return route.get("DestinationCidrBlock") or route["DestinationIpv6CidrBlock"]


def forget(call: Call, vpc_id: str, associated: str) -> None:
    """Ends the association of a subnet or a gateway that goes away."""
    for table in call.cloud.by("route-table", "VpcId", vpc_id):
        kept = [
            each for each in table["Associations"] if associated not in (each.get("SubnetId"), each.get("GatewayId"))
        ]
        if len(kept) != len(table["Associations"]):
            call.cloud.put("route-table", table["RouteTableId"], {**table, "Associations": kept})


@action("DescribeRouteTables")
def describe_route_tables(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    tables = ids.find_all(call, "route-table", params.get("RouteTableIds"))
    found = [route_state.shown(call, table) for table in tables]
    chosen = filters.apply(found, params.get("Filters"), FILTERS)
    return paging.page("RouteTables", chosen, params, "RouteTableId", highest=100)


@action("DeleteRouteTable")
def delete_route_table(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    table = ids.find(call, "route-table", params.get("RouteTableId"))
    table_id = table["RouteTableId"]
    dependencies.check(call, "route-table", table_id)
    vpc_endpoints.forget_table(call, table)
    call.cloud.delete("route-table", table_id)
    return {}
