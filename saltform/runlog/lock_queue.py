"""The line for a component's lock: who may wait takes a ticket, and the lowest ticket of a living run is next.

Who can't wait doesn't push in.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from saltform.errors import LostLock, RunLogError
from saltform.runlog import flock
from saltform.runlog.database import Database


class LockQueue:
    """All lines of a run log."""

    def __init__(self, database: Database, run_alive: Callable[[str], bool]) -> None:
        self._database = database
        self._run_alive = run_alive

    def waiting(self, environment: str) -> dict[str, list[str]]:
        """The living runs in line for each component, the next one first."""
        line: dict[str, list[str]] = {}
        rows = self._database.rows("SELECT * FROM lock_queue WHERE environment = ? ORDER BY ticket", (environment,))
        for row in rows:
            if self._run_alive(row["run"]):
                line.setdefault(row["component"], []).append(row["run"])
        return line

    @contextlib.contextmanager
    def ticket(self, environment: str, component: str, holder: Mapping[str, Any]) -> Iterator[int]:
        """A place in line for as long as the block lasts."""
        mine = (environment, component, holder["run"])
        added = 0
        while not added:  # another got the same number this very moment
            added = self._database.write(
                "INSERT INTO lock_queue (environment, component, ticket, run, author, host, since)"
                " SELECT ?, ?, coalesce(max(ticket), 0) + 1, ?, ?, ?, ? FROM lock_queue"
                " WHERE environment = ? AND component = ? ON CONFLICT DO NOTHING",
                (*mine, holder["author"], socket.gethostname(), holder["since"], environment, component),
            )
        rows = self._database.rows(
            "SELECT ticket FROM lock_queue WHERE environment = ? AND component = ? AND run = ?", mine
        )
        try:
            yield rows[0]["ticket"]
        finally:
            with contextlib.suppress(RunLogError, LostLock):  # then whoever comes next finds that this run is dead
                self._database.write(
                    "DELETE FROM lock_queue WHERE environment = ? AND component = ? AND run = ?", mine
                )

    def check(
        self, environment: str, component: str, ticket: int | None, holder: Callable[[], Mapping[str, Any] | None]
    ) -> None:
        """Whoever has a lower ticket comes first, if it is alive; the tickets of the dead are thrown away."""
        rows = self._database.rows(
            "SELECT * FROM lock_queue WHERE environment = ? AND component = ? ORDER BY ticket",
            (environment, component),
        )
        for row in map(dict, rows):
            if ticket is not None and row["ticket"] >= ticket:
                return
            if self._run_alive(row["run"]):
                named = holder()
                error = flock.locked(f"{environment}/{component}", named if named and named["run"] else row)
                error.detail += f"; run {row['run']} is before this one in line"
                raise error
            self._database.write(
                "DELETE FROM lock_queue WHERE environment = ? AND component = ? AND ticket = ?",
                (environment, component, row["ticket"]),
            )
