"""The run log's SQLite file: one connection per process, shared by its threads; safe for many processes.

WAL with `synchronous=FULL`: what was committed survives `kill -9` and a power cut. Schema changes are numbered
SQL files, applied by whoever opens an older file first.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from saltform.errors import RunLogError
from saltform.files import make_folder

BUSY_SECONDS = 30.0


class Database:
    """A connection that retries while another process writes, and speaks in RunLogErrors."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.RLock()
        make_folder(path.parent)
        with self._speaking():
            self._connection = sqlite3.connect(
                path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            path.chmod(0o600)
            self._connection.row_factory = sqlite3.Row
            self._use_wal()
            self._connection.execute("PRAGMA synchronous = FULL")
            self._migrate()

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[sqlite3.Row]:
        with self._lock, self._speaking():
            return self._connection.execute(sql, values).fetchall()

    def write(self, sql: str, values: Sequence[Any] = ()) -> int:
        """One statement, committed when this returns. How many rows it touched."""
        with self._lock, self._speaking():
            return self._connection.execute(sql, values).rowcount

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Several statements, all or none."""
        with self._lock, self._speaking():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    @contextlib.contextmanager
    def _speaking(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise RunLogError(
                "the run log can't be used",
                f"{self.path}: {error}",
                "check the disk and the folder's owner; nothing that ran before this is lost",
            ) from error

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

    def _migrate(self) -> None:
        if self._version() == len(_migrations()):
            return
        with self.transaction():
            # Asked again under the lock: another process may have been faster.
            for number, script in enumerate(_migrations(), start=1):
                if number > self._version():
                    for statement in script.split(";\n"):
                        self._connection.execute(statement)
                    self._connection.execute(f"PRAGMA user_version = {number}")

    def _version(self) -> int:
        version: int = self._connection.execute("PRAGMA user_version").fetchone()[0]
        if version > len(_migrations()):
            raise RunLogError(
                "the run log was written by a newer version",
                f"{self.path} has schema {version}, this version knows {len(_migrations())}",
                "install the newer version again",
            )
        return version


def _migrations() -> list[str]:
    folder = resources.files("saltform.runlog") / "schema"
    return [
        item.read_text()
        for item in sorted(folder.iterdir(), key=lambda item: item.name)
        if item.name.endswith(".sql")
    ]
