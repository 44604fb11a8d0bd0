"""Network ACLs: each VPC has its default one, which lets everything through and holds all of its subnets."""

from __future__ import annotations

from typing import Any

from hive_emulator.action import Call, action
from hive_emulator.ec2 import cidrs, filters, ids, paging

FILTERS = filters.table(
    "DescribeNetworkAcls",
    {
        "association.association-id": "Associations.NetworkAclAssociationId",
        "association.network-acl-id": "Associations.NetworkAclId",
        "association.subnet-id": "Associations.SubnetId",
        "default": "IsDefault",
        "entry.cidr": "Entries.CidrBlock",
        "entry.egress": "Entries.Egress",
        "entry.icmp.code": "Entries.IcmpTypeCode.Code",
        "entry.icmp.type": "Entries.IcmpTypeCode.Type",
        "entry.ipv6-cidr": "Entries.Ipv6CidrBlock",
        "entry.port-range.from": "Entries.PortRange.From",
        "entry.port-range.to": "Entries.PortRange.To",
        "entry.protocol": "Entries.Protocol",
        "entry.rule-action": "Entries.RuleAction",
        "entry.rule-number": "Entries.RuleNumber",
        "network-acl-id": "NetworkAclId",
        "owner-id": "OwnerId",
        "vpc-id": "VpcId",
    },
)


def create_default(call: Call, vpc: dict[str, Any]) -> None:
    """The ACL that comes with a VPC."""
    acl_id = ids.new("acl")
    record = {
        "NetworkAclId": acl_id,
        "VpcId": vpc["VpcId"],
        "OwnerId": call.account,
        "IsDefault": True,
        "Associations": [],
        "Entries": _entries({"CidrBlock": "0.0.0.0/0"}, 100, 32767),
        "Tags": [],
    }
    if cidrs.ipv6_blocks(vpc):
        record["Entries"] += _entries({"Ipv6CidrBlock": "::/0"}, 101, 32768)
    call.cloud.put("network-acl", acl_id, record)


def _entries(everywhere: dict[str, str], allow: int, deny: int) -> list[dict[str, Any]]:
    return [
        {**everywhere, "Egress": egress, "Protocol": "-1", "RuleAction": rule, "RuleNumber": number}
        for egress in (True, False)
        for rule, number in (("allow", allow), ("deny", deny))
    ]


def associate(call: Call, vpc_id: str, subnet_id: str) -> None:
    """Puts a new subnet under its VPC's default ACL."""
    for acl in call.cloud.by("network-acl", "VpcId", vpc_id):
        if acl["IsDefault"]:
            added = {
                "NetworkAclAssociationId": ids.new("aclassoc"),
                "NetworkAclId": acl["NetworkAclId"],
                "SubnetId": subnet_id,
            }
            changed = {**acl, "Associations": [*acl["Associations"], added]}
            call.cloud.put("network-acl", acl["NetworkAclId"], changed)


def forget_subnet(call: Call, vpc_id: str, subnet_id: str) -> None:
    """Ends the association of a subnet that goes away."""
    for acl in call.cloud.by("network-acl", "VpcId", vpc_id):
        kept = [each for each in acl["Associations"] if each["SubnetId"] != subnet_id]
        if len(kept) != len(acl["Associations"]):
            call.cloud.put("network-acl", acl["NetworkAclId"], {**acl, "Associations": kept})


@action("DescribeNetworkAcls")
def describe_network_acls(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    found = ids.find_all(call, "network-acl", params.get("NetworkAclIds"))
    chosen = filters.apply(found, params.get("Filters"), FILTERS)
    return paging.page("NetworkAcls", chosen, params, "NetworkAclId")
