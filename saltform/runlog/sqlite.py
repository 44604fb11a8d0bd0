"""The run log in a SQLite file, safe for many processes on one master.

WAL with `synchronous=FULL`: what was committed survives `kill -9` and, if it has to last, a power cut.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from saltform.files import make_folder
from saltform.runlog.database import Database

BUSY_SECONDS = 30.0


class SqliteDatabase(Database):
    """A connection that waits while another process writes."""

    begin = "BEGIN IMMEDIATE"
    after = "strftime('%Y-%m-%dT%H:%M:%fZ', 'now', ? || ' seconds')"
    fix = "check the disk and the folder's owner; nothing that ran before this is lost"

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.name = str(path)
        self._lasting: bool | None = None
        make_folder(path.parent, durable=True)
        with self._speaking():
            self._connection = sqlite3.connect(
                path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            path.chmod(0o600)
            self._connection.row_factory = sqlite3.Row
            self._use_wal()
            self._sync(True)
            self._migrate()

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def _execute(self, sql: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        return self._connection.execute(sql, values)

    def _sync(self, lasting: bool) -> None:
        if lasting != self._lasting and not self._connection.in_transaction:
            self._connection.execute(f"PRAGMA synchronous = {'FULL' if lasting else 'NORMAL'}")
            self._lasting = lasting

    def _is_ours(self, error: Exception) -> bool:
        return isinstance(error, sqlite3.Error | OSError)

    def _use_wal(self) -> None:
        """The one statement that doesn't wait for another process by itself: two first runs may begin at once."""
        deadline = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                self._connection.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
            time.sleep(0.02)

    def _alone(self) -> None:
        """Who has begun is alone already."""

    def _version(self) -> int:
        version: int = self._execute("PRAGMA user_version").fetchone()[0]
        return version

    def _set_version(self, number: int) -> None:
        self._execute(f"PRAGMA user_version = {number}")
