"""Security group permissions: from the nested form of a request to single rules, and from rules back to it.

A request's ``IpPermissions`` group many sources under one protocol and port range. A rule has exactly one
source: an IPv4 block, an IPv6 block, a prefix list or a group. Two rules are the same when their ``key`` is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from hive_emulator.action import Call
from hive_emulator.ec2 import cidrs, ids, prefix_lists
from hive_emulator.errors import ApiError

Rule = dict[str, Any]

_PROTOCOLS = {"6": "tcp", "17": "udp", "1": "icmp", "58": "icmpv6", "all": "-1"}
_DESCRIPTION = re.compile(r"[a-zA-Z0-9. _\-:/()#,@\[\]+=&;{}!$*]{0,255}\Z")


def flat(call: Call, group: dict[str, Any], params: dict[str, Any]) -> list[Rule]:
    """One rule (without an id) for each source that a request names."""
    permissions = params.get("IpPermissions") or _old_form(call, params)
    rules = [rule for each in permissions for rule in _of_permission(call, group, each)]
    if not rules:
        raise ApiError("MissingParameter", "The request must contain the parameter ipPermissions with a source")
    keys = [key(rule) for rule in rules]
    if len(set(keys)) != len(keys):
        raise ApiError("InvalidParameterValue", "The same permission must not appear multiple times")
    return rules


def key(rule: Rule) -> tuple[Any, ...]:
    """What makes a rule that rule; descriptions and tags do not."""
    referenced = rule.get("ReferencedGroupInfo", {}).get("GroupId")
    source = rule.get("CidrIpv4") or rule.get("CidrIpv6") or rule.get("PrefixListId") or referenced
    return rule["IpProtocol"], rule["FromPort"], rule["ToPort"], source


def _old_form(call: Call, params: dict[str, Any]) -> list[dict[str, Any]]:
    """The form with one permission in the request itself, and CidrIp or a group's name as its source."""
    permission: dict[str, Any] = {
        name: params[name] for name in ("IpProtocol", "FromPort", "ToPort") if name in params
    }
    if "CidrIp" in params:
        permission["IpRanges"] = [{"CidrIp": params["CidrIp"]}]
    if "SourceSecurityGroupName" in params:
        permission["UserIdGroupPairs"] = [{"GroupName": params["SourceSecurityGroupName"]}]
    return [{"IpProtocol": "-1", **permission}] if permission else []


def _of_permission(call: Call, group: dict[str, Any], permission: dict[str, Any]) -> Iterable[Rule]:
    ports = checked_ports(permission)
    for each in permission.get("IpRanges", ()):
        yield {**ports, "CidrIpv4": ipv4(each.get("CidrIp")), **described(each)}
    for each in permission.get("Ipv6Ranges", ()):
        yield {**ports, "CidrIpv6": ipv6(each.get("CidrIpv6")), **described(each)}
    for each in permission.get("PrefixListIds", ()):
        yield {
            **ports,
            "PrefixListId": prefix_lists.find(call, each.get("PrefixListId"))["PrefixListId"],
            **described(each),
        }
    for each in permission.get("UserIdGroupPairs", ()):
        yield {**ports, "ReferencedGroupInfo": referenced(call, group, each), **described(each)}


def checked_ports(permission: dict[str, Any]) -> Rule:
    """Protocol and ports in the form that is stored: protocol by name where it has one, -1 for "all"."""
    protocol = permission.get("IpProtocol")
    if protocol is None:
        raise ApiError("MissingParameter", "The request must contain the parameter ipProtocol")
    protocol = _PROTOCOLS.get(protocol.lower(), protocol.lower())
    low, high = permission.get("FromPort"), permission.get("ToPort")
    if protocol in ("tcp", "udp"):
        _check_port_range(low, high)
    elif protocol in ("icmp", "icmpv6"):
        low, high = _icmp(-1 if low is None else low, -1 if high is None else high)
    elif protocol == "-1" or _is_number(protocol):
        low = high = -1
    else:
        raise ApiError("InvalidParameterValue", f"Invalid value '{protocol}' for IP protocol. Unknown protocol.")
    return {"IpProtocol": protocol, "FromPort": low, "ToPort": high}


def _is_number(protocol: str) -> bool:
    return protocol.isascii() and protocol.isdecimal() and len(protocol) <= 3 and int(protocol) <= 255


