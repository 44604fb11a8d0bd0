"""terraform validate: is the configuration of a workspace right, and if not, where and why?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from saltform.terraform.command import arguments, flag
from saltform.terraform.session import Session, run_json
from saltform.terraform.stream import masked

VALID, INVALID = 0, 1


@dataclass(frozen=True)
class Diagnostic:
    """One finding: `where` is `file:line`, as editors understand it."""

    severity: str  # error | warning
    summary: str
    detail: str = ""
    where: str = ""
    code: str = ""

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        return f"{place}{self.severity}: {self.summary}" + (f": {self.detail}" if self.detail else "")


@dataclass(frozen=True)
class Validation:
    """Valid may still mean warnings."""

    valid: bool
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        return tuple(item for item in self.diagnostics if item.severity == "error")


def argv() -> list[str]:
    return arguments("validate", json=flag(True))


def run(session: Session) -> Validation:
    """Needs an initialised workspace, because the providers' schemas are part of what is right."""
    answer = masked(run_json(session, argv(), accept=(VALID, INVALID)), session.mask)
    return Validation(answer.get("valid") is True, tuple(_diagnostic(item) for item in answer.get("diagnostics", ())))


def _diagnostic(item: Mapping[str, Any]) -> Diagnostic:
    place = item.get("range") or {}
    where = f"{place['filename']}:{place['start']['line']}" if place else ""
    code = (item.get("snippet") or {}).get("code", "").strip()
    return Diagnostic(item["severity"], item["summary"], item.get("detail", ""), where, code)
