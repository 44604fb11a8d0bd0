"""A store that forgets at exit: for tests and for trying things."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hive_emulator.store.base import Change, Conflict
from hive_emulator.store.state import State


class MemoryStore:
    """The state and nothing else."""

    shared = False

    def __init__(self) -> None:
        self.state = State()

    async def open(self) -> None:
        pass

    async def catch_up(self) -> None:
        pass

    async def settled(self) -> None:
        pass

    async def commit(self, changes: Sequence[Change], unchanged: Callable[[], bool]) -> None:
        if not unchanged():
            raise Conflict
        self.state.apply(changes)

    async def close(self) -> None:
        pass
