"""What the store on disk promises beyond what every store does: journal, fold, and a disk that refuses."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hive_stores import REGION, contents, context, put, run

from hive_emulator.config import FIRST_ACCOUNT
from hive_emulator.store import embedded, journal, make_store
from hive_emulator.store.base import Change, Conflict, StoreFailed
from hive_emulator.store.journal import Journal


def test_writers_that_share_a_sync_are_kept_in_the_order_they_came(tmp_path: Path) -> None:
    async def test() -> None:
        async with context("embedded", tmp_path) as store:
            for id in ("stays", "goes", "comes back"):
                await put(store, "vpc", id, {"n": 0})
            orders = [("goes", None), ("comes back", None), ("comes back", {"n": 1}), ("new", {"n": 2})]
            orders += [("short-lived", {"n": 3}), ("short-lived", None), ("stays", {"n": 4}), ("stays", {"n": 5})]
            changes = [Change(FIRST_ACCOUNT, REGION, "vpc", id, record) for id, record in orders]
            await asyncio.gather(*(store.commit([change], lambda: True) for change in changes))
            left = {row[3]: row[4] for row in contents(store)}
            assert left == {"stays": {"n": 5}, "comes back": {"n": 1}, "new": {"n": 2}}
        async with context("embedded", tmp_path) as store:
            assert {row[3]: row[4] for row in contents(store)} == left

    run(test)


def test_a_journal_that_was_folded_reads_as_before(tmp_path: Path) -> None:
    async def test() -> None:
        async with context("embedded", tmp_path) as store:
            store.fold_after = 4
            for id in ("first", "goes", "comes back", "stays"):
                await put(store, "vpc", id, {"n": 0})
            assert entries_of_the_journal(tmp_path) == 0
            orders = [("goes", None), ("comes back", None), ("new", {"n": 1}), ("comes back", {"n": 2})]
            orders += [("short-lived", {"n": 3}), ("short-lived", None), ("first", {"n": 4}), ("last", {"n": 5})]
            for id, record in orders:
                await store.commit([Change(FIRST_ACCOUNT, REGION, "vpc", id, record)], lambda: True)
            assert entries_of_the_journal(tmp_path) == 0
            await put(store, "vpc", "unfolded", {"n": 6})
            before = contents(store)
        assert [row[3] for row in before] == ["first", "stays", "new", "comes back", "last", "unfolded"]
        assert entries_of_the_journal(tmp_path) == 1
        async with context("embedded", tmp_path) as store:
            assert contents(store) == before

    run(test)


def test_a_journal_that_can_not_be_folded_yet_keeps_what_it_has(tmp_path: Path, monkeypatch) -> None:
    async def test() -> None:
        async with context("embedded", tmp_path) as store:
            store.fold_after = 2
            with monkeypatch.context() as patched:
                patched.setattr(embedded, "_PUT", "INSERT INTO nowhere VALUES (?, ?, ?, ?, ?)")
                for n in range(3):
                    await put(store, "vpc", f"vpc-{n}", {"n": n})
            assert entries_of_the_journal(tmp_path) == 3
            await put(store, "vpc", "vpc-3", {"n": 3})
            assert entries_of_the_journal(tmp_path) == 0
            before = contents(store)
        async with context("embedded", tmp_path) as store:
            assert contents(store) == before

    run(test)


def entries_of_the_journal(folder: Path) -> int:
    with closing(sqlite3.connect(folder / "hive.db")) as db, closing(Journal(folder / "hive.db.journal")) as kept:
        return len(kept.read(*db.execute("SELECT number FROM folded").fetchone()))


def test_a_folder_whose_journal_was_still_a_table_is_taken_over(tmp_path: Path) -> None:
    async def test() -> None:
        async with context("embedded", tmp_path) as store:
            await put(store, "vpc", "vpc-1", {"n": 1})
        with closing(sqlite3.connect(tmp_path / "hive.db", isolation_level=None)) as db:
            db.execute("CREATE TABLE journal (number INTEGER PRIMARY KEY, changes TEXT NOT NULL)")
            rows = [[FIRST_ACCOUNT, REGION, "vpc", "vpc-2", {"n": 2}], [FIRST_ACCOUNT, REGION, "vpc", "vpc-1", None]]
            db.executemany("INSERT INTO journal (changes) VALUES (?)", [(json.dumps([row]),) for row in rows])
        for _ in range(2):
            async with context("embedded", tmp_path) as store:
                assert [row[3] for row in contents(store)] == ["vpc-2"]

    run(test)


def test_a_batch_that_the_journal_has_no_room_for_is_kept_too(tmp_path: Path, monkeypatch) -> None:
    async def test() -> None:
        monkeypatch.setattr(journal, "SIZE", 1000)
        async with context("embedded", tmp_path) as store:
            for n in range(12):
                await put(store, "vpc", f"vpc-{n}", {"n": "x" * 100 * n})
            before = contents(store)
        async with context("embedded", tmp_path) as store:
            assert contents(store) == before
            assert len(before) == 12

    run(test)


def test_a_second_process_on_the_same_file_is_refused(tmp_path: Path) -> None:
    async def test() -> None:
        async with context("embedded", tmp_path):
            with pytest.raises(StoreFailed, match="another emulator is using .*--data-dir"):
                await make_store("embedded", tmp_path).open()

    run(test)


def test_when_the_disk_refuses_the_state_shows_what_the_disk_has(tmp_path: Path) -> None:
    async def test() -> None:
        async with context("embedded", tmp_path) as store:
            await put(store, "vpc", "vpc-1", {"n": 1})
            store._db.execute("PRAGMA max_page_count = 1")  # the disk is full
            with pytest.raises(StoreFailed, match="can't be written"):
                await put(store, "vpc", "vpc-2", {"n": "x" * 2 * journal.SIZE})
            assert [row[3] for row in contents(store)] == ["vpc-1"]
            store._db.execute("PRAGMA max_page_count = 1000000")
            await put(store, "vpc", "vpc-3", {"n": 3})
            assert [row[3] for row in contents(store)] == ["vpc-1", "vpc-3"]

    run(test)


def test_when_the_disk_can_not_even_be_read_nobody_is_answered_from_what_it_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError("Input/output error")

    async def test() -> None:
        async with context("embedded", tmp_path) as store:
            await put(store, "vpc", "vpc-1", {"n": 1})
            asyncio.get_running_loop().set_exception_handler(lambda *_: None)  # it is logged, too
            with monkeypatch.context() as broken:
                broken.setattr(journal, "_sync", refuse)
                broken.setattr(journal.Journal, "read", refuse)
                with pytest.raises(StoreFailed, match="can't be written"):
                    await put(store, "vpc", "vpc-2", {"n": 2})
                for _ in range(2):
                    with pytest.raises(StoreFailed, match="can't be read: Input/output error"):
                        await store.settled()
                    with pytest.raises(StoreFailed, match="can't be read: Input/output error"):
                        await put(store, "vpc", "vpc-3", {"n": 3})
            with pytest.raises(Conflict):
                await store.settled()
            await put(store, "vpc", "vpc-3", {"n": 3})
            assert [row[3] for row in contents(store)] == ["vpc-1", "vpc-3"]

    run(test)


def test_what_can_not_be_written_down_is_refused_and_holds_up_nobody(tmp_path: Path) -> None:
    async def test() -> None:
        async with context("embedded", tmp_path) as store:
            records = {"fine": {"n": 1}, "odd": {"n": object()}}
            changes = [Change(FIRST_ACCOUNT, REGION, "vpc", id, record) for id, record in records.items()]
            with pytest.raises(TypeError):
                await store.commit(changes, lambda: True)
            await store.settled()
            await put(store, "vpc", "next", {"n": 2})
            assert [row[3] for row in contents(store)] == ["next"]
        async with context("embedded", tmp_path) as store:
            assert [row[3] for row in contents(store)] == ["next"]

    run(test)


def test_a_write_that_fails_in_an_unforeseen_way_is_told_to_who_waits(tmp_path: Path, monkeypatch) -> None:
    async def test() -> None:
        async with context("embedded", tmp_path) as store:
            with monkeypatch.context() as patched:
                patched.setattr(store, "_write", lambda batch: 1 / 0)
                with pytest.raises(StoreFailed, match="division"):
                    await put(store, "vpc", "vpc-1", {"n": 1})
            await put(store, "vpc", "vpc-2", {"n": 2})
            assert [row[3] for row in contents(store)] == ["vpc-2"]

    run(test)


def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    (tmp_path / "hive.db").write_bytes(b"this is not a database, not at all" * 100)

    async def test() -> None:
        with pytest.raises(StoreFailed, match="hive.db can't be used"):
            await make_store("embedded", tmp_path).open()

    run(test)
