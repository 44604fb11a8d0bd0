"""Which key of a GPG key ring is meant: by fingerprint, or by an address that the ring has exactly once.

What is named here gets the unseal keys of a Vault, so nothing is guessed: gpg itself would take any key whose name
contains what was given, and look for it on the network when the ring has none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from email.utils import parseaddr

_FINGERPRINT = re.compile(r"[0-9A-F]{40}|[0-9A-F]{64}")
_ADDRESS = re.compile(r"[^@\s<>]+@[^@\s<>]+")


@dataclass
class Key:
    """A public key of the ring: its own fingerprint first, then those of its subkeys."""

    fingerprints: list[str] = field(default_factory=list)
    addresses: set[str] = field(default_factory=set)


def read_keys(lines: Iterable[str]) -> list[Key]:
    """The keys that `gpg --with-colons` lists, of a ring or of a file."""
    keys: list[Key] = []
    for fields in (line.split(":") for line in lines):
        if fields[0] == "pub":
            keys.append(Key())
        elif fields[0] == "fpr":
            keys[-1].fingerprints.append(fields[9])
        elif fields[0] == "uid" and fields[1] != "r":  # of a revoked name the owner says that it isn't theirs
            keys[-1].addresses.add(parseaddr(_unescaped(fields[9]))[1].casefold())
    return keys


def find(recipient: str, keys: Iterable[Key]) -> str:
    """The fingerprint of the one key that is meant. A ValueError says why there is none."""
    wanted = re.sub(r"\s", "", recipient).upper().removeprefix("0X")
    if _FINGERPRINT.fullmatch(wanted):
        found = [key for key in keys if wanted in key.fingerprints]
    elif _ADDRESS.fullmatch(recipient):
        found = [key for key in keys if recipient.casefold() in key.addresses]
    else:
        raise ValueError(
            f"{recipient!r} is neither a whole fingerprint, nor an address, nor the path of a key's file"
        )
    if not found:
        raise ValueError(f"{recipient!r} is not in the key ring")
    if len(found) > 1:
        several = ", ".join(key.fingerprints[0] for key in found)
        raise ValueError(f"{recipient!r} is in the key ring {len(found)} times: {several}")
    return found[0].fingerprints[0]


def _unescaped(text: str) -> str:
    return re.sub(r"\\x([0-9a-f]{2})", lambda found: chr(int(found[1], 16)), text)