def _check_port_range(low: int | None, high: int | None) -> None:
    if low is None or high is None:
        raise ApiError("InvalidParameterValue", "Invalid value 'Must specify both from and to ports with TCP/UDP.'")
    for port in (low, high):
        if not 0 <= port <= 65535:
            raise ApiError("InvalidParameterValue", f"Invalid value '{port}' for TCP/UDP port. Port out of range.")
    if low > high:
        raise ApiError("InvalidParameterValue", f"Invalid TCP/UDP port range ({low}:{high})")


def _icmp(kind: int, code: int) -> tuple[int, int]:
    if not -1 <= kind <= 255:
        raise ApiError("InvalidParameterValue", f"Invalid value '{kind}' for ICMP type. Type out of range.")
    if not -1 <= code <= 255:
        raise ApiError("InvalidParameterValue", f"Invalid value '{code}' for ICMP code. Code out of range.")
    if kind == -1 and code != -1:
        raise ApiError("InvalidParameterValue", "Cannot specify an ICMP code without an ICMP type.")
    return kind, code


def ipv4(text: str | None) -> str:
    try:
        return str(cidrs.ipv4(text or "", "cidrIp"))
    except ApiError:
        raise ApiError("InvalidParameterValue", f"CIDR block {text} is malformed") from None


def ipv6(text: str | None) -> str:
    try:
        return str(cidrs.ipv6(text or "", "cidrIpv6"))
    except ApiError:
        raise ApiError("InvalidParameterValue", f"CIDR block {text} is malformed") from None


def described(source: dict[str, Any]) -> dict[str, str]:
    text = source.get("Description", "")
    if not _DESCRIPTION.match(text):
        raise ApiError(
            "InvalidParameterValue",
            "Invalid rule description. Valid descriptions are strings less than 256 characters from the "
            "following set:  a-zA-Z0-9. _-:/()#,@[]+=&;{}!$*",
        )
    return {"Description": text} if text else {}


def referenced(call: Call, group: dict[str, Any], pair: dict[str, Any]) -> dict[str, str]:
    """The other group of a pair, by id, or by name in the same VPC."""
    if "GroupId" in pair:
        other = ids.find(call, "security-group", pair["GroupId"])
    else:
        other = named(call, pair.get("GroupName"), group["VpcId"])
    if other["VpcId"] != group["VpcId"]:
        raise ApiError("InvalidGroup.NotFound", "You have specified two resources that belong to different networks.")
    return reference(other)


def reference(group: dict[str, Any]) -> dict[str, str]:
    """``ReferencedGroupInfo`` of a rule. AWS shows no name here, but finds groups by it."""
    members = {"GroupId": group["GroupId"], "UserId": group["OwnerId"], "VpcId": group["VpcId"]}
    return {**members, "_GroupName": group["GroupName"]}


def named(call: Call, name: str | None, vpc_id: str) -> dict[str, Any]:
    """The group with this name in a VPC."""
    for each in call.cloud.by("security-group", "GroupName", name):
        if each["VpcId"] == vpc_id:
            return each
    raise ApiError("InvalidGroup.NotFound", f"The security group '{name}' does not exist in VPC '{vpc_id}'")


_SHOWN = (
    ("CidrIpv4", "IpRanges", "CidrIp"),
    ("CidrIpv6", "Ipv6Ranges", "CidrIpv6"),
    ("PrefixListId", "PrefixListIds", "PrefixListId"),
)


def nested(rules: Iterable[Rule]) -> list[dict[str, Any]]:
    """``IpPermissions`` for these rules: one for each protocol and port range, with all of its sources."""
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for rule in rules:
        ports = key(rule)[:3]
        permission = found.setdefault(ports, _empty(*ports))
        note = {"Description": rule["Description"]} if rule.get("Description") else {}
        for field, member, name in _SHOWN:
            if field in rule:
                permission[member].append({name: rule[field], **note})
        if "ReferencedGroupInfo" in rule:
            info = rule["ReferencedGroupInfo"]
            pair = {name: info[name] for name in ("GroupId", "UserId", "_GroupName") if name in info} | note
            permission["UserIdGroupPairs"].append(pair)
    return list(found.values())


def _empty(protocol: str, low: int, high: int) -> dict[str, Any]:
    ports = {} if protocol not in ("tcp", "udp", "icmp", "icmpv6") else {"FromPort": low, "ToPort": high}
    lists: dict[str, Any] = {"IpRanges": [], "Ipv6Ranges": [], "PrefixListIds": [], "UserIdGroupPairs": []}
    return {"IpProtocol": protocol, **ports, **lists}
