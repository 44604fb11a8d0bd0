"""A store on disk: a journal that is synced at every commit, and SQLite, behind the state in memory.

1. ``commit`` changes the state at once and joins the batch that is being collected.
2. When every request that is here has joined, the batch is written as one entry of the journal: many writers share
   a sync (group commit), however many records have changed.
3. ``commit`` returns when its batch is on disk. Readers wait in ``settled`` for what the state already shows. As
   everybody waits for the disk anyway, the loop itself does: with a thread for it, the two would take Python's
   lock from one another all the time, which cost each request as much as all the rest.
4. Now and then the journal is folded into SQLite's ``records``: the last word for each, together with the number of
   the last entry that is in there. What is read at the start is ``records``, and then the journal from there.
5. When the disk refuses, every writer of the batch fails, and the state is read again from disk; until that has
   worked, nobody is answered.
"""

from __future__ import annotations

import asyncio
import fcntl
import logging
import os
import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import orjson

from hive_emulator.store.base import Change, Conflict, StoreFailed
from hive_emulator.store.journal import Journal
from hive_emulator.store.state import State

log = logging.getLogger("hive_emulator")

_SCHEMA = """
CREATE TABLE IF NOT EXISTS records (
    number INTEGER PRIMARY KEY,
    account TEXT NOT NULL, region TEXT NOT NULL, kind TEXT NOT NULL, id TEXT NOT NULL,
    record TEXT NOT NULL,
    UNIQUE (account, region, kind, id)
);
CREATE TABLE IF NOT EXISTS folded (one INTEGER PRIMARY KEY, number INTEGER NOT NULL);
INSERT OR IGNORE INTO folded VALUES (1, 0);
"""
_PUT = """
INSERT INTO records (account, region, kind, id, record) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (account, region, kind, id) DO UPDATE SET record = excluded.record
"""
_DELETE = "DELETE FROM records WHERE account = ? AND region = ? AND kind = ? AND id = ?"
_ALL = "SELECT account, region, kind, id, record FROM records ORDER BY number"

_Key = tuple[str, str, str, str]


class _Batch:
    """Changes that are written together."""

    def __init__(self) -> None:
        self.changes: list[Change] = []
        self.written: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._texts: list[bytes] = []

    def add(self, changes: Sequence[Change]) -> None:
        """Take all of them or none: one that is no JSON is refused before the first is in."""
        self._texts += [orjson.dumps((*change,)) for change in changes]
        self.changes += changes

    def text(self) -> bytes:
        """As the journal keeps it: a list of [account, region, kind, id, record]."""
        return b"[%b]" % b",".join(self._texts)


class _LastWords:
    """Of many changes, the last one of each record. Those before it are let go: else each would take fresh memory."""

    def __init__(self, changes: Sequence[Change] = ()) -> None:
        self.changes = 0
        self.put: dict[_Key, dict[str, Any]] = {}  # in creation order
        self.delete: dict[_Key, None] = {}  # before that: what comes back comes last
        self.add(changes)

    def add(self, changes: Sequence[Change]) -> None:
        self.changes += len(changes)
        for account, region, kind, id, record in changes:
            key = (account, region, kind, id)
            if record is None:
                self.put.pop(key, None)
                self.delete[key] = None
            else:
                self.put[key] = record


