"""The IPv6 block of a subnet: a /64 out of its VPC's /56."""

from __future__ import annotations

from typing import Any

from hive_emulator.action import Call, action
from hive_emulator.ec2 import cidrs, ids
from hive_emulator.errors import ApiError


def association(call: Call, vpc: dict[str, Any], text: str) -> dict[str, Any]:
    """The entry for a block that is free and inside the VPC's, or AWS's error."""
    block = cidrs.ipv6(text, "ipv6CidrBlock")
    if block.prefixlen != 64 or not cidrs.inside(block, cidrs.ipv6_blocks(vpc)):
        raise ApiError("InvalidSubnet.Range", f"The CIDR '{block}' is invalid.")
    siblings = call.cloud.by("subnet", "VpcId", vpc["VpcId"])
    if cidrs.overlapping(block, [held for each in siblings for held in cidrs.ipv6_blocks(each)]):
        raise ApiError("InvalidSubnet.Conflict", f"The CIDR '{block}' conflicts with another subnet")
    return {
        "AssociationId": ids.new("subnet-cidr-assoc"),
        "Ipv6CidrBlock": str(block),
        "Ipv6CidrBlockState": {"State": "associated"},
        "Ipv6AddressAttribute": "public",
        "IpSource": "amazon",
    }


@action("AssociateSubnetCidrBlock")
def associate_subnet_cidr_block(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    subnet = ids.find(call, "subnet", params.get("SubnetId"))
    if cidrs.ipv6_blocks(subnet):
        raise ApiError("SubnetCidrLimitExceeded", f"Subnet {subnet['SubnetId']} already has its one IPv6 CIDR block")
    if "Ipv6CidrBlock" not in params:
        raise ApiError("MissingParameter", "The request must contain the parameter ipv6CidrBlock")
    vpc = ids.find(call, "vpc", subnet["VpcId"])
    added = association(call, vpc, params["Ipv6CidrBlock"])
    call.cloud.put("subnet", subnet["SubnetId"], {**subnet, "Ipv6CidrBlockAssociationSet": [added]})
    return {"SubnetId": subnet["SubnetId"], "Ipv6CidrBlockAssociation": added}


@action("DisassociateSubnetCidrBlock")
def disassociate_subnet_cidr_block(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    wanted = params.get("AssociationId", "")
    for subnet in call.cloud.all("subnet"):
        for each in cidrs.associated(subnet["Ipv6CidrBlockAssociationSet"], "Ipv6CidrBlockState"):
            if each["AssociationId"] == wanted:
                return _take_away(call, subnet, each)
    raise ApiError(
        "InvalidSubnetCidrBlockAssociationID.NotFound",
        f"The subnet CIDR block association ID '{wanted}' does not exist",
    )


def _take_away(call: Call, subnet: dict[str, Any], gone: dict[str, Any]) -> dict[str, Any]:
    if subnet["Ipv6Native"]:
        raise ApiError("OperationNotPermitted", f"The subnet {subnet['SubnetId']} has IPv6 addresses only")
    for interface in call.cloud.by("network-interface", "SubnetId", subnet["SubnetId"]):
        if interface["Ipv6Addresses"]:
            raise ApiError(
                "InvalidCidrBlock.InUse",
                f"The CIDR block {gone['Ipv6CidrBlock']} is in use by {interface['NetworkInterfaceId']}",
            )
    ended = {**gone, "Ipv6CidrBlockState": {"State": "disassociated"}}
    changed = {**subnet, "Ipv6CidrBlockAssociationSet": [ended], "AssignIpv6AddressOnCreation": False}
    call.cloud.put("subnet", subnet["SubnetId"], changed)
    answer = {**gone, "Ipv6CidrBlockState": {"State": "disassociating"}}
    return {"SubnetId": subnet["SubnetId"], "Ipv6CidrBlockAssociation": answer}
