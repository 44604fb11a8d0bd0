"""Attachments of VPCs to transit gateways: an interface in one subnet of each zone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hive_emulator.action import Call, action
from hive_emulator.ec2 import filters, flow_logs, ids, managed_interfaces, paging, tagging
from hive_emulator.errors import ApiError

Attachment = dict[str, Any]

KIND = "transit-gateway-attachment"
_DEFAULTS = {
    "DnsSupport": "enable",
    "SecurityGroupReferencingSupport": "enable",
    "Ipv6Support": "disable",
    "ApplianceModeSupport": "disable",
}

VPC_FILTERS = filters.table(
    "DescribeTransitGatewayVpcAttachments",
    {
        "state": "State",
        "transit-gateway-attachment-id": "TransitGatewayAttachmentId",
        "transit-gateway-id": "TransitGatewayId",
        "vpc-id": "VpcId",
    },
)
FILTERS = filters.table(
    "DescribeTransitGatewayAttachments",
    {
        "association.state": "Association.State",
        "association.transit-gateway-route-table-id": "Association.TransitGatewayRouteTableId",
        "resource-id": "ResourceId",
        "resource-owner-id": "ResourceOwnerId",
        "resource-type": "ResourceType",
        "state": "State",
        "transit-gateway-attachment-id": "TransitGatewayAttachmentId",
        "transit-gateway-id": "TransitGatewayId",
        "transit-gateway-owner-id": "TransitGatewayOwnerId",
    },
)


@action("CreateTransitGatewayVpcAttachment")
def create_transit_gateway_vpc_attachment(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    gateway = ids.find(call, "transit-gateway", params["TransitGatewayId"])
    vpc = ids.find(call, "vpc", params["VpcId"])
    for other in call.cloud.by(KIND, "VpcId", vpc["VpcId"]):
        if other["TransitGatewayId"] == gateway["TransitGatewayId"]:
            raise ApiError(
                "DuplicateTransitGatewayAttachment",
                f"{gateway['TransitGatewayId']} has non-deleted Transit Gateway Attachments with same VPC ID.",
            )
    attachment_id, options = ids.new("tgw-attach"), gateway["Options"]
    usual = options.get("PropagationDefaultRouteTableId")
    record: Attachment = {
        "TransitGatewayAttachmentId": attachment_id,
        "TransitGatewayId": gateway["TransitGatewayId"],
        "VpcId": vpc["VpcId"],
        "VpcOwnerId": call.account,
        "State": "available",
        "SubnetIds": [],
        "CreationTime": call.timestamp(),
        "Options": {**_DEFAULTS, **params.get("Options", {})},
        "Tags": tagging.on_create(params, KIND),
        "_RouteTableId": options.get("AssociationDefaultRouteTableId"),
        "_Propagations": [usual] if usual else [],
        "_Interfaces": [],
    }
    made = call.cloud.put(KIND, attachment_id, _with_subnets(call, record, params["SubnetIds"], ()))
    return {"TransitGatewayVpcAttachment": {**made, "State": "pending"}}


def _with_subnets(call: Call, attachment: Attachment, added: Iterable[str], removed: Iterable[str]) -> Attachment:
    """The attachment with other subnets, at most one of a zone and at least one."""
    held = [ids.find(call, "network-interface", each) for each in attachment["_Interfaces"]]
    for interface in [each for each in held if each["SubnetId"] in removed]:
        managed_interfaces.remove(call, interface["NetworkInterfaceId"])
        held.remove(interface)
    for subnet_id in added:
        subnet = ids.find(call, "subnet", subnet_id)
        if subnet["VpcId"] != attachment["VpcId"]:
            raise ApiError("InvalidParameterValue", f"{subnet_id} is not in the VPC {attachment['VpcId']}")
        if any(each["AvailabilityZone"] == subnet["AvailabilityZone"] for each in held):
            raise ApiError("DuplicateSubnetsInSameZone", "Duplicate Subnets for same AZ")
        note = f"Network Interface for Transit Gateway Attachment {attachment['TransitGatewayAttachmentId']}"
        wanted = {"Description": note, "InterfaceType": "transit_gateway"}
        held.append(managed_interfaces.create(call, subnet, wanted))
    if not held:
        raise ApiError("InvalidParameterValue", "A VPC attachment is in at least one subnet")
    subnets = [each["SubnetId"] for each in held]
    return {**attachment, "SubnetIds": subnets, "_Interfaces": [each["NetworkInterfaceId"] for each in held]}


@action("ModifyTransitGatewayVpcAttachment")
def modify_transit_gateway_vpc_attachment(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    attachment = ids.find(call, KIND, params["TransitGatewayAttachmentId"])
    changed = {**attachment, "Options": {**attachment["Options"], **params.get("Options", {})}}
    changed = _with_subnets(call, changed, params.get("AddSubnetIds", ()), params.get("RemoveSubnetIds", ()))
    call.cloud.put(KIND, attachment["TransitGatewayAttachmentId"], changed)
    return {"TransitGatewayVpcAttachment": {**changed, "State": "modifying"}}


@action("DeleteTransitGatewayVpcAttachment")
def delete_transit_gateway_vpc_attachment(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    attachment = ids.find(call, KIND, params["TransitGatewayAttachmentId"])
    for interface_id in attachment["_Interfaces"]:
        managed_interfaces.remove(call, interface_id)
    flow_logs.forget(call, attachment["TransitGatewayAttachmentId"])
    call.cloud.delete(KIND, attachment["TransitGatewayAttachmentId"])
    return {"TransitGatewayVpcAttachment": {**attachment, "State": "deleting"}}


@action("DescribeTransitGatewayVpcAttachments")
def describe_transit_gateway_vpc_attachments(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    found = ids.find_all(call, KIND, params.get("TransitGatewayAttachmentIds"))
    chosen = filters.apply(found, params.get("Filters"), VPC_FILTERS)
    return paging.page("TransitGatewayVpcAttachments", chosen, params, "TransitGatewayAttachmentId")


@action("DescribeTransitGatewayAttachments")
def describe_transit_gateway_attachments(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    found = [_general(each) for each in ids.find_all(call, KIND, params.get("TransitGatewayAttachmentIds"))]
    chosen = filters.apply(found, params.get("Filters"), FILTERS)
    return paging.page("TransitGatewayAttachments", chosen, params, "TransitGatewayAttachmentId")


def _general(attachment: Attachment) -> dict[str, Any]:
    """As the call for attachments of every type shows it."""
    same = ("TransitGatewayAttachmentId", "TransitGatewayId", "State", "CreationTime", "Tags")
    table = attachment["_RouteTableId"]
    owners = {"TransitGatewayOwnerId": attachment["VpcOwnerId"], "ResourceOwnerId": attachment["VpcOwnerId"]}
    place = {"Association": {"TransitGatewayRouteTableId": table, "State": "associated"}} if table else {}
    return {**{name: attachment[name] for name in same}, **owners, **resource(attachment), **place}


def resource(attachment: Attachment) -> dict[str, str]:
    """What is attached."""
    return {"ResourceType": "vpc", "ResourceId": attachment["VpcId"]}
