"""EC2-Classic links: older providers ask about them on their way, and no cloud has them any more."""

from __future__ import annotations

from typing import Any, NoReturn

from hive_emulator.action import Call, action
from hive_emulator.errors import ApiError


@action("DescribeVpcClassicLink")
def describe_vpc_classic_link(call: Call, params: dict[str, Any]) -> NoReturn:
    raise ApiError("UnsupportedOperation", "The functionality you requested is not available in this region.")


@action("DescribeVpcClassicLinkDnsSupport")
def describe_vpc_classic_link_dns_support(call: Call, params: dict[str, Any]) -> NoReturn:
    raise ApiError("UnsupportedOperation", "The functionality you requested is not available in this region.")
