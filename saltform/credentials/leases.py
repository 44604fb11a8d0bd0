"""Leases: kept alive while they are used, given back afterwards, and on record in between.

1. A lease is put on record the moment it is there, and taken off once it is revoked. Only its id is kept.
2. One thread, started with the first lease, renews each when half of its time is over. One that can't be
   renewed any more is left to end, and is fetched anew for the next process that needs it.
3. What a dead run left on record is revoked by the next one.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import NamedTuple, Protocol

from saltform.credentials.source import Lease
from saltform.errors import SaltformError


class LeaseRecord(NamedTuple):
    """What is kept of a lease: never its values."""

    id: str
    run: str
    component: str


class LeaseLog(Protocol):
    """Where leases are on record: the run log, or its twin in memory."""

    def add(self, id: str, run: str, component: str) -> None: ...

    def remove(self, id: str) -> None: ...

    def dangling(self) -> list[LeaseRecord]:
        """Leases of runs that are dead."""
        ...


class MemoryLeaseLog:
    """The twin: every lease of a run that isn't in `alive` is dangling."""

    def __init__(self, alive: tuple[str, ...] = ()) -> None:
        self.alive = set(alive)
        self.records: dict[str, LeaseRecord] = {}

    def add(self, id: str, run: str, component: str) -> None:
        self.records[id] = LeaseRecord(id, run, component)

    def remove(self, id: str) -> None:
        self.records.pop(id, None)

    def dangling(self) -> list[LeaseRecord]:
        return [record for record in self.records.values() if record.run not in self.alive]


class LockLease:
    """A lease that is in use."""

    def __init__(self, lease: Lease, renew: Callable[[Lease], Lease], now: float) -> None:
        self.first = lease.seconds
        self.trouble = ""  # why the last renewal failed
        self._renew = renew
        self.start(lease, now)

    def start(self, lease: Lease, now: float) -> None:
        self.lease = lease
        self.ends = now + lease.seconds
        self.due = now + lease.seconds / 2

    def left(self, now: float) -> float:
        return self.ends - now

    def renewed(self, clock: Callable[[], float]) -> bool:
        """Renew it. Is it worth coming back to?"""
        try:
            lease = self._renew(self.lease)
        except SaltformError as error:
            self.trouble = error.summary
            self.due = clock() + max(1.0, self.left(clock()) / 2)
            return self.due < self.ends
        self.trouble = ""
        self.start(lease, clock())
        return lease.renewable and lease.seconds >= 1


class Keeper:
    """The thread that renews. It has nothing to do, and isn't started, while nothing is leased."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self._held: list[LockLease] = []
        self._wake = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closed = False

    def hold(self, lease: Lease, renew: Callable[[Lease], Lease]) -> LockLease:
        held = LockLease(lease, renew, self.clock())
        if lease.renewable and lease.seconds > 0:
            with self._wake:
                self._held.append(held)
                if self._thread is None:
                    self._thread = threading.Thread(target=self._run, name="lease keeper", daemon=True)
                    self._thread.start()
                self._wake.notify()
        return held

    def drop(self, held: LockLease) -> None:
        with self._wake:
            self._held = [other for other in self._held if other is not held]
            self._wake.notify()

    def close(self) -> None:
        with self._wake:
            self._closed = True
            self._wake.notify()
        if self._thread is not None:
            self._thread.join(timeout=30)

    def _run(self) -> None:
        while due := self._next_due():
            for held in due:
                if not held.renewed(self.clock):
                    self.drop(held)

    def _next_due(self) -> list[LockLease]:
        """Wait for what is due; nothing means that it is over."""
        with self._wake:
            while not self._closed:
                now = self.clock()
                if due := [held for held in self._held if held.due <= now]:
                    return due
                self._wake.wait(min((held.due - now for held in self._held), default=None))
            return []
