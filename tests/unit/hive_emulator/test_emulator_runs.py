"""How a behaviour is run: again when another writer was faster, dropped on an error, followed by its jobs."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from hive_emulator.action import Call, action, registry
from hive_emulator.emulator import ATTEMPTS, Emulator
from hive_emulator.errors import ApiError
from hive_emulator.store.base import Change, Conflict
from hive_emulator.store.memory import MemoryStore

PLACE = ("000000000001", "r1")


class BusyStore(MemoryStore):
    """Somebody else is faster the first ``losses`` times."""

    def __init__(self, losses: int) -> None:
        super().__init__()
        self.losses = losses

    async def commit(self, changes: Any, unchanged: Any) -> None:
        if self.losses:
            self.losses -= 1
            self.state.apply([Change(*PLACE, "meta", "other", {"left": self.losses})])
            raise Conflict
        await super().commit(changes, unchanged)


def count(call: Call) -> int:
    n = (call.cloud.get("meta", "n") or {"n": 0})["n"] + 1
    call.cloud.put("meta", "n", {"n": n})
    return n


def test_a_behaviour_is_run_again_until_nobody_was_faster() -> None:
    runs = []

    def work(call: Call) -> int:
        runs.append(call.cloud.get("meta", "other"))
        return count(call)

    emulator = Emulator(BusyStore(losses=2))
    assert asyncio.run(emulator.run(*PLACE, work)) == 1
    assert [seen and seen["left"] for seen in runs] == [None, 1, 0]


def test_after_too_many_lost_races_the_client_is_told_to_come_back() -> None:
    emulator = Emulator(BusyStore(losses=1000))
    with pytest.raises(ApiError) as caught:
        asyncio.run(emulator.run(*PLACE, count))
    assert (caught.value.code, caught.value.status) == ("RequestLimitExceeded", 503)


class SlowStore(MemoryStore):
    """Takes a while to find out that somebody else was faster, as a store over the network does."""

    async def commit(self, changes: Any, unchanged: Any) -> None:
        await asyncio.sleep(0)
        await super().commit(changes, unchanged)


def test_many_writers_of_one_record_all_get_their_turn() -> None:
    emulator = Emulator(SlowStore())

    async def all_at_once() -> list[int]:
        return await asyncio.gather(*(emulator.run(*PLACE, count) for _ in range(3 * ATTEMPTS)))

    assert sorted(asyncio.run(all_at_once())) == list(range(1, 3 * ATTEMPTS + 1))


def test_an_error_drops_what_was_staged_and_what_was_to_follow() -> None:
    emulator = Emulator(MemoryStore())
    followed = []

    async def follow() -> None:
        followed.append(True)

    def fail(call: Call) -> None:
        count(call)
        call.then(follow)
        raise ApiError("Some.Code", "why")

    def succeed(call: Call) -> int:
        call.then(follow)
        return count(call)

    async def test() -> None:
        with pytest.raises(ApiError):
            await emulator.run(*PLACE, fail)
        await emulator.idle()
        assert list(emulator.store.state.everything()) == []
        assert not followed
        assert await emulator.run(*PLACE, succeed) == 1
        await emulator.idle()
        assert followed == [True]

    asyncio.run(test())


def test_a_job_that_fails_is_logged_and_holds_up_nothing(caplog: pytest.LogCaptureFixture) -> None:
    emulator = Emulator(MemoryStore())

    async def fail() -> None:
        raise RuntimeError("the job's own trouble")

    async def test() -> None:
        await emulator.run(*PLACE, lambda call: call.then(fail))
        await emulator.idle()
        await emulator.close()

    asyncio.run(test())
    assert "the job's own trouble" in caplog.text


def test_closing_does_not_wait_for_ever() -> None:
    emulator = Emulator(MemoryStore())

    async def test() -> None:
        await emulator.run(*PLACE, lambda call: call.then(lambda: asyncio.sleep(3600)))
        await asyncio.wait_for(emulator.close(grace=0.05), 60)

    asyncio.run(test())


def test_an_account_is_seeded_once_also_after_a_restart() -> None:
    store = MemoryStore()

    async def test() -> None:
        for _ in range(2):
            emulator = Emulator(store)
            for _ in range(2):
                await emulator.seed(*PLACE)
        vpcs = [row for row in store.state.everything() if row[2] == "vpc"]
        assert len(vpcs) == 1

    asyncio.run(test())


def test_one_action_can_not_have_two_behaviours() -> None:
    from hive_emulator.emulator import load_actions

    load_actions()
    assert ("ec2", "DescribeVpcs") in registry()
    with pytest.raises(ValueError, match="ec2:DescribeVpcs is registered twice"):
        action("DescribeVpcs")(lambda call, params: {})
