"""Transit gateways: kept and answered, nothing is carried. Attachments, route tables and routes are beside it."""

from __future__ import annotations

from typing import Any

from hive_emulator.action import Call, action
from hive_emulator.ec2 import (
    dependencies,
    filters,
    flow_logs,
    ids,
    limits,
    paging,
    partitions,
    tagging,
    transit_gateway_route_tables,
    vpn_gateways,
)

KIND = "transit-gateway"
_DEFAULTS = {
    "AmazonSideAsn": vpn_gateways.DEFAULT_ASN,
    "AutoAcceptSharedAttachments": "disable",
    "DefaultRouteTableAssociation": "enable",
    "DefaultRouteTablePropagation": "enable",
    "VpnEcmpSupport": "enable",
    "DnsSupport": "enable",
    "SecurityGroupReferencingSupport": "disable",
    "MulticastSupport": "disable",
}

FILTERS = filters.table(
    "DescribeTransitGateways",
    {
        "options.amazon-side-asn": "Options.AmazonSideAsn",
        "options.association-default-route-table-id": "Options.AssociationDefaultRouteTableId",
        "options.auto-accept-shared-attachments": "Options.AutoAcceptSharedAttachments",
        "options.default-route-table-association": "Options.DefaultRouteTableAssociation",
        "options.default-route-table-propagation": "Options.DefaultRouteTablePropagation",
        "options.dns-support": "Options.DnsSupport",
        "options.propagation-default-route-table-id": "Options.PropagationDefaultRouteTableId",
        "options.vpn-ecmp-support": "Options.VpnEcmpSupport",
        "owner-id": "OwnerId",
        "state": "State",
        "transit-gateway-id": "TransitGatewayId",
    },
)


@action("CreateTransitGateway")
def create_transit_gateway(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    held = call.cloud.all(KIND)
    limits.check(call, "transit-gateways", lambda: held, "TransitGatewayLimitExceeded", "transit gateways")
    options = {**_DEFAULTS, **params.get("Options", {})}
    vpn_gateways.checked_private_asn(options["AmazonSideAsn"])
    gateway_id = ids.new("tgw")
    uses = {
        "Association": options["DefaultRouteTableAssociation"] == "enable",
        "Propagation": options["DefaultRouteTablePropagation"] == "enable",
    }
    if any(uses.values()):
        table = transit_gateway_route_tables.create(call, gateway_id, [], uses)["TransitGatewayRouteTableId"]
        options |= {f"{use}DefaultRouteTableId": table for use, wanted in uses.items() if wanted}
    record = {
        "TransitGatewayId": gateway_id,
        "TransitGatewayArn": partitions.arn(call, f"transit-gateway/{gateway_id}"),
        "State": "available",
        "OwnerId": call.account,
        "Description": params.get("Description", ""),
        "CreationTime": call.timestamp(),
        "Options": options,
        "Tags": tagging.on_create(params, KIND),
    }
    return {"TransitGateway": {**call.cloud.put(KIND, gateway_id, record), "State": "pending"}}


@action("DescribeTransitGateways")
def describe_transit_gateways(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    found = ids.find_all(call, KIND, params.get("TransitGatewayIds"))
    chosen = filters.apply(found, params.get("Filters"), FILTERS)
    return paging.page("TransitGateways", chosen, params, "TransitGatewayId")


@action("ModifyTransitGateway")
def modify_transit_gateway(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    gateway = ids.find(call, KIND, params["TransitGatewayId"])
    given = dict(params.get("Options", {}))
    added, removed = given.pop("AddTransitGatewayCidrBlocks", []), given.pop("RemoveTransitGatewayCidrBlocks", [])
    options = {**gateway["Options"], **given}
    if added or removed:
        kept = [each for each in options.get("TransitGatewayCidrBlocks", []) if each not in removed]
        options["TransitGatewayCidrBlocks"] = [*kept, *added]
    for use in ("Association", "Propagation"):
        if f"{use}DefaultRouteTableId" in given:
            ids.find(call, transit_gateway_route_tables.KIND, given[f"{use}DefaultRouteTableId"])
        if options[f"DefaultRouteTable{use}"] == "disable":
            options.pop(f"{use}DefaultRouteTableId", None)
    note = params.get("Description", gateway["Description"])
    record = {**gateway, "Options": options, "Description": note}
    return {"TransitGateway": {**call.cloud.put(KIND, gateway["TransitGatewayId"], record), "State": "modifying"}}


@action("DeleteTransitGateway")
def delete_transit_gateway(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    gateway = ids.find(call, KIND, params["TransitGatewayId"])
    gateway_id = gateway["TransitGatewayId"]
    dependencies.check(call, KIND, gateway_id)
    for table in call.cloud.by(transit_gateway_route_tables.KIND, "TransitGatewayId", gateway_id):
        call.cloud.delete(transit_gateway_route_tables.KIND, table["TransitGatewayRouteTableId"])
    flow_logs.forget(call, gateway_id)
    call.cloud.delete(KIND, gateway_id)
    return {"TransitGateway": {**gateway, "State": "deleting"}}
