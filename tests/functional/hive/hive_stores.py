"""What tests of the stores do again and again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from hive_emulator.cloud import Cloud
from hive_emulator.config import FIRST_ACCOUNT
from hive_emulator.store import make_store
from hive_emulator.store.base import Store

REGION = "ap-southeast-2"


@asynccontextmanager
async def context(where: str, folder: Path):
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
