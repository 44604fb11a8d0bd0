"""What drift checks found: each finding from the first time it was seen until it is resolved."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from saltform.runlog.database import Database

_KEY = ("environment", "component", "address", "attribute")
_VALUES = ("before_value", "after_value")


@dataclass(frozen=True)
class Finding:
    """One attribute, or a whole resource, that is not as its state says."""

    environment: str
    component: str
    address: str
    attribute: str  # '': the resource itself is gone
    before_value: Any
    after_value: Any
    first_seen: str
    last_seen: str
    run: str
    resolved: str = ""
    known_until: str = ""
    known_by: str = ""
    known_reason: str = ""

    @property
    def key(self) -> tuple[str, str]:
        return self.address, self.attribute

    @property
    def name(self) -> str:
        return f"{self.address}.{self.attribute}" if self.attribute else self.address

    def known(self, moment: str) -> bool:
        """Somebody has said that they know, and the time they took hasn't passed."""
        return self.known_until > moment


@dataclass(frozen=True)
class Check:
    """How a component's last check ended, and since when that is so."""

    environment: str
    component: str
    status: str
    since: str
    checked: str
    run: str


class DriftLog:
    """The tables of `002_drift.sql`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def findings(self, environment: str, component: str | None = None) -> list[Finding]:
        """What is not resolved."""
        rows = self._database.rows(
            "SELECT * FROM drift_findings WHERE environment = ? AND (CAST(? AS TEXT) IS NULL OR component = ?)"
            " AND resolved = '' ORDER BY component, address, attribute",
            (environment, component, component),
        )
        return [_finding(dict(row)) for row in rows]

    def keep(self, findings: Iterable[Finding]) -> None:
        """Write findings as they are now, all or none."""
        with self._database.transaction():
            for finding in findings:
                self._write("drift_findings", _KEY, _row(finding))

    def checks(self, environment: str) -> dict[str, Check]:
        rows = self._database.rows("SELECT * FROM drift_checks WHERE environment = ?", (environment,))
        return {row["component"]: Check(**dict(row)) for row in rows}

    def keep_check(self, check: Check) -> None:
        self._write("drift_checks", ("environment", "component"), vars(check))

    def claim(self, environment: str, component: str, before: str, moment: str, run: str) -> bool:
        """Take a component's check, unless somebody has since `before`: of several masters exactly one gets it."""
        taken = self._database.write(
            "INSERT INTO drift_checks (environment, component, status, since, checked, run)"
            " VALUES (?, ?, '', ?, ?, ?)"
            " ON CONFLICT (environment, component) DO UPDATE SET checked = excluded.checked, run = excluded.run"
            " WHERE drift_checks.checked < ?",
            (environment, component, moment, moment, run, before),
        )
        return taken == 1

    def _write(self, table: str, key: Sequence[str], values: dict[str, Any]) -> None:
        changed = ", ".join(f"{name} = excluded.{name}" for name in values if name not in key)
        self._database.write(
            f"INSERT INTO {table} ({', '.join(values)}) VALUES ({', '.join('?' * len(values))})"  # noqa: S608
            f" ON CONFLICT ({', '.join(key)}) DO UPDATE SET {changed}",
            tuple(values.values()),
        )


def resolve(finding: Finding, moment: str, run: str) -> Finding:
    return replace(finding, resolved=moment, run=run)


def _row(finding: Finding) -> dict[str, Any]:
    return vars(finding) | {name: json.dumps(getattr(finding, name), sort_keys=True) for name in _VALUES}


def _finding(row: dict[str, Any]) -> Finding:
    return Finding(**row | {name: json.loads(row[name]) for name in _VALUES})
