"""VPCs: made with a main route table, a default security group and network ACL, which go with them."""

from __future__ import annotations

from typing import Any

from hive_emulator.action import Call, action
from hive_emulator.ec2 import (
    cidrs,
    dependencies,
    dhcp,
    filters,
    flow_logs,
    ids,
    instance_view,
    limits,
    network_acls,
    paging,
    parameters,
    route_tables,
    security_groups,
    tagging,
    vpc_cidrs,
)
from hive_emulator.errors import ApiError

FILTERS = filters.table(
    "DescribeVpcs",
    {
        "cidr": "CidrBlock",
        "cidr-block": "CidrBlock",
        "cidrBlock": "CidrBlock",
        "cidr-block-association.association-id": "CidrBlockAssociationSet.AssociationId",
        "cidr-block-association.cidr-block": "CidrBlockAssociationSet.CidrBlock",
        "cidr-block-association.state": "CidrBlockAssociationSet.CidrBlockState.State",
        "dhcp-options-id": "DhcpOptionsId",
        "ipv6-cidr-block-association.association-id": "Ipv6CidrBlockAssociationSet.AssociationId",
        "ipv6-cidr-block-association.ipv6-cidr-block": "Ipv6CidrBlockAssociationSet.Ipv6CidrBlock",
        "ipv6-cidr-block-association.ipv6-pool": "Ipv6CidrBlockAssociationSet.Ipv6Pool",
        "ipv6-cidr-block-association.state": "Ipv6CidrBlockAssociationSet.Ipv6CidrBlockState.State",
        "is-default": "IsDefault",
        "isDefault": "IsDefault",
        "owner-id": "OwnerId",
        "state": "State",
        "vpc-id": "VpcId",
    },
)

# The attributes that are read and set one by one: input member, name in DescribeVpcAttribute, stored member.
ATTRIBUTES = (
    ("EnableDnsSupport", "enableDnsSupport", "_dns_support"),
    ("EnableDnsHostnames", "enableDnsHostnames", "_dns_hostnames"),
    ("EnableNetworkAddressUsageMetrics", "enableNetworkAddressUsageMetrics", "_address_usage_metrics"),
)


@action("CreateVpc")
def create_vpc(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    parameters.refuse(params, *vpc_cidrs.ELSEWHERE, "VpcEncryptionControl")
    if "CidrBlock" not in params:
        raise ApiError("MissingParameter", "Either 'cidrBlock' or 'ipv4IpamPoolId' should be provided.")
    block = cidrs.ipv4(params["CidrBlock"], "cidrBlock")
    if not cidrs.fits_a_vpc(block):
        raise ApiError("InvalidVpc.Range", f"The CIDR '{block}' is invalid.")
    vpc = create(
        call,
        str(block),
        tags=tagging.on_create(params, "vpc"),
        tenancy=parameters.one_of(params, "InstanceTenancy", ("default", "dedicated"), "default"),
        ipv6=params.get("AmazonProvidedIpv6CidrBlock", False),
    )
    return {"Vpc": vpc}


def create(
    call: Call,
    block: str,
    *,
    tags: tagging.Tags,
    tenancy: str = "default",
    ipv6: bool = False,
    default: bool = False,
) -> dict[str, Any]:
    """A VPC with everything that AWS makes along with it."""
    limits.check(call, "vpcs", lambda: call.cloud.all("vpc"), "VpcLimitExceeded", "VPCs")
    vpc_id = ids.new("vpc")
    record = {
        "VpcId": vpc_id,
        "CidrBlock": block,
        "CidrBlockAssociationSet": [vpc_cidrs.ipv4_association(block)],
        "Ipv6CidrBlockAssociationSet": [vpc_cidrs.ipv6_association(call)] if ipv6 else [],
        "DhcpOptionsId": dhcp.DEFAULT,
        "InstanceTenancy": tenancy,
        "IsDefault": default,
        "OwnerId": call.account,
        "State": "available",
        "Tags": tags,
        "_dns_support": True,
        "_dns_hostnames": default,
        "_address_usage_metrics": False,
    }
    call.cloud.put("vpc", vpc_id, record)
    route_tables.create(call, record, main=True)
    security_groups.create_default(call, record)
    network_acls.create_default(call, record)
    return record


@action("DescribeVpcs")
def describe_vpcs(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    found = ids.find_all(call, "vpc", params.get("VpcIds"))
    return paging.page("Vpcs", filters.apply(found, params.get("Filters"), FILTERS), params, "VpcId")


@action("DeleteVpc")
def delete_vpc(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    vpc_id = ids.find(call, "vpc", params.get("VpcId"))["VpcId"]
    dependencies.check(call, "vpc", vpc_id)
    for table in call.cloud.by("route-table", "VpcId", vpc_id):
        call.cloud.delete("route-table", table["RouteTableId"])
    for group in call.cloud.by("security-group", "VpcId", vpc_id):
        security_groups.remove(call, group)
    for acl in call.cloud.by("network-acl", "VpcId", vpc_id):
        call.cloud.delete("network-acl", acl["NetworkAclId"])
    flow_logs.forget(call, vpc_id)
    call.cloud.delete("vpc", vpc_id)
    return {}


@action("ModifyVpcAttribute")
def modify_vpc_attribute(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    vpc = ids.find(call, "vpc", params.get("VpcId"))
    given = {field: params[member].get("Value", False) for member, _, field in ATTRIBUTES if member in params}
    if len(given) != 1:
        raise ApiError(
            "InvalidParameterCombination",
            f"Exactly one attribute must be modified at a time, {len(given)} were given",
        )
    changed = {**vpc, **given}
    if changed["_dns_hostnames"] and not changed["_dns_support"] and "_dns_hostnames" in given:
        raise ApiError("InvalidParameterValue", "enableDnsHostnames needs enableDnsSupport to be true")
    call.cloud.put("vpc", vpc["VpcId"], changed)
    for instance in call.cloud.by("instance", "VpcId", vpc["VpcId"]):
        instance_view.refresh(call, instance["InstanceId"])  # its public name comes and goes with the attribute
    return {}


@action("ModifyVpcTenancy")
def modify_vpc_tenancy(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """From dedicated to default; the other way round AWS has none."""
    vpc = ids.find(call, "vpc", params["VpcId"])
    call.cloud.put("vpc", vpc["VpcId"], {**vpc, "InstanceTenancy": params["InstanceTenancy"]})
    return {"ReturnValue": True}


@action("DescribeVpcAttribute")
def describe_vpc_attribute(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    vpc = ids.find(call, "vpc", params.get("VpcId"))
    wanted = params.get("Attribute")
    for member, name, field in ATTRIBUTES:
        if name == wanted:
            return {"VpcId": vpc["VpcId"], member: {"Value": vpc[field]}}
    raise ApiError(
        "InvalidParameterValue",
        f"Value ({wanted}) for parameter attribute is invalid. Expected one of: "
        + ", ".join(name for _, name, _ in ATTRIBUTES),
    )
