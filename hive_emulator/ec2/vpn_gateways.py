"""Virtual private gateways: attached to a VPC, named by routes and propagated into route tables. No connections."""

from __future__ import annotations

from typing import Any

from hive_emulator.action import Call, action
from hive_emulator.ec2 import filters, ids, limits, parameters, route_tables, tagging
from hive_emulator.errors import ApiError

Gateway = dict[str, Any]

KIND = "vpn-gateway"
DEFAULT_ASN = 64512

FILTERS = filters.table(
    "DescribeVpnGateways",
    {
        "amazon-side-asn": "AmazonSideAsn",
        "attachment.state": "VpcAttachments.State",
        "attachment.vpc-id": "VpcAttachments.VpcId",
        "availability-zone": "AvailabilityZone",
        "state": "State",
        "type": "Type",
        "vpn-gateway-id": "VpnGatewayId",
    },
)


@action("CreateVpnGateway")
def create_vpn_gateway(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    limits.check(call, "vpn-gateways", lambda: call.cloud.all(KIND), "VpnGatewayLimitExceeded", "VPN gateways")
    zone = params.get("AvailabilityZone")
    if zone and zone not in call.config.zones(call.region):
        raise parameters.invalid(zone, "availabilityZone", ", ".join(call.config.zones(call.region)))
    gateway_id = ids.new("vgw")
    record = {
        "VpnGatewayId": gateway_id,
        "State": "available",
        "Type": params["Type"],
        "AmazonSideAsn": checked_private_asn(params.get("AmazonSideAsn", DEFAULT_ASN)),
        "VpcAttachments": [],
        "Tags": tagging.on_create(params, KIND),
        **({"AvailabilityZone": zone} if zone else {}),
    }
    return {"VpnGateway": call.cloud.put(KIND, gateway_id, record)}


def checked_private_asn(asn: int) -> int:
    """Amazon's side takes a private number."""
    if not (64512 <= asn <= 65534 or 4200000000 <= asn <= 4294967294 or asn in (7224, 9059, 10124, 17493)):
        raise parameters.invalid(asn, "amazonSideAsn", "64512 to 65534 or 4200000000 to 4294967294")
    return asn


@action("DescribeVpnGateways")
def describe_vpn_gateways(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    found = ids.find_all(call, KIND, params.get("VpnGatewayIds"))
    return {"VpnGateways": filters.apply(found, params.get("Filters"), FILTERS)}


@action("DeleteVpnGateway")
def delete_vpn_gateway(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    gateway = ids.find(call, KIND, params["VpnGatewayId"])
    if attached(gateway):
        vpc = attached(gateway)[0]
        raise ApiError("IncorrectState", f"The vpnGateway '{gateway['VpnGatewayId']}' is attached to {vpc}")
    call.cloud.delete(KIND, gateway["VpnGatewayId"])
    return {}


def attached(gateway: Gateway) -> list[str]:
    """The VPC that it is attached to, if any."""
    return [each["VpcId"] for each in gateway["VpcAttachments"] if each["State"] == "attached"]


@action("AttachVpnGateway")
def attach_vpn_gateway(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    gateway, vpc = ids.find(call, KIND, params["VpnGatewayId"]), ids.find(call, "vpc", params["VpcId"])
    attachment = {"VpcId": vpc["VpcId"], "State": "attached"}
    if gateway["VpcAttachments"] == [attachment]:
        return {"VpcToVpnAttachment": attachment}
    if attached(gateway) or call.cloud.by(KIND, "VpcId", vpc["VpcId"]):
        raise ApiError(
            "VpnGatewayAttachmentLimitExceeded",
            "A VPC has one VPN gateway, and a VPN gateway is attached to one VPC.",
        )
    call.cloud.put(KIND, gateway["VpnGatewayId"], {**gateway, "VpcAttachments": [attachment]})
    return {"VpcToVpnAttachment": {**attachment, "State": "attaching"}}


@action("DetachVpnGateway")
def detach_vpn_gateway(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    gateway, vpc = ids.find(call, KIND, params["VpnGatewayId"]), ids.find(call, "vpc", params["VpcId"])
    if vpc["VpcId"] not in attached(gateway):
        raise ApiError(
            "InvalidVpnGatewayAttachment.NotFound",
            f"The attachment with vpn gateway ID '{gateway['VpnGatewayId']}' and vpc ID '{vpc['VpcId']}' "
            "does not exist",
        )
    for table in call.cloud.by("route-table", "VpcId", vpc["VpcId"]):
        _propagate(call, table, gateway["VpnGatewayId"], on=False)
    route_tables.forget(call, vpc["VpcId"], gateway["VpnGatewayId"])
    # It stays listed: older providers wait to see it detached.
    left = [{"VpcId": vpc["VpcId"], "State": "detached"}]
    call.cloud.put(KIND, gateway["VpnGatewayId"], {**gateway, "VpcAttachments": left})
    return {}


@action("EnableVgwRoutePropagation")
def enable_vgw_route_propagation(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    table, gateway = _pair(call, params)
    if table["VpcId"] not in attached(gateway):
        raise ApiError(
            "Gateway.NotAttached", f"resource {gateway['VpnGatewayId']} is not attached to network {table['VpcId']}"
        )
    _propagate(call, table, gateway["VpnGatewayId"], on=True)
    return {}


@action("DisableVgwRoutePropagation")
def disable_vgw_route_propagation(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    table, gateway = _pair(call, params)
    _propagate(call, table, gateway["VpnGatewayId"], on=False)
    return {}


def _pair(call: Call, params: dict[str, Any]) -> tuple[dict[str, Any], Gateway]:
    return ids.find(call, "route-table", params["RouteTableId"]), ids.find(call, KIND, params["GatewayId"])


def _propagate(call: Call, table: dict[str, Any], gateway_id: str, *, on: bool) -> None:
    kept = [each for each in table["PropagatingVgws"] if each["GatewayId"] != gateway_id]
    wanted = [*kept, {"GatewayId": gateway_id}] if on else kept
    if wanted != table["PropagatingVgws"]:
        call.cloud.put("route-table", table["RouteTableId"], {**table, "PropagatingVgws": wanted})
