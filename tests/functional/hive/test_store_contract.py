"""What every store promises, over memory, SQLite and a real NATS server."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest
from hive_stores import REGION, cloud, contents, context, put, run

from hive_emulator.config import FIRST_ACCOUNT
from hive_emulator.errors import ApiError
from hive_emulator.store import make_store
from hive_emulator.store.base import Change, Conflict, Store, StoreFailed
from hive_emulator.testing import running_nats


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


def test_a_committed_record_is_read_back_as_it_was(where: str, tmp_path: Path) -> None:
    record = {"VpcId": "vpc-1", "Tags": [{"Key": "ключ", "Value": ""}], "_n": 1.5, "Deep": {"a": [True, None]}}

    async def test() -> None:
        async with context(where, tmp_path) as store:
            await put(store, "vpc", "vpc-1", record)
            assert cloud(store).get("vpc", "vpc-1") == record
            assert cloud(store).all("vpc") == [record]

    run(test)


def test_accounts_and_regions_are_kept_apart(where: str, tmp_path: Path) -> None:
    async def test() -> None:
        async with context(where, tmp_path) as store:
            await put(store, "vpc", "vpc-1", {"n": 1})
            assert cloud(store, account="000000000002").all("vpc") == []
            assert cloud(store, region="eu-west-1").get("vpc", "vpc-1") is None

    run(test)


def test_records_come_in_creation_order_also_after_an_update(where: str, tmp_path: Path) -> None:
    async def test() -> None:
        async with context(where, tmp_path) as store:
            for n in (3, 1, 2):
                await put(store, "vpc", f"vpc-{n}", {"n": n})
            await put(store, "vpc", "vpc-3", {"n": 33})
            assert [record["n"] for record in cloud(store).all("vpc")] == [33, 1, 2]

    run(test)


def test_the_slower_of_two_writers_of_one_record_gets_a_conflict(where: str, tmp_path: Path) -> None:
    async def test() -> None:
        async with context(where, tmp_path) as store:
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
        async with context(where, tmp_path) as store:
            slow = cloud(store)
            assert slow.all("subnet") == []
            slow.put("subnet", "subnet-2", {"CidrBlock": "10.0.0.0/24"})
            await put(store, "subnet", "subnet-1", {"CidrBlock": "10.0.0.0/24"})
            with pytest.raises(Conflict):
                await slow.commit(store)

    run(test)


def test_writers_of_different_records_do_not_conflict(where: str, tmp_path: Path) -> None:
    async def test() -> None:
        async with context(where, tmp_path) as store:
            await asyncio.gather(*(put(store, "vpc", f"vpc-{n}", {"n": n}) for n in range(50)))
            assert len(cloud(store).all("vpc")) == 50

    run(test)


def test_a_conflict_leaves_nothing_of_the_commit_behind(where: str, tmp_path: Path) -> None:
    async def test() -> None:
        async with context(where, tmp_path) as store:
            with pytest.raises(Conflict):
                change = Change(FIRST_ACCOUNT, REGION, "vpc", "vpc-1", {})
                await store.commit([change], lambda: False)
            assert contents(store) == []

    run(test)


def test_an_index_follows_writes_and_deletes(where: str, tmp_path: Path) -> None:
    async def test() -> None:
        async with context(where, tmp_path) as store:
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
        async with context(where, tmp_path) as store:
            for n in (3, 1, 2):
                await put(store, "vpc", f"vpc-{n}", {"n": n})
            await put(store, "vpc", "vpc-3", {"n": 33})
            work = cloud(store)
            work.delete("vpc", "vpc-1")
            work.put("odd kind of", "an id: with/odd=signs.ü", {"x": 1})
            await work.commit(store)
            before = contents(store)
        async with context(where, tmp_path) as store:
            assert contents(store) == before

    run(test)


def test_a_commit_larger_than_a_message_is_kept_whole(where: str, tmp_path: Path) -> None:
    async def test() -> None:
        async with context(where, tmp_path) as store:
            work = cloud(store)
            for n in range(30):
                work.put("vpc", f"vpc-{n}", {"noise": secrets.token_hex(100_000)})
            await work.commit(store)
            before = contents(store)
        if where != "memory":
            async with context(where, tmp_path) as store:
                assert contents(store) == before

    run(test)


# --- the NATS store's own ---


@pytest.fixture
def clean_nats(nats_url: str) -> Iterator[str]:
    yield nats_url
    asyncio.run(forget_streams(nats_url))


def test_a_write_acknowledged_by_one_process_is_read_by_the_other(clean_nats: str, tmp_path: Path) -> None:
    async def test() -> None:
        async with context(clean_nats, tmp_path) as one, context(clean_nats, tmp_path) as other:
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
        async with context(clean_nats, tmp_path) as one, context(clean_nats, tmp_path) as other:
            await asyncio.gather(count(one), count(one), count(other), count(other))
            await one.catch_up()
            await other.catch_up()
            assert contents(one) == contents(other)
            assert cloud(one).get("meta", "counter") == {"n": 160}

    run(test)


def test_buckets_hold_each_record_as_json_under_account_region_and_id(clean_nats: str, tmp_path: Path) -> None:
    async def test() -> None:
        async with context(clean_nats, tmp_path) as store:
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
        async with context(clean_nats, tmp_path) as store:
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
        async with context(clean_nats, tmp_path) as store:
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
            async with context(clean_nats, tmp_path) as newcomer:
                assert contents(newcomer) == before

    run(test)


def test_a_record_that_nats_can_not_take_is_refused(clean_nats: str, tmp_path: Path) -> None:
    async def test() -> None:
        async with context(clean_nats, tmp_path) as store:
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
