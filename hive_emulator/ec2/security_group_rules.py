"""Rules of security groups: authorise, revoke, change and describe them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hive_emulator.action import Call, action
from hive_emulator.ec2 import filters, ids, limits, paging, permissions, prefix_lists, security_groups, tagging
from hive_emulator.errors import ApiError

Rule = dict[str, Any]

FILTERS = filters.table(
    "DescribeSecurityGroupRules",
    {"group-id": "GroupId", "security-group-rule-id": "SecurityGroupRuleId"},
)


@action("AuthorizeSecurityGroupIngress")
def authorize_ingress(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    return _authorize(call, params, egress=False)


@action("AuthorizeSecurityGroupEgress")
def authorize_egress(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    return _authorize(call, params, egress=True)


def _authorize(call: Call, params: dict[str, Any], *, egress: bool) -> dict[str, Any]:
    group = security_groups.of_call(call, params)
    rules = permissions.flat(call, group, params)
    existing = _rules(call, group, egress)
    taken = {permissions.key(rule) for rule in existing}
    for rule in rules:
        _refuse_duplicate(rule, taken)
    _check_quota(call, existing, rules)
    tags = tagging.on_create(params, "security-group-rule")
    stored = security_groups.add_rules(call, group, rules, egress=egress, tags=tags)
    return {"Return": True, "SecurityGroupRules": stored}


def _check_quota(call: Call, existing: list[Rule], added: list[Rule]) -> None:
    """IPv4 and IPv6 are counted apart; a rule that names a group counts for both."""
    for family in ("IPv4", "IPv6"):
        more = sum(_weight(call, rule, family) for rule in added)
        if more:
            held = sum(_weight(call, rule, family) for rule in existing)
            limits.check(
                call,
                "rules-per-security-group",
                lambda: range(held),  # noqa: B023 - called at once
                "RulesPerSecurityGroupLimitExceeded",
                "rules per security group",
                more=more,
            )


def _weight(call: Call, rule: Rule, family: str) -> int:
    """How many rules of a family this one counts as: a prefix list as the entries that it may have."""
    if "PrefixListId" in rule:
        own = prefix_lists.find(call, rule["PrefixListId"])["AddressFamily"] == family
        return prefix_lists.weight(call, rule["PrefixListId"]) if own else 0
    return int(("CidrIpv6" if family == "IPv4" else "CidrIpv4") not in rule)


def _rules(call: Call, group: dict[str, Any], egress: bool) -> list[Rule]:
    rules = call.cloud.by("security-group-rule", "GroupId", group["GroupId"])
    return [rule for rule in rules if rule["IsEgress"] is egress]


def _refuse_duplicate(rule: Rule, existing: Iterable[tuple[Any, ...]]) -> None:
    if permissions.key(rule) in existing:
        protocol, low, high, source = permissions.key(rule)
        ports = "" if protocol == "-1" else f", from port: {low}, to port: {high}"
        name = "ALL" if protocol == "-1" else protocol.upper()
        raise ApiError(
            "InvalidPermission.Duplicate",
            f'the specified rule "peer: {source}, {name}{ports}, ALLOW" already exists',
        )


@action("RevokeSecurityGroupIngress")
def revoke_ingress(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    return _revoke(call, params, egress=False)


@action("RevokeSecurityGroupEgress")
def revoke_egress(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    return _revoke(call, params, egress=True)


def _revoke(call: Call, params: dict[str, Any], *, egress: bool) -> dict[str, Any]:
    group = security_groups.of_call(call, params)
    existing = _rules(call, group, egress)
    if "SecurityGroupRuleIds" in params:
        chosen = [_by_id(existing, wanted) for wanted in params["SecurityGroupRuleIds"]]
        unknown: list[Rule] = []
    else:
        chosen, unknown = _matching(existing, permissions.flat(call, group, params))
    if unknown and not _in_default_vpc(call, group):
        raise ApiError("InvalidPermission.NotFound", "The specified rule does not exist in this security group.")
    for rule in chosen:
        call.cloud.delete("security-group-rule", rule["SecurityGroupRuleId"])
    security_groups.refresh(call, group["GroupId"])
    answer = {"Return": True, "RevokedSecurityGroupRules": [_revoked(rule) for rule in chosen]}
    return {**answer, "UnknownIpPermissions": permissions.nested(unknown)} if unknown else answer


def _by_id(rules: Iterable[Rule], wanted: str) -> Rule:
    for rule in rules:
        if rule["SecurityGroupRuleId"] == wanted:
            return rule
    raise ids.not_found("security-group-rule", wanted)


def _matching(existing: list[Rule], asked: list[Rule]) -> tuple[list[Rule], list[Rule]]:
    by_key = {permissions.key(rule): rule for rule in existing}
    found = [by_key[permissions.key(rule)] for rule in asked if permissions.key(rule) in by_key]
    return found, [rule for rule in asked if permissions.key(rule) not in by_key]


def _in_default_vpc(call: Call, group: dict[str, Any]) -> bool:
    """In a default VPC AWS doesn't refuse to revoke what isn't there: the answer lists it."""
    return bool(ids.find(call, "vpc", group["VpcId"])["IsDefault"])


def _revoked(rule: Rule) -> Rule:
    info = rule.get("ReferencedGroupInfo")
    return {**rule, "ReferencedGroupId": info["GroupId"]} if info else rule


@action("DescribeSecurityGroupRules")
def describe_security_group_rules(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    for one in params.get("Filters", ()):
        for value in one.get("Values", ()) if one.get("Name") == "group-id" else ():
            if not any(mark in value for mark in "*?") and not ids.is_well_formed("security-group", value):
                raise ids.not_found("security-group", value)
    found = ids.find_all(call, "security-group-rule", params.get("SecurityGroupRuleIds"))
    chosen = filters.apply(found, params.get("Filters"), FILTERS)
    return paging.page("SecurityGroupRules", chosen, params, "SecurityGroupRuleId")


@action("ModifySecurityGroupRules")
def modify_security_group_rules(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    group = security_groups.of_call(call, params)
    if "SecurityGroupRules" not in params:
        raise ApiError("MissingParameter", "The request must contain the parameter SecurityGroupRule")
    for update in params["SecurityGroupRules"]:
        rules = call.cloud.by("security-group-rule", "GroupId", group["GroupId"])
        old = _by_id(rules, update.get("SecurityGroupRuleId", ""))
        new = _rewritten(call, group, old, update.get("SecurityGroupRule", {}))
        others = [rule for rule in rules if rule is not old and rule["IsEgress"] is old["IsEgress"]]
        _refuse_duplicate(new, [permissions.key(rule) for rule in others])
        call.cloud.put("security-group-rule", old["SecurityGroupRuleId"], new)
    security_groups.refresh(call, group["GroupId"])
    return {"Return": True}


_SOURCES = ("CidrIpv4", "CidrIpv6", "PrefixListId", "ReferencedGroupInfo")


def _rewritten(call: Call, group: dict[str, Any], old: Rule, wanted: dict[str, Any]) -> Rule:
    """A rule with everything but its id and tags new. AWS doesn't let the kind of source change."""
    source: Rule = {}
    if "IpProtocol" not in wanted:
        raise ApiError("MissingParameter", "The request must contain the parameter SecurityGroupRule.IpProtocol")
    if "CidrIpv4" in wanted:
        source["CidrIpv4"] = permissions.ipv4(wanted["CidrIpv4"])
    if "CidrIpv6" in wanted:
        source["CidrIpv6"] = permissions.ipv6(wanted["CidrIpv6"])
    if "PrefixListId" in wanted:
        source["PrefixListId"] = prefix_lists.find(call, wanted["PrefixListId"])["PrefixListId"]
    if "ReferencedGroupId" in wanted:
        pair = {"GroupId": wanted["ReferencedGroupId"]}
        source["ReferencedGroupInfo"] = permissions.referenced(call, group, pair)
    if not source:
        raise ApiError(
            "MissingParameter",
            "The request must contain one of CidrIpv4, CidrIpv6, PrefixListId and ReferencedGroupId of a rule",
        )
    if len(source) != 1:
        raise ApiError("InvalidParameterCombination", f"A rule has exactly one source, {len(source)} were given")
    if next(iter(source)) not in old:
        raise ApiError("InvalidParameterValue", "You may not modify the type of source of a security group rule")
    kept = {name: value for name, value in old.items() if name not in (*_SOURCES, "Description")}
    return {**kept, **permissions.checked_ports(wanted), **source, **permissions.described(wanted)}


