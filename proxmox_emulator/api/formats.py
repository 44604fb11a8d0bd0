"""The formats of parameter values that Proxmox's schema names, for jsonschema's `format`."""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Callable
from pathlib import Path

import jsonschema

from proxmox_emulator import property_strings
from proxmox_emulator.property_strings import MalformedProperty

PROPERTY_FORMATS = json.loads(Path(__file__).with_name("formats.json").read_text())
CHECKER = jsonschema.FormatChecker(formats=())

CONTENT_TYPES = ("images", "rootdir", "vztmpl", "iso", "backup", "snippets", "import", "none")
_BOOLEAN = re.compile(r"(0|1|on|off|yes|no|true|false)\Z", re.IGNORECASE)
_DNS_LABEL = r"[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?"


def default_key(format_name: str) -> str:
    """The key of a property string that may stand without its name."""
    return PROPERTY_FORMATS[format_name]["default"]


def _pattern(name: str, pattern: str, message: str) -> None:
    compiled = re.compile(rf"(?:{pattern})\Z")

    def check(value: object) -> bool:
        if isinstance(value, str) and not compiled.match(value):
            raise MalformedProperty(message.format(value=value))
        return True

    CHECKER.checks(name, raises=MalformedProperty)(check)


def _list_of(name: str, one: str) -> None:
    """A list, separated by commas, semicolons or blanks, of values of another format."""

    def check(value: object) -> bool:
        if isinstance(value, str):
            for part in re.split(r"[,;\s]+", value.strip()):
                CHECKER.checkers[one][0](part)
        return True

    CHECKER.checks(name, raises=MalformedProperty)(check)


def _address(parse: Callable[[str], object], message: str) -> Callable[[object], bool]:
    def check(value: object) -> bool:
        try:
            if isinstance(value, str):
                parse(value)
        except ValueError:
            raise MalformedProperty(message.format(value=value)) from None
        return True

    return check


_pattern("node", _DNS_LABEL, "value does not look like a valid node name")
_pattern("storage-id", r"[A-Za-z][A-Za-z0-9._-]*[A-Za-z0-9]", "storage ID '{value}' contains illegal characters")
_pattern("vmid", r"[1-9][0-9]{2,8}", "value '{value}' does not look like a valid VM ID")
_pattern("userid", r"[^\s:/]+@[A-Za-z][A-Za-z0-9._-]+", "value '{value}' does not look like a valid user name")
_pattern("config-id", r"[A-Za-z][A-Za-z0-9_-]*", "invalid configuration ID '{value}'")
_pattern("dns-name", rf"{_DNS_LABEL}(\.{_DNS_LABEL})*", "value does not look like a valid DNS name")
_pattern("tag", r"[a-zA-Z0-9_][a-zA-Z0-9_+.-]*", "invalid characters in tag")
_pattern(
    "mac", r"[0-9a-fA-F][02468aceACE]([:][0-9a-fA-F]{2}){5}", "value does not look like a valid unicast MAC address"
)
_pattern("content-type", "|".join(CONTENT_TYPES), "invalid content type '{value}'")
_list_of("node-list", "node")
_list_of("vmid-list", "vmid")
_list_of("config-ids", "config-id")
_list_of("content-types", "content-type")
_list_of("tags", "tag")
CHECKER.checks("ip", raises=MalformedProperty)(
    _address(ipaddress.ip_address, "value does not look like a valid IP address")
)
CHECKER.checks("cidr", raises=MalformedProperty)(
    _address(ipaddress.ip_interface, "value does not look like a valid CIDR network")
)


@CHECKER.checks("address", raises=MalformedProperty)
def _guest_address(value: object) -> bool:
    """What an interface of a guest gets: an address with its prefix, or the way to it."""
    return value in ("dhcp", "auto", "manual") or CHECKER.checkers["cidr"][0](value)


def _value_problem(kind: str, value: str) -> str:
    """What is wrong with one value of a property string; empty if nothing is."""
    if kind == "boolean":
        return "" if _BOOLEAN.match(value) else f"type check ('boolean') failed - got '{value}'"
    if kind == "integer":
        return "" if re.match(r"-?\d+\Z", value) else f"type check ('integer') failed - got '{value}'"
    if kind == "number":
        return "" if re.match(r"-?\d+(\.\d+)?\Z", value) else f"type check ('number') failed - got '{value}'"
    if "|" in kind:
        return "" if value in kind.split("|") else f"value '{value}' does not have a value in the enumeration"
    try:
        if kind == "size":
            property_strings.size_in_bytes(value)
        elif kind != "string":
            CHECKER.checkers[kind][0](value)
    except MalformedProperty as error:
        return f"invalid format - {error}"
    return ""


def property_problems(format_name: str, text: str) -> dict[str, str]:
    """What is wrong with a property string, by key."""
    described = PROPERTY_FORMATS[format_name]
    found = property_strings.parse(text, described["default"])
    problems = {
        key: "property is missing and it is not optional" for key in described["required"] if key not in found
    }
    for key, value in found.items():
        if key not in described["keys"]:
            problems[key] = "property is not defined in schema and the schema does not allow additional properties"
        elif problem := _value_problem(described["keys"][key], value):
            problems[key] = problem
    return problems
