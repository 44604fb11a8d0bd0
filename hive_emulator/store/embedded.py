"""A store on disk: SQLite in WAL mode, synced at every commit, behind the state in memory.

1. ``commit`` changes the state at once and joins the batch that is being collected.
2. One thread writes batch after batch, each as one transaction: while the disk syncs one, the next collects
   (group commit), so that many writers share a sync. A batch goes to SQLite as one JSON text in one statement:
   the thread then needs Python's lock once for a batch, not a few times for each record.
3. ``commit`` returns when its batch is on disk. Readers wait in ``settled`` for what the state already shows.
4. When the disk refuses, every writer of the batch fails, and the state is read again from disk.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import sqlite3
import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import orjson

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
_KEY = ", ".join(f"json_extract(value, '$[{place}]')" for place in range(4))
_PUT = f"""
INSERT INTO records (account, region, kind, id, record)
SELECT {_KEY}, json_extract(value, '$[4]') FROM json_each(?) WHERE true
ON CONFLICT (account, region, kind, id) DO UPDATE SET record = excluded.record
"""  # noqa: S608 - no part of it comes from outside
_DELETE = f"DELETE FROM records WHERE (account, region, kind, id) IN (SELECT {_KEY} FROM json_each(?))"  # noqa: S608
_ALL = "SELECT account, region, kind, id, record FROM records ORDER BY number"

_Key = tuple[str, str, str, str]


class _Batch:
    """Records that are written together, the last word for each, and who waits for that."""

    def __init__(self) -> None:
        self.put: dict[_Key, bytes] = {}  # [account, region, kind, id, record] as JSON
        self.delete: dict[_Key, bytes] = {}
        self._waiting: list[asyncio.Future[None]] = []

    def add(self, changes: Sequence[Change]) -> None:
        """Take all of them or none: one that is no JSON is refused before the first is in."""
        texts = [orjson.dumps((*change,)) for change in changes]
        for change, text in zip(changes, texts, strict=True):
            wanted, other = (self.delete, self.put) if change.record is None else (self.put, self.delete)
            key = change[:4]
            wanted[key] = text
            if other:
                other.pop(key, None)

    async def written(self) -> None:
        """Return when it is on disk."""
        waiting = asyncio.get_running_loop().create_future()
        self._waiting.append(waiting)
        await waiting

    def end(self, error: StoreFailed | None = None) -> None:
        """Tell everybody who waits."""
        for waiting in self._waiting:
            if waiting.done():  # gone away in the meantime
                continue
            if error is None:
                waiting.set_result(None)
            else:
                waiting.set_exception(error)


class EmbeddedStore:
    """See the module's text."""

    shared = False

    def __init__(self, path: Path) -> None:
        self.state = State()
        self._path = path
        self._jobs: SimpleQueue[tuple[Callable[[], Any], asyncio.Future[Any]] | None] = SimpleQueue()
        self._collecting: _Batch | None = None
        self._writing: _Batch | None = None  # the one before it
        self._writer: asyncio.Task[None] | None = None

    async def open(self) -> None:
        self._lock = _only_one(self._path)
        self._thread = threading.Thread(target=self._work, name="hive-store", daemon=True)
        self._thread.start()
        try:
            self.state.apply(await self._in_thread(self._connect))
        except sqlite3.DatabaseError as error:
            self._end()
            raise StoreFailed(f"{self._path} can't be read: {error}") from error

    async def catch_up(self) -> None:
        """Nobody else writes here."""

    async def settled(self) -> None:
        shown = self._collecting or self._writing
        if shown is not None:
            await shown.written()

    async def commit(self, changes: Sequence[Change], unchanged: Callable[[], bool]) -> None:
        if not unchanged():
            raise Conflict
        batch = self._collecting or _Batch()
        batch.add(changes)
        self.state.apply(changes)
        self._collecting = batch
        if self._writer is None:  # it begins when the requests that are here already have joined
            self._writer = asyncio.get_running_loop().create_task(self._write_batches())
        await batch.written()

    async def close(self) -> None:
        await self.settled()
        await self._in_thread(self._db.close)
        self._end()

    async def _write_batches(self) -> None:
        while self._collecting is not None:
            batch = self._writing = self._collecting
            self._collecting = None
            try:
                await self._in_thread(partial(self._write, batch))
            except Exception as error:  # whatever it is, nobody may be left waiting
                await self._failed(batch, error)
            else:
                batch.end()
            self._writing = None
        self._writer = None

    async def _failed(self, batch: _Batch, error: Exception) -> None:
        """What was staged on top of the failed batch fails with it; then the disk's word counts."""
        changes = await self._in_thread(self._read)
        failed = [batch, *([self._collecting] if self._collecting else [])]
        self._collecting = None
        self.state.clear()
        self.state.apply(changes)
        for each in failed:
            each.end(StoreFailed(f"{self._path} can't be written: {error}"))

    async def _in_thread(self, job: Callable[[], Any]) -> Any:
        done = asyncio.get_running_loop().create_future()
        self._jobs.put((job, done))
        return await done

    def _end(self) -> None:
        self._jobs.put(None)
        self._thread.join()
        os.close(self._lock)

    # --- in the thread ---

    def _work(self) -> None:
        while (order := self._jobs.get()) is not None:
            job, done = order
            try:
                call, answer = done.set_result, job()
            except Exception as error:
                call, answer = done.set_exception, error
            done.get_loop().call_soon_threadsafe(call, answer)

    def _connect(self) -> list[Change]:
        self._db = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
        self._path.chmod(0o600)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")
        self._db.execute(_SCHEMA)
        return self._read()

    def _read(self) -> list[Change]:
        rows = self._db.execute(_ALL)
        return [Change(account, region, kind, id, orjson.loads(text)) for account, region, kind, id, text in rows]

    def _write(self, batch: _Batch) -> None:
        if not batch.delete:  # one statement is a transaction of its own
            self._db.execute(_PUT, (_array(batch.put),))
            return
        self._db.execute("BEGIN IMMEDIATE")
        try:
            self._db.execute(_PUT, (_array(batch.put),))
            self._db.execute(_DELETE, (_array(batch.delete),))
            self._db.execute("COMMIT")
        except sqlite3.Error:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise


def _array(texts: dict[_Key, bytes]) -> str:
    return f"[{b','.join(texts.values()).decode()}]"


def _only_one(path: Path) -> int:
    """Two processes with a state each would write over one another: refuse the second."""
    lock = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        raise StoreFailed(f"another emulator is using {path}: stop it, or give this one another --data-dir") from None
    return lock