@action("UpdateSecurityGroupRuleDescriptionsIngress")
def update_descriptions_ingress(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    return _update_descriptions(call, params, egress=False)


@action("UpdateSecurityGroupRuleDescriptionsEgress")
def update_descriptions_egress(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    return _update_descriptions(call, params, egress=True)


def _update_descriptions(call: Call, params: dict[str, Any], *, egress: bool) -> dict[str, Any]:
    group = security_groups.of_call(call, params)
    existing = _rules(call, group, egress)
    if "SecurityGroupRuleDescriptions" in params:
        wanted = params["SecurityGroupRuleDescriptions"]
        pairs = [(_by_id(existing, each.get("SecurityGroupRuleId", "")), each) for each in wanted]
    else:
        asked = permissions.flat(call, group, params)
        found, unknown = _matching(existing, asked)
        if unknown:
            raise ApiError("InvalidPermission.NotFound", "The specified rule does not exist in this security group.")
        pairs = list(zip(found, asked, strict=True))
    for rule, source in pairs:
        kept = {name: value for name, value in rule.items() if name != "Description"}
        new = {**kept, **permissions.described(source)}
        call.cloud.put("security-group-rule", rule["SecurityGroupRuleId"], new)
    security_groups.refresh(call, group["GroupId"])
    return {"Return": True}
