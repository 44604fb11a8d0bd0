"""The interface of every store.

1. All reads are served from ``state``, in memory; a store's own business is to keep and to share it.
2. ``commit`` writes several records at once or none, and only if nothing that the writer saw has changed.
3. When ``commit`` has returned, the change survives ``kill -9`` (memory store aside).
4. ``catch_up`` returns when everything that any writer has had acknowledged is in ``state``.
5. ``settled`` returns when everything that ``state`` shows is kept, so that no answer tells of a change
   which a crash could still take back.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple, Protocol

from hive_emulator.store.state import State


def without_password(url: str) -> str:
    """``nats://user:secret@host:4222`` as it may be shown: without user and secret."""
    scheme, separator, rest = url.partition("://")
    return f"{scheme}{separator}{rest.rpartition('@')[2]}"


class Change(NamedTuple):
    """One record to write, or to delete when ``record`` is None."""

    account: str
    region: str
    kind: str
    id: str
    record: dict[str, Any] | None


class Conflict(Exception):
    """Another writer changed what this one had seen: run again."""


class StoreFailed(Exception):
    """The store can't write (disk full, server gone). Nothing of the commit is kept."""


class Store(Protocol):
    """See the module's text."""

    state: State
    shared: bool  # other processes may be writing to it, now

    async def open(self) -> None: ...

    async def catch_up(self) -> None: ...

    async def settled(self) -> None: ...

    def commit(self, changes: Sequence[Change], unchanged: Callable[[], bool]) -> Awaitable[None]:
        """Write ``changes`` all at once; ``Conflict`` if ``unchanged()`` is false at that moment."""

    async def close(self) -> None: ...
