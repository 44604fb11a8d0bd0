"""What of the run log nobody needs any more. Never the audit, and nothing that somebody can still go back to.

A run stays if it is younger than the limit, if it made or last applied a component that is there, if it brought a
promoted release, or if one of the last `KEPT` good releases of a component came from it: that can be rolled back to.
A release stays if anything that stays names it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from saltform.runlog.database import Database
from saltform.status import Status

KEPT = 10  # good releases of each component, however old
_GOOD = (Status.APPLIED.value, Status.UNCHANGED.value, Status.ROLLED_BACK.value)
_OF_A_RUN = ("steps", "requests", "decisions")  # what goes with it; what was decided stays in the audit


class Pruning:
    """Questions about what is old, and the end of it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def runs(self) -> dict[str, str]:
        """Every run, with its environment."""
        return {row["id"]: row["environment"] for row in self._database.rows("SELECT id, environment FROM runs")}

    def old_runs(self, before: str) -> set[str]:
        """Runs that ended, or began and never ended, before that moment, and that nothing refers to."""
        rows = self._database.rows("SELECT id FROM runs WHERE coalesce(ended, started) < ?", (before,))
        return {row["id"] for row in rows} - self._needed()

    def unneeded_releases(self, without: Iterable[str], pinned: Iterable[str]) -> set[str]:
        """Releases that nothing names once these runs are gone; `pinned` are (beginnings of) digests in pillar."""
        gone, contents = set(without), self._contents()
        steps = self._database.rows("SELECT run, release FROM steps WHERE release <> ''")
        named = {row["release"] for row in steps if row["run"] not in gone}
        for row in self._database.rows("SELECT release, previous_release FROM components"):
            named |= {row["release"], row["previous_release"]}
        named |= {row["release"] for row in self._database.rows("SELECT release FROM promoted")}
        named |= {digest for digest in contents for pin in pinned if digest.startswith(pin)}
        named |= {str(contents[digest].get("promoted", "")) for digest in named & contents.keys()}
        return contents.keys() - named

    def modules(self, without: Iterable[str]) -> set[str]:
        """The digests of the modules that all releases but these are made of."""
        gone = set(without)
        return {content["module"]["digest"] for digest, content in self._contents().items() if digest not in gone}

    def forget(self, runs: Iterable[str], releases: Iterable[str], resolved_before: str) -> None:
        """These, and findings of drift that were over before that moment: all of it or nothing."""
        with self._database.transaction():
            for run in runs:
                for table in _OF_A_RUN:
                    self._database.write(f"DELETE FROM {table} WHERE run = ?", (run,))  # noqa: S608
                self._database.write("DELETE FROM runs WHERE id = ?", (run,))
            for digest in releases:
                self._database.write("DELETE FROM releases WHERE digest = ?", (digest,))
            self._database.write(
                "DELETE FROM drift_findings WHERE resolved <> '' AND resolved < ?", (resolved_before,)
            )

    def _needed(self) -> set[str]:
        needed: set[str] = set()
        for row in self._database.rows("SELECT run, born FROM components"):
            needed |= {row["run"], row["born"]}
        for table in ("promoted", "leases"):
            needed |= {row["run"] for row in self._database.rows(f"SELECT run FROM {table}")}  # noqa: S608
        return needed | self._of_good_releases()

    def _of_good_releases(self) -> set[str]:
        """The newest run of each of the last good releases of every component."""
        rows = self._database.rows(
            "SELECT runs.environment, steps.component, steps.release, steps.run FROM steps"
            " JOIN runs ON runs.id = steps.run WHERE steps.release <> '' AND steps.status IN (?, ?, ?)"
            " ORDER BY runs.started DESC, runs.id DESC",
            _GOOD,
        )
        seen: dict[tuple[str, str], dict[str, str]] = {}
        for row in rows:
            of = seen.setdefault((row["environment"], row["component"]), {})
            if len(of) < KEPT:
                of.setdefault(row["release"], row["run"])
        return {run for of in seen.values() for run in of.values()}

    def _contents(self) -> dict[str, dict[str, Any]]:
        rows = self._database.rows("SELECT digest, content FROM releases")
        return {row["digest"]: json.loads(row["content"]) for row in rows}
