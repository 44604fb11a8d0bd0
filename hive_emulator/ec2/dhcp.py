"""DHCP options: a region starts with one set, ``dopt-default``, which a VPC uses until it is given another."""

from __future__ import annotations

from typing import Any

from hive_emulator.action import Call, action
from hive_emulator.ec2 import dependencies, filters, ids, paging, parameters, tagging
from hive_emulator.errors import ApiError

DEFAULT = "dopt-default"
MOST_VALUES = 4
# Key → what its values must be, None for anything
_KEYS: dict[str, tuple[str, ...] | None] = {
    "domain-name": None,
    "domain-name-servers": None,
    "ntp-servers": None,
    "netbios-name-servers": None,
    "netbios-node-type": ("1", "2", "4", "8"),
    "ipv6-address-preferred-lease-time": None,
}

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


@action("CreateDhcpOptions")
def create_dhcp_options(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    options_id = ids.new("dopt")
    record = {
        "DhcpOptionsId": options_id,
        "OwnerId": call.account,
        "DhcpConfigurations": [_configuration(each) for each in params["DhcpConfigurations"]],
        "Tags": tagging.on_create(params, "dhcp-options"),
    }
    return {"DhcpOptions": call.cloud.put("dhcp-options", options_id, record)}


def _configuration(given: dict[str, Any]) -> dict[str, Any]:
    key, values = given.get("Key", ""), given.get("Values", [])
    if key not in _KEYS:
        raise parameters.invalid(key, "dhcpConfiguration.key", ", ".join(_KEYS))
    if not values or len(values) > MOST_VALUES:
        raise parameters.invalid(len(values), f"the number of values of {key}", f"1 to {MOST_VALUES}")
    allowed = _KEYS[key]
    for value in values if allowed else ():
        if value not in (allowed or ()):
            raise parameters.invalid(value, key, ", ".join(allowed or ()))
    return {"Key": key, "Values": [{"Value": value} for value in values]}


@action("AssociateDhcpOptions")
def associate_dhcp_options(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """Gives a VPC other options; ``default`` means those of the region."""
    vpc, wanted = ids.find(call, "vpc", params["VpcId"]), params["DhcpOptionsId"]
    options = ids.find(call, "dhcp-options", DEFAULT if wanted == "default" else wanted)
    call.cloud.put("vpc", vpc["VpcId"], {**vpc, "DhcpOptionsId": options["DhcpOptionsId"]})
    return {}


@action("DeleteDhcpOptions")
def delete_dhcp_options(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    options_id = ids.find(call, "dhcp-options", params["DhcpOptionsId"])["DhcpOptionsId"]
    if options_id == DEFAULT:
        raise ApiError("InvalidParameterValue", f"The region's own options {DEFAULT} can't be deleted")
    dependencies.check(call, "dhcp-options", options_id)
    call.cloud.delete("dhcp-options", options_id)
    return {}
