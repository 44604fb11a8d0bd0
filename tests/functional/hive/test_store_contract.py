"""What every store promises, over memory, SQLite and a real NATS server."""

from __future__ import annotations

import asyncio
import json
import secrets
import sqlite3
from collections.abc import Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from hive_emulator.cloud import Cloud
from hive_emulator.config import FIRST_ACCOUNT
from hive_emulator.errors import ApiError
from hive_emulator.store import embedded, journal, make_store
from hive_emulator.store.base import Change, Conflict, Store, StoreFailed
from hive_emulator.store.journal import Journal
from hive_emulator.testing import running_nats

REGION = "ap-southeast-2"


@pytest.fixture(scope="module")
def nats_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_nats(tmp_path_factory.mktemp("nats")) as url:
        yield url


@pytest.fixture(params=["memory", "embedded", "nats"])
def kind_of_store(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def where(kind_of_store: str, request: pytest.FixtureRequest) -> Iterator[str]:
    if kind_of_store == "nats":
        yield request.getfixturevalue("nats_url")
        asyncio.run(forget_streams(request.getfixturevalue("nats_url")))
    else:
        yield kind_of_store


async def forget_streams(url: str) -> None:
    import nats

    client = await nats.connect(url)
    js = client.jetstream()
    for info in await js.streams_info():
        await js.delete_stream(info.config.name or "")
    await client.close()


@asynccontextmanager
async def opened(where: str, folder: Path):
    store = make_store(where, folder)
    await store.open()
    try:
        yield store
    finally:
        await store.close()


def run(test: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(asyncio.wait_for(test(), 60))


def cloud(store: Store, account: str = FIRST_ACCOUNT, region: str = REGION) -> Cloud:
    return Cloud(store.state, account, region)


async def put(store: Store, kind: str, id: str, record: dict) -> None:
    work = cloud(store)
    work.put(kind, id, record)
    await work.commit(store)


def contents(store: Store) -> list:
    return [(*row[:4], dict(row[4])) for row in store.state.everything()]


def test_a_committed_record_is_read_back_as_it_was(where: str, tmp_path: Path) -> None:
    record = {"VpcId": "vpc-1", "Tags": [{"Key": "ключ", "Value": ""}], "_n": 1.5, "Deep": {"a": [True, None]}}

    async def test() -> None:
        async with opened(where, tmp_path) as store:
            await put(store, "vpc", "vpc-1", record)
            assert cloud(store).get("vpc", "vpc-1") == record
            assert cloud(store).all("vpc") == [record]

    run(test)


def test_accounts_and_regions_are_kept_apart(where: str, tmp_path: Path) -> None:
    async def test() -> None:
        async with opened(where, tmp_path) as store:
            await put(store, "vpc", "vpc-1", {"n": 1})
            assert cloud(store, account="000000000002").all("vpc") == []
            assert cloud(store, region="eu-west-1").get("vpc", "vpc-1") is None

    run(test)


def test_records_come_in_creation_order_also_after_an_update(where: str, tmp_path: Path) -> None:
    async def test() -> None:
        async with opened(where, tmp_path) as store:
            for n in (3, 1, 2):
                await put(store, "vpc", f"vpc-{n}", {"n": n})
            await put(store, "vpc", "vpc-3", {"n": 33})
            assert [record["n"] for record in cloud(store).all("vpc")] == [33, 1, 2]

    run(test)


def test_the_slower_of_two_writers_of_one_record_gets_a_conflict(where: str, tmp_path: Path) -> None:
    async def test() -> None:
        async with opened(where, tmp_path) as store:
            await put(store, "vpc", "vpc-1", {"n": 0})
            first, second = cloud(store), cloud(store)
            for work, n in ((first, 1), (second, 2)):
                work.get("vpc", "vpc-1")
                work.put("vpc", "vpc-1", {"n": n})
            await first.commit(store)
            with pytest.raises(Conflict):
                await second.commit(store)
            assert cloud(store).get("vpc", "vpc-1") == {"n": 1}

    run(test)


def test_a_writer_that_scanned_a_kind_conflicts_with_a_newcomer(where: str, tmp_path: Path) -> None:
    async def test() -> None:
        async with opened(where, tmp_path) as store:
            slow = cloud(store)
            assert slow.all("subnet") == []
            slow.put("subnet", "subnet-2", {"CidrBlock": "10.0.0.0/24"})
            await put(store, "subnet", "subnet-1", {"CidrBlock": "10.0.0.0/24"})
            with pytest.raises(Conflict):
                await slow.commit(store)

    run(test)


def test_writers_of_different_records_do_not_conflict(where: str, tmp_path: Path) -> None:
    async def test() -> None:
        async with opened(where, tmp_path) as store:
            await asyncio.gather(*(put(store, "vpc", f"vpc-{n}", {"n": n}) for n in range(50)))
            assert len(cloud(store).all("vpc")) == 50

    run(test)


def test_a_conflict_leaves_nothing_of_the_commit_behind(where: str, tmp_path: Path) -> None:
    async def test() -> None:
        async with opened(where, tmp_path) as store:
            with pytest.raises(Conflict):
                change = Change(FIRST_ACCOUNT, REGION, "vpc", "vpc-1", {})
                await store.commit([change], lambda: False)
            assert contents(store) == []

    run(test)


def test_an_index_follows_writes_and_deletes(where: str, tmp_path: Path) -> None:
    async def test() -> None:
        async with opened(where, tmp_path) as store:
            await put(store, "subnet", "subnet-1", {"VpcId": "vpc-1"})
            assert cloud(store).by("subnet", "VpcId", "vpc-1") == [{"VpcId": "vpc-1"}]
            await put(store, "subnet", "subnet-1", {"VpcId": "vpc-2"})
            assert cloud(store).by("subnet", "VpcId", "vpc-1") == []
            work = cloud(store)
            work.delete("subnet", "subnet-1")
            assert work.by("subnet", "VpcId", "vpc-2") == []
            await work.commit(store)
            assert cloud(store).by("subnet", "VpcId", "vpc-2") == []

    run(test)


@pytest.mark.parametrize("kind_of_store", ["embedded", "nats"])  # the memory store forgets, on purpose
def test_what_was_committed_is_there_after_a_restart(where: str, tmp_path: Path) -> None:
    async def test() -> None:
        async with opened(where, tmp_path) as store:
            for n in (3, 1, 2):
                await put(store, "vpc", f"vpc-{n}", {"n": n})
            await put(store, "vpc", "vpc-3", {"n": 33})
            work = cloud(store)
            work.delete("vpc", "vpc-1")
            work.put("odd kind of", "an id: with/odd=signs.ü", {"x": 1})
            await work.commit(store)
            before = contents(store)
        async with opened(where, tmp_path) as store:
            assert contents(store) == before

    run(test)


def test_a_commit_larger_than_a_message_is_kept_whole(where: str, tmp_path: Path) -> None:
    async def test() -> None:
        async with opened(where, tmp_path) as store:
            work = cloud(store)
            for n in range(30):
                work.put("vpc", f"vpc-{n}", {"noise": secrets.token_hex(100_000)})
            await work.commit(store)
            before = contents(store)
        if where != "memory":
            async with opened(where, tmp_path) as store:
                assert contents(store) == before

    run(test)


# --- the embedded store's own ---


def test_writers_that_share_a_sync_are_kept_in_the_order_they_came(tmp_path: Path) -> None:
    async def test() -> None:
        async with opened("embedded", tmp_path) as store:
            for id in ("stays", "goes", "comes back"):
                await put(store, "vpc", id, {"n": 0})
            orders = [("goes", None), ("comes back", None), ("comes back", {"n": 1}), ("new", {"n": 2})]
            orders += [("short-lived", {"n": 3}), ("short-lived", None), ("stays", {"n": 4}), ("stays", {"n": 5})]
            changes = [Change(FIRST_ACCOUNT, REGION, "vpc", id, record) for id, record in orders]
            await asyncio.gather(*(store.commit([change], lambda: True) for change in changes))
            left = {row[3]: row[4] for row in contents(store)}
            assert left == {"stays": {"n": 5}, "comes back": {"n": 1}, "new": {"n": 2}}
        async with opened("embedded", tmp_path) as store:
            assert {row[3]: row[4] for row in contents(store)} == left

    run(test)


def test_a_journal_that_was_folded_reads_as_before(tmp_path: Path) -> None:
    async def test() -> None:
        async with opened("embedded", tmp_path) as store:
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
        async with opened("embedded", tmp_path) as store:
            assert contents(store) == before

    run(test)


def test_a_journal_that_can_not_be_folded_yet_keeps_what_it_has(tmp_path: Path, monkeypatch) -> None:
    async def test() -> None:
        async with opened("embedded", tmp_path) as store:
            store.fold_after = 2
            with monkeypatch.context() as patched:
                patched.setattr(embedded, "_PUT", "INSERT INTO nowhere VALUES (?, ?, ?, ?, ?)")
                for n in range(3):
                    await put(store, "vpc", f"vpc-{n}", {"n": n})
            assert entries_of_the_journal(tmp_path) == 3
            await put(store, "vpc", "vpc-3", {"n": 3})
            assert entries_of_the_journal(tmp_path) == 0
            before = contents(store)
        async with opened("embedded", tmp_path) as store:
            assert contents(store) == before

    run(test)


def entries_of_the_journal(folder: Path) -> int:
    with closing(sqlite3.connect(folder / "hive.db")) as db, closing(Journal(folder / "hive.db.journal")) as kept:
        return len(kept.read(*db.execute("SELECT number FROM folded").fetchone()))


def test_a_folder_whose_journal_was_still_a_table_is_taken_over(tmp_path: Path) -> None:
    async def test() -> None:
        async with opened("embedded", tmp_path) as store:
            await put(store, "vpc", "vpc-1", {"n": 1})
        with closing(sqlite3.connect(tmp_path / "hive.db", isolation_level=None)) as db:
            db.execute("CREATE TABLE journal (number INTEGER PRIMARY KEY, changes TEXT NOT NULL)")
            rows = [[FIRST_ACCOUNT, REGION, "vpc", "vpc-2", {"n": 2}], [FIRST_ACCOUNT, REGION, "vpc", "vpc-1", None]]
            db.executemany("INSERT INTO journal (changes) VALUES (?)", [(json.dumps([row]),) for row in rows])
        for _ in range(2):
            async with opened("embedded", tmp_path) as store:
                assert [row[3] for row in contents(store)] == ["vpc-2"]

    run(test)


def test_a_batch_that_the_journal_has_no_room_for_is_kept_too(tmp_path: Path, monkeypatch) -> None:
    async def test() -> None:
        monkeypatch.setattr(journal, "SIZE", 1000)
        async with opened("embedded", tmp_path) as store:
            for n in range(12):
                await put(store, "vpc", f"vpc-{n}", {"n": "x" * 100 * n})
            before = contents(store)
        async with opened("embedded", tmp_path) as store:
            assert contents(store) == before
            assert len(before) == 12

    run(test)


def test_a_second_process_on_the_same_file_is_refused(tmp_path: Path) -> None:
    async def test() -> None:
        async with opened("embedded", tmp_path):
            with pytest.raises(StoreFailed, match="another emulator is using .*--data-dir"):
                await make_store("embedded", tmp_path).open()

    run(test)


def test_when_the_disk_refuses_the_state_shows_what_the_disk_has(tmp_path: Path) -> None:
    async def test() -> None:
        async with opened("embedded", tmp_path) as store:
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
        async with opened("embedded", tmp_path) as store:
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
        async with opened("embedded", tmp_path) as store:
            records = {"fine": {"n": 1}, "odd": {"n": object()}}
            changes = [Change(FIRST_ACCOUNT, REGION, "vpc", id, record) for id, record in records.items()]
            with pytest.raises(TypeError):
                await store.commit(changes, lambda: True)
            await store.settled()
            await put(store, "vpc", "next", {"n": 2})
            assert [row[3] for row in contents(store)] == ["next"]
        async with opened("embedded", tmp_path) as store:
            assert [row[3] for row in contents(store)] == ["next"]

    run(test)


def test_a_write_that_fails_in_an_unforeseen_way_is_told_to_who_waits(tmp_path: Path, monkeypatch) -> None:
    async def test() -> None:
        async with opened("embedded", tmp_path) as store:
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


# --- the NATS store's own ---


@pytest.fixture
def clean_nats(nats_url: str) -> Iterator[str]:
    yield nats_url
    asyncio.run(forget_streams(nats_url))


def test_a_write_acknowledged_by_one_process_is_read_by_the_other(clean_nats: str, tmp_path: Path) -> None:
    async def test() -> None:
        async with opened(clean_nats, tmp_path) as one, opened(clean_nats, tmp_path) as other:
            for n in range(20):
                await put(one, "vpc", f"vpc-{n}", {"n": n})
                await other.catch_up()
                assert cloud(other).get("vpc", f"vpc-{n}") == {"n": n}
                await put(other, "vpc", f"vpc-{n}", {"n": -n})
                await one.catch_up()
                assert cloud(one).get("vpc", f"vpc-{n}") == {"n": -n}

    run(test)


def test_two_processes_that_count_lose_nothing(clean_nats: str, tmp_path: Path) -> None:
    async def count(store: Store) -> None:
        for _ in range(40):
            while True:
                await store.catch_up()
                work = cloud(store)
                n = (work.get("meta", "counter") or {"n": 0})["n"]
                work.put("meta", "counter", {"n": n + 1})
                try:
                    await work.commit(store)
                    break
                except Conflict:
                    continue

    async def test() -> None:
        async with opened(clean_nats, tmp_path) as one, opened(clean_nats, tmp_path) as other:
            await asyncio.gather(count(one), count(one), count(other), count(other))
            await one.catch_up()
            await other.catch_up()
            assert contents(one) == contents(other)
            assert cloud(one).get("meta", "counter") == {"n": 160}

    run(test)


def test_buckets_hold_each_record_as_json_under_account_region_and_id(clean_nats: str, tmp_path: Path) -> None:
    async def test() -> None:
        async with opened(clean_nats, tmp_path) as store:
            await put(store, "vpc", "vpc-1", {"VpcId": "vpc-1"})
            last = await store._last()
            while await store._buckets.carried_over() < last:
                await asyncio.sleep(0.01)
            bucket = await store._js.key_value("hive-vpc")
            entry = await bucket.get(f"{FIRST_ACCOUNT}.{REGION}.vpc-1")
            assert entry.value == b'{"VpcId": "vpc-1"}'

    run(test)


def test_a_late_carrier_does_not_put_an_old_value_over_a_new_one(clean_nats: str, tmp_path: Path) -> None:
    async def test() -> None:
        async with opened(clean_nats, tmp_path) as store:
            await put(store, "vpc", "vpc-1", {"n": 1})
            await put(store, "vpc", "vpc-1", {"n": 2})
            await put(store, "vpc", "vpc-2", {"n": 1})
            work = cloud(store)
            work.delete("vpc", "vpc-2")
            await work.commit(store)
            while await store._buckets.carried_over() < await store._last():
                await asyncio.sleep(0.01)
            for number, id in ((1, "vpc-1"), (3, "vpc-2")):
                await store._buckets._write(number, 0, Change(FIRST_ACCOUNT, REGION, "vpc", id, {"n": 1}))
            changes = await store._buckets.read()
            assert [(change.id, change.record) for change in changes] == [("vpc-1", {"n": 2})]

    run(test)


def test_a_process_that_missed_a_dropped_part_of_the_journal_reads_the_buckets(
    clean_nats: str, tmp_path: Path
) -> None:
    async def test() -> None:
        async with opened(clean_nats, tmp_path) as store:
            for n in range(10):
                await put(store, "vpc", f"vpc-{n}", {"n": n})
            while await store._buckets.carried_over() < await store._last():
                await asyncio.sleep(0.01)
            await store._js.purge_stream("hive-journal", seq=9)
            before = contents(store)
            store.state.clear()
            store._seen = 2
            await store.catch_up()
            assert contents(store) == before
            async with opened(clean_nats, tmp_path) as newcomer:
                assert contents(newcomer) == before

    run(test)


def test_a_record_that_nats_can_not_take_is_refused(clean_nats: str, tmp_path: Path) -> None:
    async def test() -> None:
        async with opened(clean_nats, tmp_path) as store:
            with pytest.raises(ApiError, match="RequestEntityTooLarge"):
                await put(store, "vpc", "vpc-1", {"noise": secrets.token_hex(1_000_000)})
            assert contents(store) == []

    run(test)


def test_no_server_is_said_with_its_address(tmp_path: Path) -> None:
    async def test() -> None:
        with pytest.raises(StoreFailed, match="no NATS server at nats://127.0.0.1:1"):
            await make_store("nats://127.0.0.1:1", tmp_path).open()

    run(test)


def test_an_unknown_store_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="expected embedded, memory or nats://"):
        make_store("redis", tmp_path)
