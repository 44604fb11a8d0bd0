"""Which route table a subnet or a gateway uses, and which one is a VPC's main table."""

from __future__ import annotations

from typing import Any

from hive_emulator.action import Call, action
from hive_emulator.ec2 import ids, route_tables
from hive_emulator.errors import ApiError

Table = dict[str, Any]


@action("AssociateRouteTable")
def associate_route_table(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    table = ids.find(call, "route-table", params.get("RouteTableId"))
    member, wanted = _of(call, table, params)
    for other in call.cloud.by("route-table", "VpcId", table["VpcId"]):
        if any(each.get(member) == wanted for each in other["Associations"]):
            raise ApiError(
                "Resource.AlreadyAssociated",
                f"the specified association for route table {table['RouteTableId']} conflicts with an "
                f"existing association of {wanted}",
            )
    added = route_tables.association(table["RouteTableId"], {member: wanted})
    _save(call, table, [*table["Associations"], added])
    return {"AssociationId": added["RouteTableAssociationId"], "AssociationState": added["AssociationState"]}


def _of(call: Call, table: Table, params: dict[str, Any]) -> tuple[str, str]:
    """The subnet or gateway that the call is about; it must be in the table's VPC."""
    if ("SubnetId" in params) == ("GatewayId" in params):
        raise ApiError("InvalidParameterCombination", "The request must contain one of subnetId and gatewayId")
    if "SubnetId" in params:
        member, vpcs = "SubnetId", [ids.find(call, "subnet", params["SubnetId"])["VpcId"]]
    else:
        vpn = params["GatewayId"].startswith("vgw-")
        gateway = ids.find(call, "vpn-gateway" if vpn else "internet-gateway", params["GatewayId"])
        member = "GatewayId"
        attachments = gateway["VpcAttachments" if vpn else "Attachments"]
        vpcs = [each["VpcId"] for each in attachments if each["State"] != "detached"]
    if table["VpcId"] not in vpcs:
        raise ApiError(
            "InvalidParameterValue",
            f"Route table {table['RouteTableId']} and {params[member]} belong to different networks",
        )
    return member, params[member]


@action("DisassociateRouteTable")
def disassociate_route_table(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    table, old = _find(call, params.get("AssociationId", ""))
    if old["Main"]:
        raise ApiError(
            "InvalidParameterValue",
            f"cannot disassociate the main route table association {old['RouteTableAssociationId']}",
        )
    _save(call, table, [each for each in table["Associations"] if each is not old])
    return {}


@action("ReplaceRouteTableAssociation")
def replace_route_table_association(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """Moves an association to another table: a subnet's, a gateway's, or that of the main table."""
    table, old = _find(call, params.get("AssociationId", ""))
    wanted = ids.find(call, "route-table", params.get("RouteTableId"))
    if wanted["VpcId"] != table["VpcId"]:
        raise ApiError(
            "InvalidParameterValue",
            f"route table {wanted['RouteTableId']} and route table {table['RouteTableId']} belong to "
            "different networks",
        )
    if wanted["RouteTableId"] == table["RouteTableId"]:
        return {
            "NewAssociationId": old["RouteTableAssociationId"],
            "AssociationState": old["AssociationState"],
        }
    of: dict[str, str] = {name: old[name] for name in ("SubnetId", "GatewayId") if name in old}
    new = route_tables.association(wanted["RouteTableId"], of, main=old["Main"])
    _save(call, table, [each for each in table["Associations"] if each is not old])
    _save(call, wanted, [*wanted["Associations"], new])
    return {"NewAssociationId": new["RouteTableAssociationId"], "AssociationState": new["AssociationState"]}


def _find(call: Call, wanted: str) -> tuple[Table, dict[str, Any]]:
    for table in call.cloud.by("route-table", "AssociationId", wanted):
        for each in table["Associations"]:
            if each["RouteTableAssociationId"] == wanted:
                return table, each
    raise ApiError("InvalidAssociationID.NotFound", f"The association ID '{wanted}' does not exist")


def _save(call: Call, table: Table, associations: list[dict[str, Any]]) -> None:
    call.cloud.put("route-table", table["RouteTableId"], {**table, "Associations": associations})
