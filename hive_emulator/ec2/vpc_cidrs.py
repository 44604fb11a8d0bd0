"""The address blocks of a VPC: associated with it when it is made or afterwards, and taken away again."""

from __future__ import annotations

import ipaddress
from typing import Any

from hive_emulator.action import Call, action
from hive_emulator.ec2 import cidrs, ids, limits, parameters, route_tables
from hive_emulator.errors import ApiError

Association = dict[str, Any]

# Blocks out of pools of one's own, which this cloud doesn't have.
ELSEWHERE = (
    "Ipv4IpamPoolId",
    "Ipv4NetmaskLength",
    "Ipv6CidrBlock",
    "Ipv6IpamPoolId",
    "Ipv6NetmaskLength",
    "Ipv6Pool",
)


def ipv4_association(block: str) -> Association:
    return {
        "AssociationId": ids.new("vpc-cidr-assoc"),
        "CidrBlock": block,
        "CidrBlockState": {"State": "associated"},
    }


def ipv6_association(call: Call) -> Association:
    return {
        "AssociationId": ids.new("vpc-cidr-assoc"),
        "Ipv6CidrBlock": cidrs.random_ipv6_block(),
        "Ipv6CidrBlockState": {"State": "associated"},
        "NetworkBorderGroup": call.region,
        "Ipv6Pool": "Amazon",
        "Ipv6AddressAttribute": "public",
        "IpSource": "amazon",
    }


@action("AssociateVpcCidrBlock")
def associate_vpc_cidr_block(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    vpc = ids.find(call, "vpc", params.get("VpcId"))
    parameters.refuse(params, *ELSEWHERE)
    if params.get("AmazonProvidedIpv6CidrBlock"):
        return _add_ipv6(call, vpc)
    if "CidrBlock" not in params:
        raise ApiError("MissingParameter", "Either 'cidrBlock' or 'amazonProvidedIpv6CidrBlock' is required.")
    block = cidrs.ipv4(params["CidrBlock"], "cidrBlock")
    held = cidrs.ipv4_blocks(vpc)
    if not cidrs.fits_a_vpc(block) or cidrs.overlapping(block, held):
        raise ApiError("InvalidVpc.Range", f"The CIDR '{block}' is invalid or overlaps one of {', '.join(held)}.")
    _check_routes(call, vpc, block)
    noun = f"CIDRs of network '{vpc['VpcId']}'"
    limits.check(call, "cidrs-per-vpc", lambda: held, "CidrLimitExceeded", noun)
    added = ipv4_association(str(block))
    in_force = cidrs.associated(vpc["CidrBlockAssociationSet"], "CidrBlockState")
    _save(call, {**vpc, "CidrBlockAssociationSet": [*in_force, added]})
    return {"VpcId": vpc["VpcId"], "CidrBlockAssociation": added}


def _check_routes(call: Call, vpc: dict[str, Any], block: ipaddress.IPv4Network) -> None:
    """A route that somebody made must not lead where the local route of the new block would."""
    for table in call.cloud.by("route-table", "VpcId", vpc["VpcId"]):
        for route in table["Routes"]:
            made = route.get("DestinationCidrBlock") if route["Origin"] == "CreateRoute" else None
            if made and cidrs.inside(ipaddress.ip_network(made), [str(block)]):
                where = f"a route to {made} is in {table['RouteTableId']}"
                raise ApiError("InvalidVpc.Range", f"The CIDR '{block}' can't be added: {where}.")


def _add_ipv6(call: Call, vpc: dict[str, Any]) -> dict[str, Any]:
    if cidrs.ipv6_blocks(vpc):
        raise ApiError(
            "CidrLimitExceeded",
            f"This network '{vpc['VpcId']}' has met its maximum number of allowed IPv6 CIDRs: 1",
        )
    added = ipv6_association(call)
    _save(call, {**vpc, "Ipv6CidrBlockAssociationSet": [added]})
    return {"VpcId": vpc["VpcId"], "Ipv6CidrBlockAssociation": added}


@action("DisassociateVpcCidrBlock")
def disassociate_vpc_cidr_block(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    wanted = params.get("AssociationId", "")
    for vpc in call.cloud.all("vpc"):
        for member, state in (
            ("CidrBlockAssociationSet", "CidrBlockState"),
            ("Ipv6CidrBlockAssociationSet", "Ipv6CidrBlockState"),
        ):
            for each in cidrs.associated(vpc[member], state):
                if each["AssociationId"] == wanted:
                    return _take_away(call, vpc, each, member, state)
    raise ApiError(
        "InvalidVpcCidrBlockAssociationID.NotFound",
        f"The vpc CIDR block association ID '{wanted}' does not exist",
    )


def _take_away(call: Call, vpc: dict[str, Any], gone: Association, member: str, state: str) -> dict[str, Any]:
    if gone.get("CidrBlock") == vpc["CidrBlock"]:
        raise ApiError(
            "OperationNotPermitted",
            f"The vpc CIDR block with association ID {gone['AssociationId']} may not be disassociated. "
            "It is the primary IPv4 CIDR block of the VPC",
        )
    _check_unused(call, vpc, ipaddress.ip_network(gone.get("CidrBlock") or gone["Ipv6CidrBlock"]))
    ended = {**gone, state: {"State": "disassociated"}}
    kept = [each for each in cidrs.associated(vpc[member], state) if each is not gone]
    _save(call, {**vpc, member: [*kept, ended]})
    answer = {**gone, state: {"State": "disassociating"}}
    return {"VpcId": vpc["VpcId"], member.removesuffix("Set"): answer}


def _check_unused(call: Call, vpc: dict[str, Any], block: cidrs.Block) -> None:
    for subnet in call.cloud.by("subnet", "VpcId", vpc["VpcId"]):
        held = [subnet["CidrBlock"]] if "CidrBlock" in subnet else []
        held += cidrs.ipv6_blocks(subnet)
        if any(cidrs.inside(ipaddress.ip_network(each), [str(block)]) for each in held):
            raise ApiError(
                "InvalidCidrBlock.InUse",
                f"The vpc {vpc['VpcId']} currently has a subnet within CIDR block {block}: {subnet['SubnetId']}",
            )


def _save(call: Call, vpc: dict[str, Any]) -> None:
    call.cloud.put("vpc", vpc["VpcId"], vpc)
    route_tables.refresh_local_routes(call, vpc)
