"""Subnets: a block inside the VPC's, in one zone, overlapping no other."""

from __future__ import annotations

from typing import Any

from hive_emulator.action import Call, action
from hive_emulator.ec2 import (
    cidrs,
    dependencies,
    filters,
    flow_logs,
    ids,
    limits,
    network_acls,
    paging,
    parameters,
    partitions,
    route_tables,
    subnet_cidrs,
    tagging,
    zones,
)
from hive_emulator.errors import ApiError

RESERVED = 5  # network, router, DNS, one for the future, broadcast

FILTERS = filters.table(
    "DescribeSubnets",
    {
        "availability-zone": "AvailabilityZone",
        "availabilityZone": "AvailabilityZone",
        "availability-zone-id": "AvailabilityZoneId",
        "availabilityZoneId": "AvailabilityZoneId",
        "available-ip-address-count": "AvailableIpAddressCount",
        "cidr": "CidrBlock",
        "cidr-block": "CidrBlock",
        "cidrBlock": "CidrBlock",
        "customer-owned-ipv4-pool": "CustomerOwnedIpv4Pool",
        "default-for-az": "DefaultForAz",
        "defaultForAz": "DefaultForAz",
        "enable-dns64": "EnableDns64",
        "enable-lni-at-device-index": "EnableLniAtDeviceIndex",
        "ipv6-cidr-block-association.association-id": "Ipv6CidrBlockAssociationSet.AssociationId",
        "ipv6-cidr-block-association.ipv6-cidr-block": "Ipv6CidrBlockAssociationSet.Ipv6CidrBlock",
        "ipv6-cidr-block-association.state": "Ipv6CidrBlockAssociationSet.Ipv6CidrBlockState.State",
        "ipv6-native": "Ipv6Native",
        "map-customer-owned-ip-on-launch": "MapCustomerOwnedIpOnLaunch",
        "map-public-ip-on-launch": "MapPublicIpOnLaunch",
        "outpost-arn": "OutpostArn",
        "owner-id": "OwnerId",
        "private-dns-name-options-on-launch.hostname-type": "PrivateDnsNameOptionsOnLaunch.HostnameType",
        "private-dns-name-options-on-launch.enable-resource-name-dns-a-record": (
            "PrivateDnsNameOptionsOnLaunch.EnableResourceNameDnsARecord"
        ),
        "private-dns-name-options-on-launch.enable-resource-name-dns-aaaa-record": (
            "PrivateDnsNameOptionsOnLaunch.EnableResourceNameDnsAAAARecord"
        ),
        "state": "State",
        "subnet-arn": "SubnetArn",
        "subnet-id": "SubnetId",
        "vpc-id": "VpcId",
    },
)


