"""What providers ask about on their way and this cloud doesn't have: VPC endpoints and EC2-Classic links."""

from __future__ import annotations

from typing import Any, NoReturn

from hive_emulator.action import Call, action
from hive_emulator.ec2 import filters
from hive_emulator.errors import ApiError

ENDPOINT_FILTERS = filters.table(
    "DescribeVpcEndpoints",
    {
        "ip-address-type": "IpAddressType",
        "service-name": "ServiceName",
        "service-region": "ServiceRegion",
        "vpc-endpoint-id": "VpcEndpointId",
        "vpc-endpoint-state": "State",
        "vpc-endpoint-type": "VpcEndpointType",
        "vpc-id": "VpcId",
    },
)


@action("DescribeVpcEndpoints")
def describe_vpc_endpoints(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    for wanted in params.get("VpcEndpointIds", ()):
        raise ApiError("InvalidVpcEndpointId.NotFound", f"The Vpc Endpoint Id '{wanted}' does not exist")
    return {"VpcEndpoints": filters.apply([], params.get("Filters"), ENDPOINT_FILTERS)}


@action("DescribeVpcClassicLink")
def describe_vpc_classic_link(call: Call, params: dict[str, Any]) -> NoReturn:
    raise ApiError("UnsupportedOperation", "The functionality you requested is not available in this region.")


@action("DescribeVpcClassicLinkDnsSupport")
def describe_vpc_classic_link_dns_support(call: Call, params: dict[str, Any]) -> NoReturn:
    raise ApiError("UnsupportedOperation", "The functionality you requested is not available in this region.")
