"""Everything the emulator knows, in memory to read and in SQLite to last.

1. A record is a JSON object with a kind and an id. Who reads one never changes it in place.
2. Changes happen in a `transaction()`: in memory at once, in SQLite together at its end.
3. The end of the outermost transaction is a commit with a sync: what is acknowledged after it survives `kill -9`.
4. An exception undoes all of it, in memory too.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson

Body = dict[str, Any]


class Records:
    """The records of one emulator."""

    def __init__(self, path: Path | None) -> None:
        """None: in memory only."""
        self._database = sqlite3.connect(path or ":memory:", isolation_level=None, check_same_thread=False)
        self._database.execute("PRAGMA journal_mode=WAL")
        self._database.execute("PRAGMA synchronous=FULL")
        self._database.execute(
            "CREATE TABLE IF NOT EXISTS record (kind TEXT, id TEXT, body BLOB, PRIMARY KEY (kind, id)) WITHOUT ROWID"
        )
        self._kinds: dict[str, dict[str, Body]] = {}
        for kind, key, body in self._database.execute("SELECT kind, id, body FROM record"):
            self._kinds.setdefault(kind, {})[key] = orjson.loads(body)
        self._undo: list[tuple[str, str, Body | None]] | None = None

    def get(self, kind: str, key: str) -> Body | None:
        """One record, or None."""
        return self._kinds.get(kind, {}).get(key)

    def all(self, kind: str) -> dict[str, Body]:
        """The records of a kind by id. Not to be changed."""
        return self._kinds.get(kind, {})

    def counts(self) -> dict[str, int]:
        """How many records of each kind there are."""
        return {kind: len(found) for kind, found in sorted(self._kinds.items()) if found}

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All changes of the block or none. Blocks inside a block belong to it; no `await` inside."""
        if self._undo is not None:
            yield
            return
        self._undo = []
        try:
            yield
            self._write(self._undo)
        except BaseException:
            for kind, key, old in reversed(self._undo):
                self._set(kind, key, old)
            raise
        finally:
            self._undo = None

    def put(self, kind: str, key: str, body: Body) -> Body:
        """Make or replace a record."""
        self._change(kind, key, body)
        return body

    def delete(self, kind: str, key: str) -> None:
        """Remove a record if it is there."""
        if self.get(kind, key) is not None:
            self._change(kind, key, None)

    def clear(self) -> None:
        """Remove all records."""
        with self.transaction():
            for kind, found in list(self._kinds.items()):
                for key in list(found):
                    self.delete(kind, key)

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    def _change(self, kind: str, key: str, body: Body | None) -> None:
        with self.transaction():
            assert self._undo is not None  # noqa: S101 - for the type checker
            self._undo.append((kind, key, self.get(kind, key)))
            self._set(kind, key, body)

    def _set(self, kind: str, key: str, body: Body | None) -> None:
        found = self._kinds.setdefault(kind, {})
        if body is None:
            found.pop(key, None)
        else:
            found[key] = body

    def _write(self, changed: list[tuple[str, str, Body | None]]) -> None:
        if not changed:
            return
        self._database.execute("BEGIN IMMEDIATE")
        try:
            for kind, key in dict.fromkeys((kind, key) for kind, key, _ in changed):
                body = self.get(kind, key)
                if body is None:
                    self._database.execute("DELETE FROM record WHERE kind = ? AND id = ?", (kind, key))
                else:
                    row = (kind, key, orjson.dumps(body))
                    self._database.execute("INSERT OR REPLACE INTO record VALUES (?, ?, ?)", row)
            self._database.execute("COMMIT")
        except BaseException:
            self._database.execute("ROLLBACK")
            raise
