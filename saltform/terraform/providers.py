"""terraform providers: which providers a workspace asks for, and in which versions."""

from __future__ import annotations

import re

from saltform.terraform.command import arguments
from saltform.terraform.session import Session, run_text

_LINE = re.compile(r"provider\[([^\]]+)\]\s*(.*)")


def argv() -> list[str]:
    return arguments("providers")


def run(session: Session) -> dict[str, list[str]]:
    """Source → the version constraints that the modules set on it (none: any version)."""
    asked: dict[str, set[str]] = {}
    for line in run_text(session, argv()).stdout:
        if match := _LINE.search(line):
            constraints = asked.setdefault(match[1], set())
            if match[2]:
                constraints.add(match[2])
    return {source: sorted(asked[source]) for source in sorted(asked)}
