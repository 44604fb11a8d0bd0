"""Egress-only internet gateways: the way out for IPv6, attached to a VPC for life."""

from __future__ import annotations

from typing import Any

from hive_emulator.action import Call, action
from hive_emulator.ec2 import filters, ids, limits, paging, tagging

KIND = "egress-only-internet-gateway"

FILTERS = filters.table("DescribeEgressOnlyInternetGateways", {})


@action("CreateEgressOnlyInternetGateway")
def create_egress_only_internet_gateway(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    vpc = ids.find(call, "vpc", params.get("VpcId"))
    limits.check(
        call,
        "egress-only-internet-gateways",
        lambda: call.cloud.all(KIND),
        "EgressOnlyInternetGatewayLimitExceeded",
        "egress-only internet gateways",
    )
    gateway_id = ids.new("eigw")
    record = {
        "EgressOnlyInternetGatewayId": gateway_id,
        "Attachments": [{"State": "attached", "VpcId": vpc["VpcId"]}],
        "Tags": tagging.on_create(params, KIND),
    }
    answer = {"EgressOnlyInternetGateway": call.cloud.put(KIND, gateway_id, record)}
    return {**answer, "ClientToken": params["ClientToken"]} if "ClientToken" in params else answer


@action("DescribeEgressOnlyInternetGateways")
def describe_egress_only_internet_gateways(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    found = call.cloud.all(KIND)
    if "EgressOnlyInternetGatewayIds" in params:
        # AWS leaves ids that it doesn't know out of the answer here, and the providers count on it.
        known = (call.cloud.get(KIND, each) for each in dict.fromkeys(params["EgressOnlyInternetGatewayIds"]))
        found = [record for record in known if record is not None]
    chosen = filters.apply(found, params.get("Filters"), FILTERS)
    return paging.page("EgressOnlyInternetGateways", chosen, params, "EgressOnlyInternetGatewayId", highest=255)


@action("DeleteEgressOnlyInternetGateway")
def delete_egress_only_internet_gateway(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    gateway = ids.find(call, KIND, params.get("EgressOnlyInternetGatewayId"))
    call.cloud.delete(KIND, gateway["EgressOnlyInternetGatewayId"])
    return {"ReturnCode": True}
