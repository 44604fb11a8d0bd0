"""A store on disk: SQLite in WAL mode, synced at every commit, behind the state in memory.

1. ``commit`` changes the state at once and joins the batch that is being collected.
2. One thread writes batch after batch, each as one transaction: while the disk syncs one, the next collects
   (group commit), so that many writers share a sync.
3. ``commit`` returns when its batch is on disk. Readers wait in ``settled`` for what the state already shows.
4. When the disk refuses, every writer of the batch fails, and the state is read again from disk.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import sqlite3
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from hive_emulator.store.base import Change, Conflict, StoreFailed
from hive_emulator.store.state import State

_SCHEMA = """
CREATE TABLE IF NOT EXISTS records (
    number INTEGER PRIMARY KEY,
    account TEXT NOT NULL, region TEXT NOT NULL, kind TEXT NOT NULL, id TEXT NOT NULL,
    record TEXT NOT NULL,
    UNIQUE (account, region, kind, id)
)
"""
_PUT = """
INSERT INTO records (account, region, kind, id, record) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (account, region, kind, id) DO UPDATE SET record = excluded.record
"""
_DELETE = "DELETE FROM records WHERE account = ? AND region = ? AND kind = ? AND id = ?"
_ALL = "SELECT account, region, kind, id, record FROM records ORDER BY number"
_Row = tuple[str, str, str, str, "str | None"]


class EmbeddedStore:
    """See the module's text."""

    shared = False

    def __init__(self, path: Path) -> None:
        self.state = State()
        self._path = path
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="hive-store")
        self._batch: list[_Row] = []
        self._collecting: asyncio.Future[None] | None = None  # done when the batch is on disk
        self._writing: asyncio.Future[None] | None = None  # the same of the batch before it
        self._writer: asyncio.Task[None] | None = None

    async def open(self) -> None:
        loop = asyncio.get_running_loop()
        self._lock = _only_one(self._path)
        try:
            self.state.apply(await loop.run_in_executor(self._thread, self._connect))
        except sqlite3.DatabaseError as error:
            raise StoreFailed(f"{self._path} can't be read: {error}") from error

    async def catch_up(self) -> None:
        """Nobody else writes here."""

    async def settled(self) -> None:
        shown = self._collecting or self._writing
        if shown is not None:
            await asyncio.shield(shown)

    async def commit(self, changes: Sequence[Change], unchanged: Callable[[], bool]) -> None:
        if not unchanged():
            raise Conflict
        rows = [
            (c.account, c.region, c.kind, c.id, _text(c.record) if c.record is not None else None) for c in changes
        ]
        self.state.apply(changes)
        self._batch += rows
        await asyncio.shield(self._batch_written())

    async def close(self) -> None:
        await self.settled()
        await asyncio.get_running_loop().run_in_executor(self._thread, self._disconnect)
        self._thread.shutdown()
        os.close(self._lock)

    def _batch_written(self) -> asyncio.Future[None]:
        loop = asyncio.get_running_loop()
        if self._collecting is None:
            self._collecting = loop.create_future()
        if self._writer is None:
            self._writer = loop.create_task(self._write_batches())
        return self._collecting

    async def _write_batches(self) -> None:
        loop = asyncio.get_running_loop()
        while self._collecting is not None:
            batch, self._batch = self._batch, []
            self._writing, self._collecting = self._collecting, None
            try:
                await loop.run_in_executor(self._thread, self._write, batch)
            except sqlite3.Error as error:
                await self._failed(self._writing, error)
            else:
                self._writing.set_result(None)
            self._writing = None
        self._writer = None

    async def _failed(self, written: asyncio.Future[None], error: sqlite3.Error) -> None:
        """What was staged on top of the failed batch fails with it; then the disk's word counts."""
        changes = await asyncio.get_running_loop().run_in_executor(self._thread, self._read)
        waiting = [written, *([self._collecting] if self._collecting else [])]
        self._batch, self._collecting = [], None
        self.state.clear()
        self.state.apply(changes)
        for future in waiting:
            future.set_exception(StoreFailed(f"{self._path} can't be written: {error}"))
            future.exception()  # seen: a reader that went away must not leave a warning

    # --- in the thread ---

    def _connect(self) -> list[Change]:
        self._db = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
        self._path.chmod(0o600)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")
        self._db.execute(_SCHEMA)
        return self._read()

    def _read(self) -> list[Change]:
        load = json.JSONDecoder(object_pairs_hook=_with_shared_names).decode
        rows = self._db.execute(_ALL)
        return [Change(account, region, kind, id, load(text)) for account, region, kind, id, text in rows]

    def _write(self, batch: list[_Row]) -> None:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            for row in batch:
                if row[4] is None:
                    self._db.execute(_DELETE, row[:4])
                else:
                    self._db.execute(_PUT, row)
            self._db.execute("COMMIT")
        except sqlite3.Error:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise

    def _disconnect(self) -> None:
        self._db.close()


_text = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode


def _with_shared_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A dict whose member names are kept once for all records: a third less memory."""
    return {sys.intern(name): value for name, value in pairs}


def _only_one(path: Path) -> int:
    """Two processes with a state each would write over one another: refuse the second."""
    lock = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        raise StoreFailed(f"another emulator is using {path}: stop it, or give this one another --data-dir") from None
    return lock
