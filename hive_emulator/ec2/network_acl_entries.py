"""Entries of network ACLs: numbered rules for each direction, the lowest that fits decides."""

from __future__ import annotations

from typing import Any

from hive_emulator.action import Call, action
from hive_emulator.ec2 import cidrs, ids, limits, parameters
from hive_emulator.errors import ApiError

Entry = dict[str, Any]

LAST_NUMBER = 32766  # of those that a user makes; AWS's own come after it
_NUMBERS = {"tcp": "6", "udp": "17", "icmp": "1", "icmpv6": "58", "ipv6-icmp": "58", "all": "-1"}
_WITH_PORTS = ("6", "17")
_WITH_TYPES = ("1", "58")


@action("CreateNetworkAclEntry")
def create_network_acl_entry(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    acl, entry = ids.find(call, "network-acl", params["NetworkAclId"]), _entry(params)
    if any(_place(each) == _place(entry) for each in acl["Entries"]):
        raise ApiError(
            "NetworkAclEntryAlreadyExists",
            f"The network acl entry identified by {entry['RuleNumber']} already exists.",
        )
    limits.check(
        call,
        "rules-per-network-acl",
        lambda: [each for each in acl["Entries"] if _is_users(each) and each["Egress"] is entry["Egress"]],
        "NetworkAclEntryLimitExceeded",
        "entries of a network ACL in a direction",
    )
    return _keep(call, acl, [*acl["Entries"], entry])


@action("ReplaceNetworkAclEntry")
def replace_network_acl_entry(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    acl, entry = ids.find(call, "network-acl", params["NetworkAclId"]), _entry(params)
    return _keep(call, acl, [*_without(acl, _place(entry)), entry])


@action("DeleteNetworkAclEntry")
def delete_network_acl_entry(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    acl = ids.find(call, "network-acl", params["NetworkAclId"])
    place = (not params["Egress"], _number(params))
    return _keep(call, acl, _without(acl, place))


def _keep(call: Call, acl: dict[str, Any], entries: list[Entry]) -> dict[str, Any]:
    call.cloud.put("network-acl", acl["NetworkAclId"], {**acl, "Entries": sorted(entries, key=_place)})
    return {}


def _place(entry: Entry) -> tuple[bool, int]:
    """What tells the entries of an ACL apart, and the order in which they are shown: outgoing first."""
    return not entry["Egress"], entry["RuleNumber"]


def _is_users(entry: Entry) -> bool:
    return bool(entry["RuleNumber"] <= LAST_NUMBER)


def _without(acl: dict[str, Any], place: tuple[bool, int]) -> list[Entry]:
    kept = [each for each in acl["Entries"] if _place(each) != place]
    if len(kept) == len(acl["Entries"]):
        raise ApiError(
            "InvalidNetworkAclEntry.NotFound",
            f"The network acl entry identified by {place[1]} does not exist in {acl['NetworkAclId']}.",
        )
    return kept


def _number(params: dict[str, Any]) -> int:
    return parameters.within(params["RuleNumber"], "ruleNumber", 1, LAST_NUMBER)


def _entry(params: dict[str, Any]) -> Entry:
    protocol = _protocol(params["Protocol"])
    entry = {
        "Egress": params["Egress"],
        "Protocol": protocol,
        "RuleAction": params["RuleAction"],
        "RuleNumber": _number(params),
        **_block(params),
    }
    if protocol in _WITH_PORTS:
        entry["PortRange"] = _ports(params)
    if protocol in _WITH_TYPES:
        entry["IcmpTypeCode"] = {"Code": -1, "Type": -1, **_icmp(params)}
    return entry


def _protocol(text: str) -> str:
    number = _NUMBERS.get(text.lower(), text)
    if number != "-1" and not (number.isascii() and number.isdigit() and int(number) <= 255):
        raise parameters.invalid(text, "protocol", "-1, or the number of a protocol")
    return number


def _block(params: dict[str, Any]) -> dict[str, str]:
    given = [member for member in ("CidrBlock", "Ipv6CidrBlock") if member in params]
    if len(given) != 1:
        raise ApiError("MissingParameter", "The request must contain exactly one of cidrBlock and ipv6CidrBlock")
    if given == ["CidrBlock"]:
        return {"CidrBlock": str(cidrs.ipv4(params["CidrBlock"], "cidrBlock"))}
    return {"Ipv6CidrBlock": str(cidrs.ipv6(params["Ipv6CidrBlock"], "ipv6CidrBlock"))}


def _ports(params: dict[str, Any]) -> dict[str, int]:
    ports: dict[str, int] = params.get("PortRange", {})
    for member in ("From", "To"):
        if member not in ports:
            raise parameters.missing(f"portRange.{member.lower()}")
        parameters.within(ports[member], f"portRange.{member.lower()}", 0, 65535)
    if ports["From"] > ports["To"]:
        raise parameters.invalid(ports["To"], "portRange.to", f"{ports['From']} to 65535")
    return {"From": ports["From"], "To": ports["To"]}


def _icmp(params: dict[str, Any]) -> dict[str, int]:
    given: dict[str, int] = params.get("IcmpTypeCode", {})
    if not given:
        raise parameters.missing("icmpTypeCode.type")
    for member, value in given.items():
        parameters.within(value, f"icmpTypeCode.{member.lower()}", -1, 255)
    return given
