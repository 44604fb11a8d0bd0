"""Where the run log is kept: a SQLite file by default, PostgreSQL for several masters. One schema for both.

Schema changes are numbered SQL files that both take (`?` stands for a value), applied by whoever opens an older
database first.
"""

from __future__ import annotations

import contextlib
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, Protocol

from saltform.errors import RunLogError


class LockKeeper(Protocol):
    """What a connection has to know of the locks that are held on it (`keeper.py`)."""

    lost: str  # why a lock could not be taken again; from then on nothing is written

    @property
    def until(self) -> float:
        """Until when, by time.monotonic(), a broken connection may be opened anew without losing a lock."""

    def retake(self) -> None:
        """Take every lock again on the new connection."""


class Database(ABC):
    """One connection for each process, shared by its threads. It speaks in RunLogErrors."""

    begin = "BEGIN"
    one_view = ""  # said at the begin of a transaction that reads many tables as they are at one moment
    fix = ""
    name = ""  # for messages: where it is, without a password
    shared = False  # by several masters
    share = ""  # added to a SELECT whose rows must not change until the statement that it is in has ended
    session = 0  # another one after a connection broke: what the former one held has to be taken again
    after = ""  # SQL for the moment so many seconds from now, by the database's clock
    keeper: LockKeeper | None = None

    def __init__(self) -> None:
        self._lock = threading.RLock()

    @abstractmethod
    def close(self) -> None:
        """Hang up."""

    @abstractmethod
    def _execute(self, sql: str, values: Sequence[Any] = ()) -> Any:
        """A cursor with what came out."""

    @abstractmethod
    def _sync(self, lasting: bool) -> None:
        """Whether the next commit waits for the disk; within a transaction its begin has decided."""

    @abstractmethod
    def _is_ours(self, error: Exception) -> bool:
        """Whether it is trouble with the database, and not a defect in what was asked of it."""

    @abstractmethod
    def _version(self) -> int:
        """How many of the numbered files were applied."""

    @abstractmethod
    def _set_version(self, number: int) -> None:
        """So many were."""

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        """Rows whose values go by their names."""
        with self._lock, self._speaking():
            found: list[Any] = self._execute(sql, values).fetchall()
            return found

    def write(self, sql: str, values: Sequence[Any] = (), lasting: bool = True) -> int:
        """One statement, committed when this returns. How many rows it touched.

        What is not `lasting` survives the end of every process, but a power cut only after the next lasting write.
        """
        with self._lock, self._speaking():
            self._sync(lasting)
            touched: int = self._execute(sql, values).rowcount
            return touched

    def try_lock(self, key: int) -> bool:
        """Keep other hosts out for as long as the session lasts. A file is on one host, where flocks decide."""
        return True

    def unlock(self, key: int) -> None:
        """Let them in again."""
        return

    def locked(self, keys: Sequence[int]) -> list[int]:
        """Those of the keys that somebody has locked."""
        return []

    def end_session(self, key: int, former: bool = False) -> bool:
        """End the session that has locked this key; with `former`, only if it was ours. Was there one?"""
        return False

    def sockets(self) -> tuple[int, ...]:
        """Copies of what a process inherits to make the session last as long as it does; the caller closes them."""
        return ()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Several statements, all or none."""
        with self._lock, self._speaking():
            self._sync(True)
            self._execute(self.begin)
            try:
                yield
            except BaseException:
                self._roll_back()
                raise
            self._execute("COMMIT")

    def _roll_back(self) -> None:
        self._execute("ROLLBACK")

    @contextlib.contextmanager
    def _speaking(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            if not self._is_ours(error):
                raise
            said = str(error).strip() or type(error).__name__
            raise RunLogError("the run log can't be used", f"{self.name}: {said}", self.fix) from error

    def _migrate(self) -> None:
        if self._checked_version() == len(migrations()):
            return
        with self.transaction():
            self._alone()
            # Asked again under the lock: another process may have been faster.
            for number, script in enumerate(migrations(), start=1):
                if number > self._checked_version():
                    for statement in script.split(";\n"):
                        self._execute(self._own_words(statement))
                    self._set_version(number)

    @abstractmethod
    def _alone(self) -> None:
        """In a transaction: nobody else changes the schema until it ends."""

    def _own_words(self, statement: str) -> str:
        return statement

    def _checked_version(self) -> int:
        version = self._version()
        if version > len(migrations()):
            raise RunLogError(
                "the run log was written by a newer version",
                f"{self.name} has schema {version}, this version knows {len(migrations())}",
                "install the newer version again",
            )
        return version


def open_database(where: Path | str, dead_after: float) -> Database:
    """A path is a SQLite file, a text the address of a PostgreSQL database.

    Its holders of locks count as dead when they are silent for `dead_after`.
    """
    if isinstance(where, Path):
        from saltform.runlog.sqlite import SqliteDatabase

        return SqliteDatabase(where)
    from saltform.runlog.postgresql import PostgresDatabase  # and its driver: only for those who have one

    return PostgresDatabase(where, dead_after)


def migrations() -> list[str]:
    folder = resources.files("saltform.runlog") / "schema"
    return [
        item.read_text()
        for item in sorted(folder.iterdir(), key=lambda item: item.name)
        if item.name.endswith(".sql")
    ]
