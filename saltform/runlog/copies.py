"""The run log's copy of what the states say. Never a sensitive value: of those only a keyed digest."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from saltform.runlog.database import Database

_JSON = ("outputs", "ordinary", "resources")


@dataclass(frozen=True)
class StateCopy:
    """One component's state, as it was when it was copied."""

    environment: str
    component: str
    serial: int
    lineage: str
    outputs: dict[str, str]  # name → digest
    ordinary: dict[str, Any]  # name → value
    resources: list[str]
    copied: str  # when the state was last found to be so


class StateCopies:
    """The table `state_copies`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self, environment: str) -> dict[str, StateCopy]:
        rows = self._database.rows("SELECT * FROM state_copies WHERE environment = ?", (environment,))
        return {row["component"]: _copy(dict(row)) for row in rows}

    def keep(self, copy: StateCopy) -> None:
        values = vars(copy) | {name: json.dumps(getattr(copy, name), sort_keys=True) for name in _JSON}
        changed = ", ".join(f"{name} = excluded.{name}" for name in values)
        self._database.write(
            f"INSERT INTO state_copies ({', '.join(values)}) VALUES ({', '.join('?' * len(values))})"  # noqa: S608
            f" ON CONFLICT (environment, component) DO UPDATE SET {changed}",
            tuple(values.values()),
        )

    def confirm(self, environment: str, components: Iterable[str], moment: str) -> None:
        """The states of these were looked at, and are as their copies say."""
        names = list(components)
        if names:
            some = ", ".join("?" * len(names))
            self._database.write(
                f"UPDATE state_copies SET copied = ? WHERE environment = ? AND component IN ({some})",  # noqa: S608
                (moment, environment, *names),
            )

    def forget(self, environment: str, component: str) -> None:
        self._database.write(
            "DELETE FROM state_copies WHERE environment = ? AND component = ?", (environment, component)
        )


def _copy(row: dict[str, Any]) -> StateCopy:
    return StateCopy(**row | {name: json.loads(row[name]) for name in _JSON})
