"""Internet gateways: one to a VPC, attached and detached."""

from __future__ import annotations

from typing import Any

from hive_emulator.action import Call, action
from hive_emulator.ec2 import dependencies, filters, ids, limits, paging, route_tables, tagging
from hive_emulator.errors import ApiError

FILTERS = filters.table(
    "DescribeInternetGateways",
    {
        "attachment.state": "Attachments.State",
        "attachment.vpc-id": "Attachments.VpcId",
        "internet-gateway-id": "InternetGatewayId",
        "owner-id": "OwnerId",
    },
)


@action("CreateInternetGateway")
def create_internet_gateway(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    return {"InternetGateway": create(call, tagging.on_create(params, "internet-gateway"))}


def create(call: Call, tags: tagging.Tags) -> dict[str, Any]:
    """A gateway that is attached to nothing yet."""
    limits.check(
        call,
        "internet-gateways",
        lambda: call.cloud.all("internet-gateway"),
        "InternetGatewayLimitExceeded",
        "internet gateways",
    )
    gateway_id = ids.new("igw")
    record = {"InternetGatewayId": gateway_id, "OwnerId": call.account, "Attachments": [], "Tags": tags}
    return call.cloud.put("internet-gateway", gateway_id, record)


@action("DescribeInternetGateways")
def describe_internet_gateways(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    found = ids.find_all(call, "internet-gateway", params.get("InternetGatewayIds"))
    chosen = filters.apply(found, params.get("Filters"), FILTERS)
    return paging.page("InternetGateways", chosen, params, "InternetGatewayId")


@action("AttachInternetGateway")
def attach_internet_gateway(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    gateway = ids.find(call, "internet-gateway", params.get("InternetGatewayId"))
    vpc = ids.find(call, "vpc", params.get("VpcId"))
    if gateway["Attachments"]:
        raise ApiError(
            "Resource.AlreadyAssociated",
            f"resource {gateway['InternetGatewayId']} is already attached to network "
            f"{gateway['Attachments'][0]['VpcId']}",
        )
    if call.cloud.by("internet-gateway", "VpcId", vpc["VpcId"]):
        raise ApiError("InvalidParameterValue", f"Network {vpc['VpcId']} already has an internet gateway attached")
    attach(call, gateway, vpc)
    return {}


def attach(call: Call, gateway: dict[str, Any], vpc: dict[str, Any]) -> None:
    attachment = {"State": "available", "VpcId": vpc["VpcId"]}
    changed = {**gateway, "Attachments": [attachment]}
    call.cloud.put("internet-gateway", gateway["InternetGatewayId"], changed)


@action("DetachInternetGateway")
def detach_internet_gateway(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    gateway = ids.find(call, "internet-gateway", params.get("InternetGatewayId"))
    vpc = ids.find(call, "vpc", params.get("VpcId"))
    if all(each["VpcId"] != vpc["VpcId"] for each in gateway["Attachments"]):
        raise ApiError(
            "Gateway.NotAttached",
            f"resource {gateway['InternetGatewayId']} is not attached to network {vpc['VpcId']}",
        )
    dependencies.check(call, "internet-gateway attachment", vpc["VpcId"])
    route_tables.forget(call, vpc["VpcId"], gateway["InternetGatewayId"])
    call.cloud.put("internet-gateway", gateway["InternetGatewayId"], {**gateway, "Attachments": []})
    return {}


@action("DeleteInternetGateway")
def delete_internet_gateway(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    gateway = ids.find(call, "internet-gateway", params.get("InternetGatewayId"))
    dependencies.check(call, "internet-gateway", gateway["InternetGatewayId"])
    call.cloud.delete("internet-gateway", gateway["InternetGatewayId"])
    return {}