class EmbeddedStore:
    """See the module's text."""

    shared = False
    fold_after = 4000  # changes

    def __init__(self, path: Path) -> None:
        self.state = State()
        self._path = path
        self._batch: _Batch | None = None  # being collected
        self._unfolded = _LastWords()  # what only the journal holds
        self._in_doubt = False  # the state shows what the disk has refused

    async def open(self) -> None:
        self._lock = _only_one(self._path)
        try:
            self._connect()
            self._load()
            self._take_over_older_journal()
        except (sqlite3.DatabaseError, OSError) as error:
            os.close(self._lock)
            raise StoreFailed(f"{self._path} can't be used: {error}") from error

    async def catch_up(self) -> None:
        """Nobody else writes here."""

    async def settled(self) -> None:
        if self._in_doubt:
            self._load_again()
        if self._batch is not None:
            await self._batch.written

    def commit(self, changes: Sequence[Change], unchanged: Callable[[], bool]) -> Awaitable[None]:
        if self._in_doubt:
            self._load_again()
        if not unchanged():
            raise Conflict
        batch = self._batch or _Batch()
        batch.add(changes)
        self.state.apply(changes)
        if self._batch is None:
            self._batch = batch
            asyncio.get_running_loop().call_soon(self._write_when_all_joined, 0)
        return batch.written

    async def close(self) -> None:
        if self._batch is not None:
            await self._batch.written
        self._journal.close()
        self._db.close()
        os.close(self._lock)

    def _write_when_all_joined(self, before: int) -> None:
        """Write the batch after a turn of the loop that brought nobody else."""
        assert self._batch is not None  # noqa: S101 - for the type checker: this is the only way it ends
        batch, now = self._batch, len(self._batch.changes)
        if now > before:
            asyncio.get_running_loop().call_soon(self._write_when_all_joined, now)
            return
        self._batch = None
        try:
            self._write(batch)
        except Exception as error:  # whatever it is, nobody may be left waiting
            batch.written.set_exception(StoreFailed(f"{self._path} can't be written: {error}"))
            self._in_doubt = True
            self._load()  # the disk's word counts
            return
        if not batch.written.done():  # a job that was stopped at the very end
            batch.written.set_result(None)
        if self._unfolded.changes >= self.fold_after:
            try:
                self._fold()
            except sqlite3.Error as error:  # what the journal has is kept: the next batch tries again
                log.warning("%s can't be folded: %s", self._path, error)

    # --- on disk ---

    def _connect(self) -> None:
        self._db = sqlite3.connect(self._path, isolation_level=None)
        self._path.chmod(0o600)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")
        self._db.executescript(_SCHEMA)
        self._journal = Journal(self._path.with_name(self._path.name + ".journal"))

    def _load(self) -> None:
        rows = self._db.execute(_ALL)
        kept = [Change(account, region, kind, id, orjson.loads(text)) for account, region, kind, id, text in rows]
        (folded,) = self._db.execute("SELECT number FROM folded").fetchone()
        later = _read(self._journal.read(folded))
        self._unfolded = _LastWords(later)
        self.state.clear()
        self.state.apply(kept)
        self.state.apply(later)
        self._in_doubt = False

    def _load_again(self) -> None:
        """Whoever comes here has seen what can't be relied on, and must look again."""
        try:
            self._load()
        except (sqlite3.Error, OSError) as error:
            raise StoreFailed(f"{self._path} can't be read: {error}") from error
        raise Conflict

    def _write(self, batch: _Batch) -> None:
        text = batch.text()
        has_room = self._journal.has_room(text)
        if has_room:
            self._journal.append(text)
        self._unfolded.add(batch.changes)
        if not has_room:
            self._fold()

    def _fold(self) -> None:
        """Bring ``records`` up to date."""
        put = self._unfolded.put.items()
        try:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.executemany(_DELETE, self._unfolded.delete)
            self._db.executemany(_PUT, ((*key, orjson.dumps(record).decode()) for key, record in put))
            self._db.execute("UPDATE folded SET number = ?", (self._journal.number,))
            self._db.execute("COMMIT")
        except sqlite3.Error:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise
        self._journal.begin_again()
        self._unfolded = _LastWords()

    def _take_over_older_journal(self) -> None:
        """It was a table once."""
        if self._db.execute("SELECT 1 FROM sqlite_master WHERE name = 'journal'").fetchone():
            older = _read([text for (text,) in self._db.execute("SELECT changes FROM journal ORDER BY number")])
            self.state.apply(older)
            self._unfolded.add(older)
            self._fold()
            self._db.execute("DROP TABLE journal")


def _read(texts: Sequence[str | bytes]) -> list[Change]:
    return [Change(*change) for text in texts for change in orjson.loads(text)]


def _only_one(path: Path) -> int:
    """Two processes with a state each would write over one another: refuse the second."""
    lock = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        raise StoreFailed(f"another emulator is using {path}: stop it, or give this one another --data-dir") from None
    return lock
