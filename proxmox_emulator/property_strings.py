"""Proxmox's property strings: `local-lvm:vm-100-disk-0,iothread=1,size=32G`.

One key of each format may stand without its name, at any place but usually first: its default key. What is allowed
in a format is data (`api/formats.json`), not code.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_UNITS = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3, "T": 1024**4}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)([KMGT]?)\Z")


class MalformedProperty(ValueError):
    """Not a property string of this format; the text is Proxmox's."""


def parse(text: str, default_key: str = "") -> dict[str, str]:
    """The properties in order; a value without a name belongs to the default key."""
    found: dict[str, str] = {}
    for part in filter(None, text.split(",")):  # the provider ends some with a comma
        key, equals, value = part.partition("=")
        if not equals:
            key, value = default_key, part
        if not key:
            raise MalformedProperty("value without key, but schema does not define a default key")
        if key in found:
            raise MalformedProperty(f"duplicate key in comma-separated list property: {key}")
        if value:
            found[key] = value
    return found


def render(properties: Mapping[str, object], default_key: str = "") -> str:
    """As Proxmox writes them: the default key's value first and bare, the rest by name."""
    first = [str(properties[default_key])] if default_key in properties else []
    return ",".join(first + [f"{key}={properties[key]}" for key in sorted(properties) if key != default_key])


def size_in_bytes(text: str) -> int:
    """`32G` → bytes."""
    found = _SIZE.match(text)
    if not found:
        raise MalformedProperty(f"value '{text}' does not look like a valid disk size")
    return int(float(found[1]) * _UNITS[found[2]])


def size_text(size: int) -> str:
    """Bytes → the largest unit that divides them, as Proxmox prints sizes."""
    for unit in ("T", "G", "M", "K"):
        if size and size % _UNITS[unit] == 0:
            return f"{size // _UNITS[unit]}{unit}"
    return str(size)
