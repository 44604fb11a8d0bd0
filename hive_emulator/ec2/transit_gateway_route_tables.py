"""Route tables of transit gateways: an attachment is associated with one, and propagates its routes into any."""

from __future__ import annotations

from typing import Any

from hive_emulator.action import Call, action
from hive_emulator.ec2 import dependencies, filters, ids, paging, tagging
from hive_emulator.ec2.transit_gateway_attachments import KIND as ATTACHMENT
from hive_emulator.ec2.transit_gateway_attachments import resource
from hive_emulator.errors import ApiError

Table = dict[str, Any]
Attachment = dict[str, Any]

KIND = "transit-gateway-route-table"
_OF_ATTACHMENT: dict[str, str | filters.Getter] = {
    "resource-id": "ResourceId",
    "resource-type": "ResourceType",
    "transit-gateway-attachment-id": "TransitGatewayAttachmentId",
}

FILTERS = filters.table(
    "DescribeTransitGatewayRouteTables",
    {
        "default-association-route-table": "DefaultAssociationRouteTable",
        "default-propagation-route-table": "DefaultPropagationRouteTable",
        "state": "State",
        "transit-gateway-id": "TransitGatewayId",
        "transit-gateway-route-table-id": "TransitGatewayRouteTableId",
    },
)
ASSOCIATION_FILTERS = filters.table("GetTransitGatewayRouteTableAssociations", _OF_ATTACHMENT)
PROPAGATION_FILTERS = filters.table("GetTransitGatewayRouteTablePropagations", _OF_ATTACHMENT)
TABLE_FILTERS = filters.table(
    "GetTransitGatewayAttachmentPropagations", {"transit-gateway-route-table-id": "TransitGatewayRouteTableId"}
)


