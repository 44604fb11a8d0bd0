"""What holds what: one table that says which resources can't go while others need them.

Each line names the held kind, who holds it and how to find the holders. ``check`` walks the lines of a kind;
the table in docs/hive.md is made from the same lines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from hive_emulator.action import Call
from hive_emulator.cloud import Cloud
from hive_emulator.errors import ApiError


class Hold(NamedTuple):
    held: str
    by: str  # in words, for people
    holders: Callable[[Cloud, str], Iterable[str]]  # ids of those that hold the one with this id
    code: str = "DependencyViolation"
    message: str = "The {held} '{id}' has dependencies and cannot be deleted."


def _field(kind: str, index: str, name: str) -> Callable[[Cloud, str], Iterable[str]]:
    """Holders of a kind that name the held one in an indexed field."""
    return lambda cloud, held: [record[name] for record in cloud.by(kind, index, held)]


def _other_groups(cloud: Cloud, vpc: str) -> Iterable[str]:
    groups = cloud.by("security-group", "VpcId", vpc)
    return [group["GroupId"] for group in groups if group["GroupName"] != "default"]


def _other_tables(cloud: Cloud, vpc: str) -> Iterable[str]:
    tables = cloud.by("route-table", "VpcId", vpc)
    return [table["RouteTableId"] for table in tables if not any(each["Main"] for each in table["Associations"])]


def _other_acls(cloud: Cloud, vpc: str) -> Iterable[str]:
    return [acl["NetworkAclId"] for acl in cloud.by("network-acl", "VpcId", vpc) if not acl["IsDefault"]]


def _subnets_under(cloud: Cloud, acl: str) -> Iterable[str]:
    record = cloud.get("network-acl", acl)
    return [each["SubnetId"] for each in record["Associations"]] if record else []


def _rules_elsewhere(cloud: Cloud, group: str) -> Iterable[str]:
    rules = cloud.by("security-group-rule", "ReferencedGroupId", group)
    return [rule["SecurityGroupRuleId"] for rule in rules if rule["GroupId"] != group]


def _attached_vpcs(cloud: Cloud, gateway: str) -> Iterable[str]:
    record = cloud.get("internet-gateway", gateway)
    return [each["VpcId"] for each in record["Attachments"]] if record else []


def _public_addresses(cloud: Cloud, vpc: str) -> Iterable[str]:
    interfaces = cloud.by("network-interface", "VpcId", vpc)
    return [
        address["Association"]["PublicIp"]
        for interface in interfaces
        for address in interface["PrivateIpAddresses"]
        if "Association" in address
    ]


def _associations(cloud: Cloud, table: str) -> Iterable[str]:
    record = cloud.get("route-table", table)
    return [each["RouteTableAssociationId"] for each in record["Associations"]] if record else []


def _attachment(cloud: Cloud, interface: str) -> Iterable[str]:
    record = cloud.get("network-interface", interface)
    return [record["Attachment"]["AttachmentId"]] if record and "Attachment" in record else []


def _place(cloud: Cloud, address: str) -> Iterable[str]:
    record = cloud.get("elastic-ip", address)
    return [record["NetworkInterfaceId"]] if record and "NetworkInterfaceId" in record else []


def _volume_attachments(cloud: Cloud, volume: str) -> Iterable[str]:
    record = cloud.get("volume", volume)
    return [each["InstanceId"] for each in record["Attachments"]] if record else []


def _other_gateway_tables(cloud: Cloud, gateway: str) -> Iterable[str]:
    tables = cloud.by("transit-gateway-route-table", "TransitGatewayId", gateway)
    defaults = ("DefaultAssociationRouteTable", "DefaultPropagationRouteTable")
    return [each["TransitGatewayRouteTableId"] for each in tables if not any(each[name] for name in defaults)]


_LISTED = "The prefix list {id} is referenced by other resources."

TABLE: tuple[Hold, ...] = (
    Hold("vpc", "a subnet in it", _field("subnet", "VpcId", "SubnetId")),
    Hold("vpc", "a security group in it, other than its default one", _other_groups),
    Hold("vpc", "a route table in it, other than its main one", _other_tables),
    Hold("vpc", "a network ACL in it, other than its default one", _other_acls),
    Hold(
        "vpc",
        "an internet gateway attached to it",
        _field("internet-gateway", "VpcId", "InternetGatewayId"),
    ),
    Hold(
        "vpc",
        "an egress-only internet gateway in it",
        _field("egress-only-internet-gateway", "VpcId", "EgressOnlyInternetGatewayId"),
    ),
    Hold("vpc", "a VPC endpoint in it", _field("vpc-endpoint", "VpcId", "VpcEndpointId")),
    Hold(
        "vpc",
        "a peering connection of it",
        _field("vpc-peering-connection", "VpcId", "VpcPeeringConnectionId"),
    ),
    Hold("vpc", "a VPN gateway attached to it", _field("vpn-gateway", "VpcId", "VpnGatewayId")),
    Hold("network-acl", "a subnet under it", _subnets_under),
    Hold("dhcp-options", "a VPC that uses them", _field("vpc", "DhcpOptionsId", "VpcId")),
    Hold(
        "subnet",
        "a network interface in it (of an instance, a NAT gateway, or on its own)",
        _field("network-interface", "SubnetId", "NetworkInterfaceId"),
    ),
    Hold(
        "security-group",
        "a network interface that is in it",
        _field("network-interface", "GroupId", "NetworkInterfaceId"),
        message="resource {id} has a dependent object",
    ),
    Hold(
        "security-group",
        "a rule of another group that names it",
        _rules_elsewhere,
        message="resource {id} has a dependent object",
    ),
    Hold("internet-gateway", "the VPC that it is attached to", _attached_vpcs),
    Hold(
        "internet-gateway attachment",
        "a public address in the VPC",
        _public_addresses,
        message="Network {id} has some mapped public address(es). Please unmap those public address(es) "
        "before detaching the gateway.",
    ),
    Hold("route-table", "an association: of a subnet, a gateway, or as the main table", _associations),
    Hold(
        "network-interface",
        "the instance or NAT gateway that it is attached to",
        _attachment,
        code="InvalidParameterValue",
        message="Network interface '{id}' is currently in use.",
    ),
    Hold(
        "elastic-ip",
        "the network interface that it is associated with",
        _place,
        code="InvalidIPAddress.InUse",
        message="Address {id} is in use.",
    ),
    Hold(
        "volume",
        "the instance that it is attached to",
        _volume_attachments,
        code="VolumeInUse",
        message="Volume {id} is currently attached.",
    ),
    Hold(
        "snapshot",
        "an image made of it",
        _field("image", "SnapshotId", "ImageId"),
        code="InvalidSnapshot.InUse",
        message="The snapshot {id} is currently in use.",
    ),
    Hold(
        "prefix-list",
        "a security group with a rule that names it",
        _field("security-group-rule", "PrefixListId", "GroupId"),
        code="delete-failed",
        message=_LISTED,
    ),
    Hold(
        "prefix-list",
        "a route table with a route to it",
        _field("route-table", "PrefixListId", "RouteTableId"),
        code="delete-failed",
        message=_LISTED,
    ),
    Hold(
        "transit-gateway",
        "a VPC attached to it",
        _field("transit-gateway-attachment", "TransitGatewayId", "TransitGatewayAttachmentId"),
        code="IncorrectState",
        message="{id} has non-deleted attachments.",
    ),
    Hold(
        "transit-gateway",
        "a route table of it, other than its default one",
        _other_gateway_tables,
        code="IncorrectState",
        message="{id} has non-deleted route tables.",
    ),
    Hold(
        "transit-gateway-route-table",
        "an attachment associated with it",
        _field("transit-gateway-attachment", "RouteTableId", "TransitGatewayAttachmentId"),
        code="IncorrectState",
        message="{id} has associations.",
    ),
    Hold(
        "placement-group",
        "an instance in it that is not terminated",
        _field("instance", "PlacementGroup", "InstanceId"),
        code="InvalidPlacementGroup.InUse",
        message="The placement group '{id}' is in use and may not be deleted.",
    ),
)

_SHOWN = 5


def check(call: Call, held: str, its_id: str) -> None:
    """Refuses to let a resource go while another one holds it, and names the holders."""
    for line in TABLE:
        if line.held == held:
            holders = list(line.holders(call.cloud, its_id))
            if holders:
                raise ApiError(line.code, f"{_message(line, its_id)} Held by {_names(holders)}: {line.by}.")


def _message(line: Hold, its_id: str) -> str:
    return line.message.format(held=_NOUNS.get(line.held, line.held), id=its_id).rstrip(".") + "."


def _names(holders: list[str]) -> str:
    more = f" and {len(holders) - _SHOWN} more" if len(holders) > _SHOWN else ""
    return ", ".join(holders[:_SHOWN]) + more


# How AWS writes these kinds in its message.
_NOUNS = {"route-table": "routeTable", "internet-gateway": "internetGateway"}
