"""Network ACLs: each VPC has its default one, which lets everything through and holds its subnets at first.

Nothing is filtered here: entries are kept and answered.
"""

from __future__ import annotations

from typing import Any

from hive_emulator.action import Call, action
from hive_emulator.ec2 import cidrs, dependencies, filters, ids, limits, paging, tagging
from hive_emulator.errors import ApiError

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
    _create(call, vpc, {"allow": 100, "deny": 32767}, tags=[], default=True)


@action("CreateNetworkAcl")
def create_network_acl(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    vpc = ids.find(call, "vpc", params["VpcId"])
    held = call.cloud.by("network-acl", "VpcId", vpc["VpcId"])
    limits.check(call, "network-acls-per-vpc", lambda: held, "NetworkAclLimitExceeded", "network ACLs of a VPC")
    acl = _create(call, vpc, {"deny": 32767}, tags=tagging.on_create(params, "network-acl"), default=False)
    answer = {"NetworkAcl": acl}
    return {**answer, "ClientToken": params["ClientToken"]} if "ClientToken" in params else answer


def _create(
    call: Call, vpc: dict[str, Any], rules: dict[str, int], *, tags: tagging.Tags, default: bool
) -> dict[str, Any]:
    acl_id = ids.new("acl")
    entries = _entries({"CidrBlock": "0.0.0.0/0"}, rules)
    if cidrs.ipv6_blocks(vpc):
        entries += _entries({"Ipv6CidrBlock": "::/0"}, {rule: number + 1 for rule, number in rules.items()})
    record = {
        "NetworkAclId": acl_id,
        "VpcId": vpc["VpcId"],
        "OwnerId": call.account,
        "IsDefault": default,
        "Associations": [],
        "Entries": entries,
        "Tags": tags,
    }
    return call.cloud.put("network-acl", acl_id, record)


def _entries(everywhere: dict[str, str], rules: dict[str, int]) -> list[dict[str, Any]]:
    return [
        {**everywhere, "Egress": egress, "Protocol": "-1", "RuleAction": rule, "RuleNumber": number}
        for egress in (True, False)
        for rule, number in rules.items()
    ]


@action("DeleteNetworkAcl")
def delete_network_acl(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    acl = ids.find(call, "network-acl", params["NetworkAclId"])
    if acl["IsDefault"]:
        raise ApiError("InvalidParameterValue", f"cannot delete default network ACL {acl['NetworkAclId']}")
    dependencies.check(call, "network-acl", acl["NetworkAclId"])
    call.cloud.delete("network-acl", acl["NetworkAclId"])
    return {}


@action("ReplaceNetworkAclAssociation")
def replace_network_acl_association(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """A subnet comes under another ACL: it always has exactly one."""
    new = ids.find(call, "network-acl", params["NetworkAclId"])
    old, association = _associated(call, params["AssociationId"])
    if new["VpcId"] != old["VpcId"]:
        raise ApiError(
            "InvalidParameterValue",
            f"network ACL {new['NetworkAclId']} and subnet {association['SubnetId']} belong to different networks",
        )
    forget_subnet(call, old["VpcId"], association["SubnetId"])
    added = _put_under(call, ids.find(call, "network-acl", new["NetworkAclId"]), association["SubnetId"])
    return {"NewAssociationId": added["NetworkAclAssociationId"]}


def _associated(call: Call, wanted: str) -> tuple[dict[str, Any], dict[str, Any]]:
    for acl in call.cloud.by("network-acl", "AssociationId", wanted):
        return acl, next(each for each in acl["Associations"] if each["NetworkAclAssociationId"] == wanted)
    raise ApiError("InvalidAssociationID.NotFound", f"The association ID '{wanted}' does not exist")


def _put_under(call: Call, acl: dict[str, Any], subnet_id: str) -> dict[str, Any]:
    added = {
        "NetworkAclAssociationId": ids.new("aclassoc"),
        "NetworkAclId": acl["NetworkAclId"],
        "SubnetId": subnet_id,
    }
    call.cloud.put("network-acl", acl["NetworkAclId"], {**acl, "Associations": [*acl["Associations"], added]})
    return added


def associate(call: Call, vpc_id: str, subnet_id: str) -> None:
    """Puts a new subnet under its VPC's default ACL."""
    for acl in call.cloud.by("network-acl", "VpcId", vpc_id):
        if acl["IsDefault"]:
            _put_under(call, acl, subnet_id)


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
