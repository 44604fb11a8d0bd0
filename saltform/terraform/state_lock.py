"""Terraform's own lock on a state: who took it, and when."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from saltform.errors import SaltformError

_LINE = re.compile(r"^[ \t]*(ID|Who|Created|Operation):[ \t]*(.*?)[ \t]*$", re.MULTILINE)
_HELD = re.compile(r"\bID=(\S*)")
# What the backends `pg` and `http` say where they know nothing of the holder: the Lock Info is then the asker's own.
OF_PG = ("Workspace is already locked", "Already locked for workspace creation")
OF_NOBODY = (*OF_PG, "already locked, failed to")
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.(\d+))?\s*(?:Z|\+0000)")


@dataclass(frozen=True)
class StateLock:
    """As Terraform describes it."""

    id: str
    who: str  # user@host
    created: str  # as the run log writes moments; '' if it can't be read
    operation: str = ""

    @property
    def host(self) -> str:
        return self.who.rpartition("@")[2]

    def __str__(self) -> str:
        return f"{self.who or 'somebody'} since {self.created or 'an unknown moment'} ({self.operation or self.id})"


def held_id(text: str) -> str:
    """The id of the lock that is held, from what terraform said about it; empty when only the asker's is there."""
    if any(known in text for known in OF_NOBODY):
        return ""
    # The backend `http` may describe the lock that it asked for, and has the id of the one that is there beside it.
    held = _HELD.search(text)
    return held[1] if held else str(dict(_LINE.findall(text)).get("ID", ""))


def in_the_way(error: SaltformError) -> StateLock | None:
    """The lock that a command failed at, if that is what it failed at and whoever holds it can be told."""
    held = held_id(error.detail) if "Lock Info:" in error.detail else ""
    if not held:
        return None
    found = dict(_LINE.findall(error.detail))
    return _made(found) if found.get("ID") == held else StateLock(held, "", "")


def read_note(path: Path) -> StateLock | None:
    """The note that the local backend writes beside a state; a killed terraform leaves it there."""
    try:
        tree = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        tree = {}
    return _made(tree if isinstance(tree, dict) else {})


def _made(found: dict[str, str]) -> StateLock:
    moment = _MOMENT.search(str(found.get("Created", "")))
    created = f"{moment[1]}T{moment[2]}.{(moment[3] or '')[:3]:0<3}Z" if moment else ""
    return StateLock(str(found.get("ID", "")), str(found.get("Who", "")), created, str(found.get("Operation", "")))
