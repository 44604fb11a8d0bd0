"""Resource ids: how they are made, what they look like, and what AWS says when one is wrong or gone."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from hive_emulator.action import Call
from hive_emulator.errors import ApiError


@dataclass(frozen=True)
class Kind:
    """What AWS calls one kind of resource, in ids and in errors."""

    prefix: str
    not_found: str
    message: str  # with {id}
    malformed: str | None = None  # None: AWS has no such code here and answers "not found"


KINDS: dict[str, Kind] = {
    "vpc": Kind("vpc", "InvalidVpcID.NotFound", "The vpc ID '{id}' does not exist"),
    "subnet": Kind("subnet", "InvalidSubnetID.NotFound", "The subnet ID '{id}' does not exist"),
    "security-group": Kind(
        "sg", "InvalidGroup.NotFound", "The security group '{id}' does not exist", "InvalidGroupId.Malformed"
    ),
    "security-group-rule": Kind(
        "sgr",
        "InvalidSecurityGroupRuleId.NotFound",
        "The security group rule ID '{id}' does not exist",
        "InvalidSecurityGroupRuleId.Malformed",
    ),
    "internet-gateway": Kind(
        "igw",
        "InvalidInternetGatewayID.NotFound",
        "The internetGateway ID '{id}' does not exist",
        "InvalidInternetGatewayId.Malformed",
    ),
    "egress-only-internet-gateway": Kind("eigw", "InvalidGatewayID.NotFound", "The eigw ID '{id}' does not exist"),
    "route-table": Kind(
        "rtb",
        "InvalidRouteTableID.NotFound",
        "The routeTable ID '{id}' does not exist",
    ),
    "network-interface": Kind(
        "eni",
        "InvalidNetworkInterfaceID.NotFound",
        "The networkInterface ID '{id}' does not exist",
        "InvalidNetworkInterfaceId.Malformed",
    ),
    "network-acl": Kind("acl", "InvalidNetworkAclID.NotFound", "The networkAcl ID '{id}' does not exist"),
    "elastic-ip": Kind("eipalloc", "InvalidAllocationID.NotFound", "The allocation ID '{id}' does not exist"),
    "natgateway": Kind("nat", "NatGatewayNotFound", "NAT gateway {id} was not found", "NatGatewayMalformed"),
    "dhcp-options": Kind("dopt", "InvalidDhcpOptionID.NotFound", "The dhcpOption ID '{id}' does not exist"),
    "instance": Kind(
        "i",
        "InvalidInstanceID.NotFound",
        "The instance ID '{id}' does not exist",
        "InvalidInstanceID.Malformed",
    ),
    "volume": Kind("vol", "InvalidVolume.NotFound", "The volume '{id}' does not exist.", "InvalidParameterValue"),
    "snapshot": Kind(
        "snap",
        "InvalidSnapshot.NotFound",
        "The snapshot '{id}' does not exist.",
        "InvalidSnapshotID.Malformed",
    ),
    "image": Kind("ami", "InvalidAMIID.NotFound", "The image id '[{id}]' does not exist", "InvalidAMIID.Malformed"),
    "key-pair": Kind("key", "InvalidKeyPair.NotFound", "The key pair '{id}' does not exist"),
    "placement-group": Kind("pg", "InvalidPlacementGroup.Unknown", "The Placement Group '{id}' is unknown."),
    "prefix-list": Kind("pl", "InvalidPrefixListID.NotFound", "The prefix list ID '{id}' does not exist"),
    "vpc-endpoint": Kind("vpce", "InvalidVpcEndpointId.NotFound", "The Vpc Endpoint Id '{id}' does not exist"),
    "vpc-endpoint-service": Kind(
        "vpce-svc", "InvalidVpcEndpointServiceId.NotFound", "The VpcEndpointService Id '{id}' does not exist"
    ),
    "vpc-peering-connection": Kind(
        "pcx", "InvalidVpcPeeringConnectionID.NotFound", "The vpcPeeringConnection ID '{id}' does not exist"
    ),
    "vpn-gateway": Kind("vgw", "InvalidVpnGatewayID.NotFound", "The vpnGateway ID '{id}' does not exist"),
    "customer-gateway": Kind(
        "cgw", "InvalidCustomerGatewayID.NotFound", "The customerGateway ID '{id}' does not exist"
    ),
    "vpc-flow-log": Kind("fl", "InvalidFlowLogId.NotFound", "The specified flow log ID '{id}' does not exist"),
    "transit-gateway": Kind(
        "tgw", "InvalidTransitGatewayID.NotFound", "Transit Gateway {id} was deleted or does not exist."
    ),
    "transit-gateway-attachment": Kind(
        "tgw-attach",
        "InvalidTransitGatewayAttachmentID.NotFound",
        "Transit Gateway Attachment {id} was deleted or does not exist.",
    ),
    "transit-gateway-route-table": Kind(
        "tgw-rtb", "InvalidRouteTableID.NotFound", "Transit Gateway Route Table {id} was deleted or does not exist."
    ),
}

_OWN_WORDS = ("dopt-default",)
_HEX = re.compile(r"(?:[0-9a-f]{8}|[0-9a-f]{17})\Z")


def new(prefix: str) -> str:
    """A fresh id such as ``vpc-0a1b2c3d4e5f60718``: a prefix and 17 hex digits."""
    return f"{prefix}-{secrets.token_hex(9)[:17]}"


def is_well_formed(kind: str, wanted: str) -> bool:
    """True for what may be an id of this kind."""
    stem, dash, digits = wanted.rpartition("-")
    return bool(dash and stem == KINDS[kind].prefix and (_HEX.match(digits) or wanted in _OWN_WORDS))


def not_found(kind: str, wanted: str) -> ApiError:
    """The error that AWS gives for an id that isn't there, or that can't be one."""
    known = KINDS[kind]
    if known.malformed and not is_well_formed(kind, wanted):
        return ApiError(known.malformed, f'Invalid id: "{wanted}" (expecting "{known.prefix}-...")')
    return ApiError(known.not_found, known.message.format(id=wanted))


def find(call: Call, kind: str, wanted: str | None) -> dict[str, Any]:
    """The record with this id, or AWS's error for its absence."""
    if not wanted:
        raise ApiError("MissingParameter", f"The request must contain the ID of a {kind}")
    record = call.cloud.get(kind, wanted)
    if record is None:
        raise not_found(kind, wanted)
    return record