@action("CreateSubnet")
def create_subnet(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    vpc = ids.find(call, "vpc", params.get("VpcId"))
    parameters.refuse(params, "OutpostArn", "Ipv4IpamPoolId", "Ipv6IpamPoolId")
    subnet = create(
        call,
        vpc,
        _block(call, vpc, params),
        zone=zones.chosen(call, params.get("AvailabilityZone"), params.get("AvailabilityZoneId")),
        ipv6=params.get("Ipv6CidrBlock"),
        tags=tagging.on_create(params, "subnet"),
    )
    return {"Subnet": subnet}


def _block(call: Call, vpc: dict[str, Any], params: dict[str, Any]) -> str | None:
    """The IPv4 block of a new subnet; None for one that has IPv6 addresses only."""
    if not params.get("Ipv6Native"):
        if "CidrBlock" not in params:
            raise ApiError("MissingParameter", "Either 'cidrBlock' or 'ipv4IpamPoolId' should be provided.")
        block = cidrs.ipv4(params["CidrBlock"], "cidrBlock")
        _check_block(call, vpc, block)
        return str(block)
    if "Ipv6CidrBlock" not in params:
        raise ApiError("MissingParameter", "Either 'ipv6CidrBlock' or 'ipv6IpamPoolId' should be provided.")
    if "CidrBlock" in params:
        raise ApiError(
            "InvalidParameterCombination",
            "When specifying ipv4 parameters, cidrBlock or ipv4IpamPoolId, you cannot set ipv6Native to true.",
        )
    return None


def _check_block(call: Call, vpc: dict[str, Any], block: cidrs.Block) -> None:
    held = cidrs.ipv4_blocks(vpc)
    if not 16 <= block.prefixlen <= 28 or not cidrs.inside(block, held):
        raise ApiError(
            "InvalidSubnet.Range",
            f"The CIDR '{block}' is invalid: expected a block from /16 to /28 inside {' or '.join(held)}.",
        )
    siblings = call.cloud.by("subnet", "VpcId", vpc["VpcId"])
    others = [each["CidrBlock"] for each in siblings if "CidrBlock" in each]
    if cidrs.overlapping(block, others):
        raise ApiError("InvalidSubnet.Conflict", f"The CIDR '{block}' conflicts with another subnet")


def create(
    call: Call,
    vpc: dict[str, Any],
    block: str | None,
    *,
    zone: str,
    tags: tagging.Tags,
    ipv6: str | None = None,
    default: bool = False,
) -> dict[str, Any]:
    """A subnet, under its VPC's default network ACL and main route table."""
    siblings = call.cloud.by("subnet", "VpcId", vpc["VpcId"])
    limits.check(call, "subnets-per-vpc", lambda: siblings, "SubnetLimitExceeded", "subnets")
    subnet_id = ids.new("subnet")
    record = {
        "SubnetId": subnet_id,
        "SubnetArn": partitions.arn(call, f"subnet/{subnet_id}"),
        "VpcId": vpc["VpcId"],
        "OwnerId": call.account,
        "Ipv6CidrBlockAssociationSet": [subnet_cidrs.association(call, vpc, ipv6)] if ipv6 else [],
        "AvailabilityZone": zone,
        "AvailabilityZoneId": zones.zone_id(zone),
        "AvailableIpAddressCount": cidrs.ipv4(block, "cidrBlock").num_addresses - RESERVED if block else 0,
        "State": "available",
        "DefaultForAz": default,
        "MapPublicIpOnLaunch": default,
        "MapCustomerOwnedIpOnLaunch": False,
        "AssignIpv6AddressOnCreation": block is None,
        "EnableDns64": False,
        "Ipv6Native": block is None,
        "PrivateDnsNameOptionsOnLaunch": {
            "HostnameType": "ip-name" if block else "resource-name",
            "EnableResourceNameDnsARecord": False,
            "EnableResourceNameDnsAAAARecord": False,
        },
        "Tags": tags,
    }
    if block:
        record["CidrBlock"] = block
    network_acls.associate(call, vpc["VpcId"], subnet_id)
    return call.cloud.put("subnet", subnet_id, record)


@action("DescribeSubnets")
def describe_subnets(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    found = ids.find_all(call, "subnet", params.get("SubnetIds"))
    return paging.page("Subnets", filters.apply(found, params.get("Filters"), FILTERS), params, "SubnetId")


@action("DeleteSubnet")
def delete_subnet(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    subnet = ids.find(call, "subnet", params.get("SubnetId"))
    dependencies.check(call, "subnet", subnet["SubnetId"])
    network_acls.forget_subnet(call, subnet["VpcId"], subnet["SubnetId"])
    route_tables.forget(call, subnet["VpcId"], subnet["SubnetId"])
    flow_logs.forget(call, subnet["SubnetId"])
    call.cloud.delete("subnet", subnet["SubnetId"])
    return {}


# Input member → where it goes in the record. The last three live in PrivateDnsNameOptionsOnLaunch.
_FLAGS = {
    "AssignIpv6AddressOnCreation": "AssignIpv6AddressOnCreation",
    "MapPublicIpOnLaunch": "MapPublicIpOnLaunch",
    "MapCustomerOwnedIpOnLaunch": "MapCustomerOwnedIpOnLaunch",
    "EnableDns64": "EnableDns64",
}
_DNS_FLAGS = {
    "EnableResourceNameDnsARecordOnLaunch": "EnableResourceNameDnsARecord",
    "EnableResourceNameDnsAAAARecordOnLaunch": "EnableResourceNameDnsAAAARecord",
}


@action("ModifySubnetAttribute")
def modify_subnet_attribute(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    subnet = ids.find(call, "subnet", params.get("SubnetId"))
    if len(params) > 2:
        raise ApiError(
            "InvalidParameterCombination",
            f"Exactly one attribute must be modified at a time, {len(params) - 1} were given",
        )
    changes = {field: params[member].get("Value", False) for member, field in _FLAGS.items() if member in params}
    if changes.get("AssignIpv6AddressOnCreation") and not cidrs.ipv6_blocks(subnet):
        raise ApiError(
            "InvalidParameterValue",
            f"Invalid value 'true' for assignIpv6AddressOnCreation. Subnet {subnet['SubnetId']} must be "
            "associated with an IPv6 CIDR.",
        )
    dns = {field: params[member].get("Value", False) for member, field in _DNS_FLAGS.items() if member in params}
    if "PrivateDnsHostnameTypeOnLaunch" in params:
        dns["HostnameType"] = params["PrivateDnsHostnameTypeOnLaunch"]
    if dns:
        changes["PrivateDnsNameOptionsOnLaunch"] = {**subnet["PrivateDnsNameOptionsOnLaunch"], **dns}
    parameters.refuse(params, "CustomerOwnedIpv4Pool")
    if "EnableLniAtDeviceIndex" in params:
        changes["EnableLniAtDeviceIndex"] = params["EnableLniAtDeviceIndex"]
    if not changes:
        raise ApiError("InvalidParameterCombination", "No attributes specified.")
    call.cloud.put("subnet", subnet["SubnetId"], {**subnet, **changes})
    return {}