@action("CreateTransitGatewayRouteTable")
def create_transit_gateway_route_table(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    gateway_id = ids.find(call, "transit-gateway", params["TransitGatewayId"])["TransitGatewayId"]
    made = create(call, gateway_id, tagging.on_create(params, KIND), {})
    return {"TransitGatewayRouteTable": {**made, "State": "pending"}}


def create(call: Call, gateway_id: str, tags: tagging.Tags, default_for: dict[str, bool]) -> Table:
    table_id = ids.new("tgw-rtb")
    record = {
        "TransitGatewayRouteTableId": table_id,
        "TransitGatewayId": gateway_id,
        "State": "available",
        "DefaultAssociationRouteTable": default_for.get("Association", False),
        "DefaultPropagationRouteTable": default_for.get("Propagation", False),
        "CreationTime": call.timestamp(),
        "Tags": tags,
        "_Routes": [],
    }
    return call.cloud.put(KIND, table_id, record)


@action("DescribeTransitGatewayRouteTables")
def describe_transit_gateway_route_tables(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    found = ids.find_all(call, KIND, params.get("TransitGatewayRouteTableIds"))
    chosen = filters.apply(found, params.get("Filters"), FILTERS)
    return paging.page("TransitGatewayRouteTables", chosen, params, "TransitGatewayRouteTableId")


@action("DeleteTransitGatewayRouteTable")
def delete_transit_gateway_route_table(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    table = ids.find(call, KIND, params["TransitGatewayRouteTableId"])
    table_id = table["TransitGatewayRouteTableId"]
    if table["DefaultAssociationRouteTable"] or table["DefaultPropagationRouteTable"]:
        raise ApiError("IncorrectState", f"{table_id} is a default route table of its transit gateway.")
    dependencies.check(call, KIND, table_id)
    for attachment in attachments(call, table):
        if table_id in attachment["_Propagations"]:
            _propagate(call, attachment, table_id, on=False)
    call.cloud.delete(KIND, table_id)
    return {"TransitGatewayRouteTable": {**table, "State": "deleting"}}


def attachments(call: Call, table: Table) -> list[Any]:
    """All attachments of the gateway that a table belongs to."""
    return list(call.cloud.by(ATTACHMENT, "TransitGatewayId", table["TransitGatewayId"]))


def _pair(call: Call, params: dict[str, Any]) -> tuple[Table, Attachment]:
    table = ids.find(call, KIND, params["TransitGatewayRouteTableId"])
    attachment = ids.find(call, ATTACHMENT, params.get("TransitGatewayAttachmentId"))
    if attachment["TransitGatewayId"] != table["TransitGatewayId"]:
        raise ApiError(
            "InvalidParameterValue",
            f"{attachment['TransitGatewayAttachmentId']} and {table['TransitGatewayRouteTableId']} belong to "
            "different transit gateways",
        )
    return table, attachment


def _row(table_id: str, attachment: Attachment, state: str) -> dict[str, str]:
    attached = {"TransitGatewayAttachmentId": attachment["TransitGatewayAttachmentId"], **resource(attachment)}
    return {"TransitGatewayRouteTableId": table_id, **attached, "State": state}


@action("AssociateTransitGatewayRouteTable")
def associate_transit_gateway_route_table(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    table, attachment = _pair(call, params)
    its_id = attachment["TransitGatewayAttachmentId"]
    if attachment["_RouteTableId"]:
        raise ApiError(
            "Resource.AlreadyAssociated",
            f"Transit Gateway Attachment {its_id} is already associated to a route table.",
        )
    call.cloud.put(ATTACHMENT, its_id, {**attachment, "_RouteTableId": table["TransitGatewayRouteTableId"]})
    return {"Association": _row(table["TransitGatewayRouteTableId"], attachment, "associating")}


@action("DisassociateTransitGatewayRouteTable")
def disassociate_transit_gateway_route_table(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    table, attachment = _pair(call, params)
    its_id, table_id = attachment["TransitGatewayAttachmentId"], table["TransitGatewayRouteTableId"]
    if attachment["_RouteTableId"] != table_id:
        raise ApiError("InvalidAssociation.NotFound", f"{its_id} is not associated with {table_id}")
    call.cloud.put(ATTACHMENT, its_id, {**attachment, "_RouteTableId": None})
    return {"Association": _row(table_id, attachment, "disassociating")}


@action("GetTransitGatewayRouteTableAssociations")
def get_transit_gateway_route_table_associations(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    table = ids.find(call, KIND, params["TransitGatewayRouteTableId"])
    table_id = table["TransitGatewayRouteTableId"]
    held = [each for each in attachments(call, table) if each["_RouteTableId"] == table_id]
    rows = [_row(table_id, each, "associated") for each in held]
    chosen = filters.apply(rows, params.get("Filters"), ASSOCIATION_FILTERS)
    return paging.page("Associations", chosen, params, "TransitGatewayAttachmentId")


@action("EnableTransitGatewayRouteTablePropagation")
def enable_transit_gateway_route_table_propagation(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    table, attachment = _pair(call, params)
    table_id, its_id = table["TransitGatewayRouteTableId"], attachment["TransitGatewayAttachmentId"]
    if table_id in attachment["_Propagations"]:
        raise ApiError(
            "TransitGatewayRouteTablePropagation.Duplicate", f"{its_id} is already propagated to {table_id}"
        )
    _propagate(call, attachment, table_id, on=True)
    return {"Propagation": _row(table_id, attachment, "enabled")}


@action("DisableTransitGatewayRouteTablePropagation")
def disable_transit_gateway_route_table_propagation(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    table, attachment = _pair(call, params)
    table_id, its_id = table["TransitGatewayRouteTableId"], attachment["TransitGatewayAttachmentId"]
    if table_id not in attachment["_Propagations"]:
        raise ApiError("TransitGatewayRouteTablePropagation.NotFound", f"{its_id} is not propagated to {table_id}")
    _propagate(call, attachment, table_id, on=False)
    return {"Propagation": _row(table_id, attachment, "disabled")}


def _propagate(call: Call, attachment: Attachment, table_id: str, *, on: bool) -> None:
    kept = [each for each in attachment["_Propagations"] if each != table_id]
    changed = {**attachment, "_Propagations": [*kept, table_id] if on else kept}
    call.cloud.put(ATTACHMENT, attachment["TransitGatewayAttachmentId"], changed)


@action("GetTransitGatewayRouteTablePropagations")
def get_transit_gateway_route_table_propagations(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    table = ids.find(call, KIND, params["TransitGatewayRouteTableId"])
    table_id = table["TransitGatewayRouteTableId"]
    held = [each for each in attachments(call, table) if table_id in each["_Propagations"]]
    rows = [_row(table_id, each, "enabled") for each in held]
    chosen = filters.apply(rows, params.get("Filters"), PROPAGATION_FILTERS)
    return paging.page("TransitGatewayRouteTablePropagations", chosen, params, "TransitGatewayAttachmentId")


@action("GetTransitGatewayAttachmentPropagations")
def get_transit_gateway_attachment_propagations(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    attachment = ids.find(call, ATTACHMENT, params["TransitGatewayAttachmentId"])
    rows = [{"TransitGatewayRouteTableId": each, "State": "enabled"} for each in attachment["_Propagations"]]
    chosen = filters.apply(rows, params.get("Filters"), TABLE_FILTERS)
    return paging.page("TransitGatewayAttachmentPropagations", chosen, params, "TransitGatewayRouteTableId")
