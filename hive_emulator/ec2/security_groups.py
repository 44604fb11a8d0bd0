"""Security groups. Rules are records of their own; a group carries the view that Describe shows of them."""

from __future__ import annotations

import re
from typing import Any

from hive_emulator.action import Call, action
from hive_emulator.ec2 import (
    cidrs,
    default_vpc,
    dependencies,
    filters,
    ids,
    limits,
    paging,
    partitions,
    permissions,
    tagging,
)
from hive_emulator.errors import ApiError

_ALLOWED = re.compile(r"[a-zA-Z0-9. _\-:/()#,@\[\]+=&;{}!$*]{1,255}\Z")


def _permission_filters(prefix: str, member: str) -> dict[str, str | filters.Getter]:
    return {
        f"{prefix}.cidr": f"{member}.IpRanges.CidrIp",
        f"{prefix}.from-port": f"{member}.FromPort",
        f"{prefix}.group-id": f"{member}.UserIdGroupPairs.GroupId",
        f"{prefix}.group-name": f"{member}.UserIdGroupPairs._GroupName",
        f"{prefix}.ipv6-cidr": f"{member}.Ipv6Ranges.CidrIpv6",
        f"{prefix}.prefix-list-id": f"{member}.PrefixListIds.PrefixListId",
        f"{prefix}.protocol": f"{member}.IpProtocol",
        f"{prefix}.to-port": f"{member}.ToPort",
        f"{prefix}.user-id": f"{member}.UserIdGroupPairs.UserId",
    }


FILTERS = filters.table(
    "DescribeSecurityGroups",
    {
        "description": "Description",
        **_permission_filters("egress.ip-permission", "IpPermissionsEgress"),
        **_permission_filters("ip-permission", "IpPermissions"),
        "group-id": "GroupId",
        "group-name": "GroupName",
        "owner-id": "OwnerId",
        "vpc-id": "VpcId",
    },
)


