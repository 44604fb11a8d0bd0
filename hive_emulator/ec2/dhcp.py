"""DHCP options: there is one set, ``dopt-default``, and every VPC uses it."""

from __future__ import annotations

from typing import Any

from hive_emulator.action import Call, action
from hive_emulator.ec2 import filters, ids, paging

DEFAULT = "dopt-default"

FILTERS = filters.table(
    "DescribeDhcpOptions",
    {
        "dhcp-options-id": "DhcpOptionsId",
        "key": "DhcpConfigurations.Key",
        "owner-id": "OwnerId",
        "value": "DhcpConfigurations.Values.Value",
    },
)


def create_default(call: Call) -> None:
    """The set that a region starts with."""
    domain = "ec2.internal" if call.region == "us-east-1" else f"{call.region}.compute.internal"
    record = {
        "DhcpOptionsId": DEFAULT,
        "OwnerId": call.account,
        "DhcpConfigurations": [
            {"Key": "domain-name", "Values": [{"Value": domain}]},
            {"Key": "domain-name-servers", "Values": [{"Value": "AmazonProvidedDNS"}]},
        ],
        "Tags": [],
    }
    call.cloud.put("dhcp-options", DEFAULT, record)


@action("DescribeDhcpOptions")
def describe_dhcp_options(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    found = ids.find_all(call, "dhcp-options", params.get("DhcpOptionsIds"))
    chosen = filters.apply(found, params.get("Filters"), FILTERS)
    return paging.page("DhcpOptions", chosen, params, "DhcpOptionsId")
