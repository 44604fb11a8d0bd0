"""Customer gateways: the far end of a VPN, as an address and an AS number."""

from __future__ import annotations

import ipaddress
from typing import Any

from hive_emulator.action import Call, action
from hive_emulator.ec2 import filters, ids, limits, parameters, tagging
from hive_emulator.errors import ApiError

KIND = "customer-gateway"
DEFAULT_ASN = 65000
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
    for each in call.cloud.all(KIND):
        if all(each.get(member) == wanted.get(member) for member in _SAME):
            return {"CustomerGateway": each}
    held = call.cloud.all(KIND)
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
    found = ids.find_all(call, KIND, params.get("CustomerGatewayIds"))
    return {"CustomerGateways": filters.apply(found, params.get("Filters"), FILTERS)}


@action("DeleteCustomerGateway")
def delete_customer_gateway(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    call.cloud.delete(KIND, ids.find(call, KIND, params["CustomerGatewayId"])["CustomerGatewayId"])
    return {}