@action("CreateSecurityGroup")
def create_security_group(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    name, description = _checked_texts(params)
    vpc = ids.find(call, "vpc", params["VpcId"]) if "VpcId" in params else default_vpc.vpc(call)
    if name == "default":
        raise ApiError("InvalidParameterValue", "Cannot use reserved security group name: default")
    for other in call.cloud.by("security-group", "GroupName", name):
        if other["VpcId"] == vpc["VpcId"]:
            raise ApiError(
                "InvalidGroup.Duplicate",
                f"The security group '{name}' already exists for VPC '{vpc['VpcId']}'",
            )
    group = create(call, vpc, name, description, tagging.on_create(params, "security-group"))
    add_default_egress(call, group, vpc)
    return {"GroupId": group["GroupId"], "Tags": group["Tags"], "SecurityGroupArn": group["SecurityGroupArn"]}


def _checked_texts(params: dict[str, Any]) -> tuple[str, str]:
    for member in ("GroupName", "Description"):
        text = params.get(member)
        if text is None:
            raise ApiError("MissingParameter", f"The request must contain the parameter {member}")
        if not _ALLOWED.match(text):
            raise ApiError(
                "InvalidParameterValue",
                f"Value ({text[:255]}) for parameter {member} is invalid. Expected up to 255 characters of "
                "a-z, A-Z, 0-9, spaces, and ._-:/()#,@[]+=&;{}!$*",
            )
    if params["GroupName"].startswith("sg-"):
        raise ApiError("InvalidParameterValue", "Group names may not be in the format sg-*")
    return params["GroupName"], params["Description"]


def create(call: Call, vpc: dict[str, Any], name: str, description: str, tags: tagging.Tags) -> dict[str, Any]:
    """A group without rules."""
    limits.check(
        call,
        "security-groups",
        lambda: call.cloud.all("security-group"),
        "SecurityGroupLimitExceeded",
        "security groups",
    )
    group_id = ids.new("sg")
    record = {
        "GroupId": group_id,
        "GroupName": name,
        "Description": description,
        "VpcId": vpc["VpcId"],
        "OwnerId": call.account,
        "SecurityGroupArn": partitions.arn(call, f"security-group/{group_id}"),
        "IpPermissions": [],
        "IpPermissionsEgress": [],
        "Tags": tags,
    }
    return call.cloud.put("security-group", group_id, record)


def create_default(call: Call, vpc: dict[str, Any]) -> None:
    """The group that comes with a VPC: its members may talk to each other, and out."""
    group = create(call, vpc, "default", "default VPC security group", [])
    everything = {"IpProtocol": "-1", "FromPort": -1, "ToPort": -1}
    add_rules(call, group, [{**everything, "ReferencedGroupInfo": permissions.reference(group)}], egress=False)
    add_default_egress(call, group, vpc)


def add_default_egress(call: Call, group: dict[str, Any], vpc: dict[str, Any]) -> None:
    everything = {"IpProtocol": "-1", "FromPort": -1, "ToPort": -1}
    rules = [{**everything, "CidrIpv4": "0.0.0.0/0"}]
    if cidrs.ipv6_blocks(vpc):
        rules.append({**everything, "CidrIpv6": "::/0"})
    add_rules(call, group, rules, egress=True)


def add_rules(
    call: Call,
    group: dict[str, Any],
    rules: list[dict[str, Any]],
    *,
    egress: bool,
    tags: tagging.Tags | None = None,
) -> list[dict[str, Any]]:
    """Stores rules under ids of their own and brings the group's view up to date."""
    stored: list[dict[str, Any]] = []
    for rule in rules:
        rule_id = ids.new("sgr")
        record = {
            "SecurityGroupRuleId": rule_id,
            "GroupId": group["GroupId"],
            "GroupOwnerId": call.account,
            "IsEgress": egress,
            **rule,
            "SecurityGroupRuleArn": partitions.arn(call, f"security-group-rule/{rule_id}"),
            "Tags": tags or [],
        }
        stored.append(call.cloud.put("security-group-rule", rule_id, record))
    refresh(call, group["GroupId"])
    return stored


def refresh(call: Call, group_id: str) -> None:
    """Rewrites the view of a group's rules in its record, after they have changed."""
    group = ids.find(call, "security-group", group_id)
    rules = call.cloud.by("security-group-rule", "GroupId", group_id)
    view = {
        "IpPermissions": permissions.nested(rule for rule in rules if not rule["IsEgress"]),
        "IpPermissionsEgress": permissions.nested(rule for rule in rules if rule["IsEgress"]),
    }
    call.cloud.put("security-group", group_id, {**group, **view})


@action("DescribeSecurityGroups")
def describe_security_groups(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    found = ids.find_all(call, "security-group", params.get("GroupIds"))
    if "GroupNames" in params:
        home = default_vpc.vpc(call)["VpcId"]
        by_name = [permissions.named(call, name, home) for name in params["GroupNames"]]
        found = [*found, *by_name] if "GroupIds" in params else by_name
    chosen = filters.apply(found, params.get("Filters"), FILTERS)
    return paging.page("SecurityGroups", chosen, params, "GroupId")


@action("DeleteSecurityGroup")
def delete_security_group(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    group = of_call(call, params)
    if group["GroupName"] == "default":
        raise ApiError(
            "CannotDelete",
            f'the specified group: "{group["GroupId"]}" name: "default" cannot be deleted by a user',
        )
    dependencies.check(call, "security-group", group["GroupId"])
    remove(call, group)
    return {"Return": True, "GroupId": group["GroupId"]}


def of_call(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """The group that a call is about: by id, or by name in the default VPC."""
    if "GroupId" not in params and "GroupName" in params:
        return permissions.named(call, params["GroupName"], default_vpc.vpc(call)["VpcId"])
    if "GroupId" not in params:
        raise ApiError("MissingParameter", "The request must contain the parameter groupName or groupId")
    return ids.find(call, "security-group", params["GroupId"])


def remove(call: Call, group: dict[str, Any]) -> None:
    """Deletes a group and its rules."""
    for rule in call.cloud.by("security-group-rule", "GroupId", group["GroupId"]):
        call.cloud.delete("security-group-rule", rule["SecurityGroupRuleId"])
    call.cloud.delete("security-group", group["GroupId"])
