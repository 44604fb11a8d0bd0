"""What is dangerous in a plan: things that can't be undone, and doors that are opened.

Each check looks at one change and says why it is dangerous. They know the resources of the common providers by
their names and attributes; a value that isn't known yet is no danger yet.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from saltform.plan.types import Change
from saltform.plan.values import canonical

_HOLDS_DATA = re.compile(
    r"volume|disk|database|snapshot|bucket|file_?system|storage_account|storage_container|storage_share"
    r"|db_(instance|cluster)|rds_cluster|dynamodb_table|(sql|mysql|postgresql|mssql|flexible|spanner)_(server|instance)"
    r"|cosmosdb_account|docdb|neptune|elasticache|redis|redshift|opensearch|elasticsearch|kms_key|key_vault|secret"
    r"|backup_vault|_ami$|ecr_repository|kafka|msk"
)
# Things about data that hold none.
_ABOUT_DATA = re.compile(
    r"attachment|policy|subnet|parameter_group|option_group|security_group|_acl|public_access|notification|versioning"
    r"|_rule|_role|_user|grant|alias|configuration|encryption|logging|lifecycle|ownership|_cors|website|mount_target"
    r"|access_point|association|permission|schedule|firewall|block"
)
_GATE = re.compile(r"security_group|security_rule|firewall|network_acl|nsg|_acl_rule|ingress_rule")
_SOURCES = (
    "cidr_blocks ipv6_cidr_blocks cidr_ipv4 cidr_ipv6 cidr_block ipv6_cidr_block source_address_prefix "
    "source_address_prefixes source_ranges source_ips source_cidr"
).split()
_WORDS_FOR_ANYWHERE = {"*", "internet", "any", "0.0.0.0", "::"}  # noqa: S104 (nothing is bound)
_PUBLIC_TYPES = {"aws_eip", "azurerm_public_ip", "hcloud_floating_ip", "hcloud_primary_ip"}
_PUBLIC = {
    "associate_public_ip_address": True,
    "map_public_ip_on_launch": True,
    "publicly_accessible": True,
    "public_network_access_enabled": True,
    "assign_public_ip": True,
}
_PROTECTION = {
    "disable_api_termination": True,
    "disable_api_stop": True,
    "deletion_protection": True,
    "deletion_protection_enabled": True,
    "enable_deletion_protection": True,
    "delete_protection": True,
    "rebuild_protection": True,
    "purge_protection_enabled": True,
    "skip_final_snapshot": False,
    "force_destroy": False,
}


@dataclass(frozen=True)
class Danger:
    """One reason to look twice."""

    rule: str
    address: str
    why: str


def data_destroyed(change: Change) -> Iterator[str]:
    """Something that holds data is destroyed or replaced. Needs no values."""
    if change.action in ("delete", "replace") and holds_data(change.type):
        done = "destroyed" if change.action == "delete" else "replaced"
        yield f"holds data and would be {done}"


def open_to_world(change: Change) -> Iterator[str]:
    """A security rule lets the whole internet in that did not before."""
    if change.after is None or not _GATE.search(change.type):
        return
    was = {canonical(rule) for rule, _ in _open_rules(change.before, "")}
    for rule, source in _open_rules(change.after, ""):
        if change.action == "create" or canonical(rule) not in was:
            yield f"lets {source} in{_ports(rule)}"


def public_address(change: Change) -> Iterator[str]:
    """Something gets an address that the internet can reach."""
    if change.type in _PUBLIC_TYPES and change.action == "create":
        yield "is a public address"
    elif change.action in ("create", "update", "replace"):
        for name, value in _flags(change, _PUBLIC):
            if _get(change.after, name) is value and (
                change.action == "create" or _get(change.before, name) is not value
            ):
                yield f"can be reached from the internet: {name} is true"


def protection_removed(change: Change) -> Iterator[str]:
    """What kept something from being deleted is taken away."""
    if change.action not in ("update", "replace"):
        return
    for name, protects in _flags(change, _PROTECTION):
        before, after = _get(change.before, name), _get(change.after, name)
        was = before is True if protects else not before
        gone = not after if protects else after is True
        if was and gone:
            yield f"is no longer protected: {name} would be {'false' if protects else 'true'}"


CHECKS: dict[str, Callable[[Change], Iterator[str]]] = {
    "data-destroyed": data_destroyed,
    "open-to-world": open_to_world,
    "public-address": public_address,
    "protection-removed": protection_removed,
}
NEED_NO_VALUES = frozenset({"data-destroyed"})


def dangers(changes: Iterable[Change], rules: Iterable[str] = tuple(CHECKS)) -> list[Danger]:
    """All dangers, resource by resource."""
    wanted = [(name, CHECKS[name]) for name in rules]
    return [
        Danger(name, change.address, why) for change in changes for name, check in wanted for why in check(change)
    ]


def holds_data(kind: str) -> bool:
    return bool(_HOLDS_DATA.search(kind)) and not _ABOUT_DATA.search(kind.partition("_")[2])


def _flags(change: Change, table: dict[str, bool]) -> Iterator[tuple[str, bool]]:
    values = change.after if isinstance(change.after, dict) else {}
    return ((name, wanted) for name, wanted in table.items() if name in values)


def _get(values: Any, name: str) -> Any:
    return values.get(name) if isinstance(values, dict) else None


def _open_rules(value: Any, inside: str) -> Iterator[tuple[dict[str, Any], str]]:
    """Every mapping, however deep, that lets the world in, and the word for the world that it uses."""
    if isinstance(value, list):
        for item in value:
            yield from _open_rules(item, inside)
    elif isinstance(value, dict):
        if inside != "egress" and not _outward(value):
            sources = (item for name in _SOURCES for item in _listed(value.get(name)))
            yield from ((value, source) for source in sources if is_anywhere(source))
        for name, item in value.items():
            if isinstance(item, dict | list):
                yield from _open_rules(item, name)


def _outward(rule: dict[str, Any]) -> bool:
    """A rule for what goes out, or one that refuses."""
    says = (rule.get(name) for name in ("type", "direction", "access", "rule_action", "action"))
    words = {word.lower() for word in says if isinstance(word, str)}
    return rule.get("egress") is True or bool(words & {"egress", "outbound", "out", "deny"})


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def is_anywhere(source: Any) -> bool:
    """The whole internet, or so much of it that it makes no difference."""
    if not isinstance(source, str):
        return False
    if source.lower() in _WORDS_FOR_ANYWHERE:
        return True
    try:
        network = ipaddress.ip_network(source, strict=False)
    except ValueError:
        return False
    return network.prefixlen < (8 if network.version == 4 else 16)


def _ports(rule: dict[str, Any]) -> str:
    first, last = rule.get("from_port"), rule.get("to_port")
    if isinstance(first, int) and isinstance(last, int) and (first, last) not in ((0, 0), (-1, -1)):
        return f" to port {first}" if first == last else f" to ports {first} to {last}"
    named = rule.get("destination_port_range") or rule.get("port")
    return f" to port {named}" if isinstance(named, str | int) and named not in ("*", "any") else ""
