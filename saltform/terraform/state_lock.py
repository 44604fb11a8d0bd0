"""Terraform's own lock on a state: who took it, and when."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from saltform.errors import SaltformError

_LINE = re.compile(r"^\s*(ID|Who|Created|Operation):\s*(.*?)\s*$", re.MULTILINE)
_HELD = re.compile(r"\bID=(\S+)")
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


def in_the_way(error: SaltformError) -> StateLock | None:
    """The lock that a command failed at, if that is what it failed at."""
    found = dict(_LINE.findall(error.detail)) if "Lock Info:" in error.detail else {}
    if not found.get("ID"):
        return None
    held = _HELD.search(error.detail)
    if held and held[1] != found["ID"]:
        # The backend `http` describes the lock that it asked for, and has only the id of the one that is there.
        return StateLock(held[1], "", "")
    return _made(found)


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
