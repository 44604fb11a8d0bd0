"""What waits for a person, and what people said about it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from saltform.runlog.database import Database

APPROVED, REJECTED = "approved", "rejected"


@dataclass(frozen=True)
class Request:
    """One component's plan, as it was shown when somebody was asked."""

    run: str
    component: str
    environment: str
    plan: str  # the digest of the plan file that is kept; '' for a preview, which has none
    digest: str
    fingerprint: str
    serial: int
    lineage: str
    details: dict[str, Any]
    asked: str
    expires: str
    reminded: str = ""


@dataclass(frozen=True)
class Decision:
    """What one person said about one plan."""

    run: str
    component: str
    digest: str
    author: str
    origin: str
    decision: str
    comment: str
    moment: str


class ApprovalLog:
    """The tables of the approvals' schema."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def ask(self, request: Request) -> None:
        """Ask, or ask again: what was said about another plan of the component no longer counts."""
        values = vars(request) | {"details": json.dumps(request.details)}
        changed = ", ".join(f"{name} = excluded.{name}" for name in values)
        self._database.write(
            f"INSERT INTO requests ({', '.join(values)}) VALUES ({', '.join('?' * len(values))})"  # noqa: S608
            f" ON CONFLICT (run, component) DO UPDATE SET {changed}",
            tuple(values.values()),
        )

    def withdraw(self, run: str, component: str | None = None) -> None:
        """Nobody has to decide any more; what was said stays."""
        self._database.write(
            "DELETE FROM requests WHERE run = ? AND (CAST(? AS TEXT) IS NULL OR component = ?)",
            (run, component, component),
        )

    def of_run(self, run: str) -> dict[str, Request]:
        rows = self._database.rows("SELECT * FROM requests WHERE run = ? ORDER BY component", (run,))
        return {row["component"]: _request(dict(row)) for row in rows}

    def all(self, environment: str | None = None) -> list[Request]:
        rows = self._database.rows(
            "SELECT * FROM requests WHERE (CAST(? AS TEXT) IS NULL OR environment = ?)"
            " ORDER BY environment, run, component",
            (environment, environment),
        )
        return [_request(dict(row)) for row in rows]

    def remind(self, request: Request, what: str) -> bool:
        """Whether this is news: of several masters exactly one is told so."""
        return bool(
            self._database.write(
                "UPDATE requests SET reminded = ? WHERE run = ? AND component = ? AND asked = ? AND reminded <> ?",
                (what, request.run, request.component, request.asked, what),
            )
        )

    def decide(self, decisions: Iterable[Decision]) -> None:
        """All or none. Who says something else later has changed their mind."""
        with self._database.transaction():
            for each in decisions:
                values = vars(each)
                changed = ", ".join(f"{name} = excluded.{name}" for name in values)
                self._database.write(
                    f"INSERT INTO decisions ({', '.join(values)}) VALUES ({', '.join('?' * len(values))})"  # noqa: S608
                    f" ON CONFLICT (run, component, digest, author) DO UPDATE SET {changed}",
                    tuple(values.values()),
                )

    def decisions(self, run: str) -> list[Decision]:
        rows = self._database.rows("SELECT * FROM decisions WHERE run = ? ORDER BY moment", (run,))
        return [Decision(**dict(row)) for row in rows]


def _request(row: dict[str, Any]) -> Request:
    return Request(**row | {"details": json.loads(row["details"])})
