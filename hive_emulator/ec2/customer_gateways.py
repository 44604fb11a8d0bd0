"""Customer gateways: the far end of a VPN, as an address and an AS number.

A deleted one is shown for an hour, as in AWS: older providers wait to see it so.
"""

from __future__ import annotations

import ipaddress
from datetime import datetime, timedelta
from typing import Any

from hive_emulator.action import Call, action
from hive_emulator.ec2 import filters, ids, limits, parameters, tagging
from hive_emulator.errors import ApiError

KIND = "customer-gateway"
DEFAULT_ASN = 65000
REMEMBERED = timedelta(hours=1)
_SAME = ("IpAddress", "BgpAsn", "BgpAsnExtended", "Type", "DeviceName", "CertificateArn")

FILTERS = filters.table(
    "DescribeCustomerGateways",
    {
        "bgp-asn": "BgpAsn",
        "customer-gateway-id": "CustomerGatewayId",
        "ip-address": "IpAddress",
        "state": "State",
        "type": "Type",
    },
)


@action("CreateCustomerGateway")
def create_customer_gateway(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """The same one asked for again is the one that is there, as in AWS."""
    wanted = _members(params)
    held = [each for each in _visible(call, None) if each["State"] != "deleted"]
    for each in held:
        if all(each.get(member) == wanted.get(member) for member in _SAME):
            return {"CustomerGateway": each}
    limits.check(call, "customer-gateways", lambda: held, "CustomerGatewayLimitExceeded", "customer gateways")
    gateway_id = ids.new("cgw")
    tags = tagging.on_create(params, KIND)
    record = {"CustomerGatewayId": gateway_id, "State": "available", **wanted, "Tags": tags}
    return {"CustomerGateway": call.cloud.put(KIND, gateway_id, record)}


def _members(params: dict[str, Any]) -> dict[str, Any]:
    address = params.get("IpAddress", params.get("PublicIp"))
    if not address and "CertificateArn" not in params:
        raise ApiError("MissingParameter", "The request must contain the parameter ipAddress or certificateArn")
    if address:
        _check_address(address)
    number = params.get("BgpAsnExtended", params.get("BgpAsn", DEFAULT_ASN))
    parameters.within(number, "bgpAsn", 1, 4294967295)
    member = "BgpAsnExtended" if number > 2147483647 else "BgpAsn"
    given: dict[str, Any] = {name: params[name] for name in ("DeviceName", "CertificateArn") if name in params}
    return {"Type": params["Type"], member: str(number), **({"IpAddress": address} if address else {}), **given}


def _check_address(address: str) -> None:
    try:
        ipaddress.ip_address(address)
    except ValueError:
        raise parameters.invalid(address, "ipAddress", "an IP address") from None


@action("DescribeCustomerGateways")
def describe_customer_gateways(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    found = _visible(call, params.get("CustomerGatewayIds"))
    return {"CustomerGateways": filters.apply(found, params.get("Filters"), FILTERS)}


@action("DeleteCustomerGateway")
def delete_customer_gateway(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    gateway = ids.find(call, KIND, params["CustomerGatewayId"])
    if gateway["State"] == "deleted":
        raise ids.not_found(KIND, gateway["CustomerGatewayId"])
    for each in call.cloud.all(KIND):
        if _is_old(call, each):
            call.cloud.delete(KIND, each["CustomerGatewayId"])
    deleted = {**gateway, "State": "deleted", "Tags": [], "_DeletedAt": call.timestamp()}
    call.cloud.put(KIND, gateway["CustomerGatewayId"], deleted)
    return {}


def _visible(call: Call, wanted: list[str] | None) -> list[dict[str, Any]]:
    return [each for each in ids.find_all(call, KIND, wanted) if not _is_old(call, each)]


def _is_old(call: Call, gateway: dict[str, Any]) -> bool:
    ended = gateway.get("_DeletedAt")
    return ended is not None and call.now - datetime.fromisoformat(ended.replace("Z", "+00:00")) > REMEMBERED
