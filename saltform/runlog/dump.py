"""The run log as plain rows, the same from SQLite and PostgreSQL: a backup of one can be restored into the other."""

from __future__ import annotations

import base64
import contextlib
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from saltform.runlog.database import Database, migrations

_TABLE = re.compile(r"^CREATE TABLE (?:IF NOT EXISTS )?(\w+)", re.M)


def tables() -> list[str]:
    """Every table, those that others refer to first."""
    return [name for script in migrations() for name in _TABLE.findall(script)]


class Dump:
    """All of a run log at once."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def lines(self) -> Iterator[bytes]:
        """All rows as JSON, as they were at one moment, whoever writes meanwhile."""
        with self._database.transaction():
            if self._database.one_view:
                self._database.write(self._database.one_view)
            for table in tables():
                for row in self._database.rows(f"SELECT * FROM {table}"):  # noqa: S608 (a name of our own)
                    yield json.dumps([table, dict(row)], default=_encoded).encode() + b"\n"

    @contextlib.contextmanager
    def filled(self, lines: Iterable[bytes]) -> Iterator[None]:
        """With these in place of what is there, for good once the block has ended well.

        A column that a line doesn't have gets its default: it came with a later version.
        """
        known = tables()
        with self._database.transaction():
            for table in reversed(known):
                self._database.write(f"DELETE FROM {table}")  # noqa: S608
            for line in lines:
                table, row = json.loads(line, object_hook=_decoded)
                if table in known:
                    places = ", ".join("?" * len(row))
                    values = tuple(row.values())
                    self._database.write(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({places})", values)  # noqa: S608
            yield

    def empty(self) -> bool:
        return not any(self._database.rows(f"SELECT 1 AS one FROM {table} LIMIT 1") for table in tables())  # noqa: S608


def _encoded(value: Any) -> dict[str, str]:
    return {"$bytes": base64.b64encode(bytes(value)).decode()}


def _decoded(tree: dict[str, Any]) -> Any:
    return base64.b64decode(tree["$bytes"]) if tree.keys() == {"$bytes"} else tree