def find_all(call: Call, kind: str, wanted: Iterable[str] | None) -> list[dict[str, Any]]:
    """The records with these ids, each once; all of that kind when no ids are given."""
    if not wanted:
        return list(call.cloud.all(kind))
    return each(wanted, lambda one: find(call, kind, one))


def each(wanted: Iterable[str], look_up: Callable[[str], dict[str, Any]]) -> list[dict[str, Any]]:
    """The record of each id, once. Where several aren't there, the error names all of them, as AWS's does."""
    found, missing = [], []
    for one in dict.fromkeys(wanted):
        try:
            found.append(look_up(one))
        except ApiError as error:
            missing.append((one, error))
    if not missing:
        return found
    first = missing[0][1]
    same = [one for one, error in missing if error.code == first.code]
    if len(same) == 1 or not first.code.endswith("NotFound"):
        raise first
    raise ApiError(first.code, _plural(first.message, missing[0][0], same))


def _plural(message: str, one: str, every: list[str]) -> str:
    """The instance ID 'i-1' does not exist: The instance IDs 'i-1, i-2' do not exist."""
    before, _, after = message.partition(f"'{one}'")
    if not after:  # '[ami-1]' and the like
        return message.replace(one, ", ".join(every)).replace("does not", "do not").replace(" id ", " ids ")
    shown = ", ".join(every)
    return f"{before.rstrip()}s '{shown}'{after.replace('does not', 'do not')}"
