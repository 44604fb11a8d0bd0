"""A unit of work: staged writes are seen by it alone, indexes include them, stored records can't be changed."""

from __future__ import annotations

import asyncio
import copy
import json

import pytest

from hive_emulator.cloud import Cloud
from hive_emulator.config import FIRST_ACCOUNT
from hive_emulator.store.memory import MemoryStore
from hive_emulator.store.state import Record


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


def cloud(store: MemoryStore, account: str = FIRST_ACCOUNT) -> Cloud:
    return Cloud(store.state, account, "r1")


def commit(store: MemoryStore, work: Cloud) -> None:
    asyncio.run(work.commit(store))


def test_staged_writes_are_seen_by_their_own_unit_only(store: MemoryStore) -> None:
    work = cloud(store)
    work.put("vpc", "vpc-1", {"n": 1})
    assert work.get("vpc", "vpc-1") == {"n": 1}
    assert work.all("vpc") == [{"n": 1}]
    assert cloud(store).all("vpc") == []
    commit(store, work)
    assert cloud(store).all("vpc") == [{"n": 1}]


def test_a_staged_deletion_hides_the_record(store: MemoryStore) -> None:
    work = cloud(store)
    work.put("vpc", "vpc-1", {"n": 1})
    commit(store, work)
    work = cloud(store)
    work.delete("vpc", "vpc-1")
    assert work.get("vpc", "vpc-1") is None
    assert work.all("vpc") == []
    work.put("vpc", "vpc-1", {"n": 2})
    assert work.all("vpc") == [{"n": 2}]


def test_an_index_has_staged_records_and_not_those_that_moved_away(store: MemoryStore) -> None:
    work = cloud(store)
    for n in (1, 2):
        work.put("subnet", f"subnet-{n}", {"VpcId": "vpc-1", "n": n})
    commit(store, work)
    work = cloud(store)
    work.put("subnet", "subnet-1", {"VpcId": "vpc-2", "n": 1})
    work.put("subnet", "subnet-3", {"VpcId": "vpc-1", "n": 3})
    assert [record["n"] for record in work.by("subnet", "VpcId", "vpc-1")] == [2, 3]
    assert [record["n"] for record in work.by("subnet", "VpcId", "vpc-2")] == [1]
    assert work.by("subnet", "VpcId", "vpc-3") == []


def test_a_field_without_an_index_is_a_mistake(store: MemoryStore) -> None:
    with pytest.raises(KeyError):
        cloud(store).by("vpc", "Colour", "red")


def test_a_stored_record_can_not_be_changed_only_copied(store: MemoryStore) -> None:
    work = cloud(store)
    record = work.put("vpc", "vpc-1", {"n": 1, "Tags": []})
    for change in (
        lambda: record.update(n=2),
        lambda: record.pop("n"),
        lambda: record.setdefault("m", 1),
        lambda: record.__setitem__("n", 2),
        lambda: record.__delitem__("n"),
        lambda: record.clear(),
    ):
        with pytest.raises(TypeError, match="read-only: build a new dict"):
            change()
    for copied in ({**record}, dict(record), record.copy(), copy.deepcopy(record), json.loads(json.dumps(record))):
        assert type(copied) is dict
        copied["n"] = 2
    assert record == {"n": 1, "Tags": []}
    assert type(record) is Record


def test_reading_nothing_and_finding_something_later_is_a_change(store: MemoryStore) -> None:
    work = cloud(store)
    assert work.get("vpc", "vpc-1") is None
    assert work.unchanged()
    other = cloud(store)
    other.put("vpc", "vpc-1", {})
    commit(store, other)
    assert not work.unchanged()
