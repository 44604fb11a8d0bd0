"""Which releases the components of an environment have had, and which were promoted to it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from saltform.runlog.database import Database
from saltform.status import Status

_GOOD = (Status.APPLIED.value, Status.UNCHANGED.value, Status.ROLLED_BACK.value)
_TOUCHED = tuple(
    status.value
    for status in (
        Status.APPLIED,
        Status.DESTROYED,
        Status.ROLLED_BACK,
        Status.FAILED,
        Status.CANCELLED,
        Status.RUNNING,
    )
)


@dataclass(frozen=True)
class Had:
    """A release that a component had from the end of a run on; none when the run destroyed it."""

    component: str
    release: str
    binary_path: str
    run: str
    started: str  # the run
    ended: str  # the step

    @property
    def gone(self) -> bool:
        return not self.release


@dataclass(frozen=True)
class Promoted:
    """A release that an environment was given."""

    environment: str
    component: str
    release: str
    binary_path: str
    run: str
    since: str


class ReleaseLog:
    """The steps as a history of releases, and the table of `005_promoted.sql`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def history(self, environment: str) -> list[Had]:
        """What every step that ended well left behind, in the order in which the runs began."""
        gone, good = Status.DESTROYED.value, ", ".join("?" * len(_GOOD))
        rows = self._database.rows(
            "SELECT steps.component, CASE WHEN steps.status = ? THEN '' ELSE steps.release END AS release,"  # noqa: S608
            " steps.binary_path, steps.run, runs.started, steps.ended"
            " FROM steps JOIN runs ON runs.id = steps.run WHERE runs.environment = ?"
            f" AND (steps.status = ? OR (steps.release <> '' AND steps.status IN ({good})))"
            " ORDER BY runs.started, runs.id, steps.position",
            (gone, environment, gone, *_GOOD),
        )
        return [Had(**dict(row)) for row in rows]

    def last_change(self, environment: str) -> str:
        """The last run that changed something, to its end or not; empty when there was none."""
        rows = self._database.rows(
            "SELECT steps.run FROM steps JOIN runs ON runs.id = steps.run WHERE runs.environment = ?"  # noqa: S608
            f" AND steps.release <> '' AND steps.status IN ({', '.join('?' * len(_TOUCHED))})"
            " ORDER BY steps.run DESC LIMIT 1",
            (environment, *_TOUCHED),
        )
        return str(rows[0]["run"]) if rows else ""

    def contents(self, environment: str) -> dict[str, dict[str, Any]]:
        """What was promoted to an environment is made of, by digest: one question, however many there are."""
        rows = self._database.rows(
            "SELECT releases.digest, releases.content FROM releases JOIN promoted"
            " ON promoted.release = releases.digest WHERE promoted.environment = ?",
            (environment,),
        )
        return {row["digest"]: json.loads(row["content"]) for row in rows}

    def starting_with(self, digest: str) -> list[str]:
        """The releases on record whose digest begins so."""
        rows = self._database.rows(
            "SELECT digest FROM releases WHERE substr(digest, 1, ?) = ?", (len(digest), digest)
        )
        return [row["digest"] for row in rows]

    def binary_of(self, digest: str) -> str:
        """The binary that applied a release last; empty when nobody knows any more."""
        rows = self._database.rows(
            "SELECT binary_path FROM steps WHERE release = ? AND binary_path <> '' ORDER BY run DESC LIMIT 1",
            (digest,),
        )
        return str(rows[0]["binary_path"]) if rows else ""

    def promoted(self, environment: str) -> dict[str, Promoted]:
        rows = self._database.rows("SELECT * FROM promoted WHERE environment = ? ORDER BY component", (environment,))
        return {row["component"]: Promoted(**dict(row)) for row in rows}

    def keep_promoted(self, record: Promoted) -> None:
        values: dict[str, Any] = vars(record)
        changed = ", ".join(f"{name} = excluded.{name}" for name in values)
        self._database.write(
            f"INSERT INTO promoted ({', '.join(values)}) VALUES ({', '.join('?' * len(values))})"  # noqa: S608
            f" ON CONFLICT (environment, component) DO UPDATE SET {changed}",
            tuple(values.values()),
        )

    def forget_promoted(self, environment: str, component: str) -> None:
        self._database.write("DELETE FROM promoted WHERE environment = ? AND component = ?", (environment, component))
