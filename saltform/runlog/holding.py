"""One run at a time for each component, on this master and on all that share its run log.

1. On this host a lock is an flock (`locks.py`) that terraform processes inherit: while one of them lives, nobody
   takes its component over.
2. With a run log for several masters, it is an advisory lock of our connection as well. Terraform inherits that
   connection's socket, too: after a `kill -9` of the runner the lock is held until the last terraform has ended.
3. A row says in words who holds it. Each holder adds one to its number, so it only grows. A row that still names a
   run when the lock is free is a dead holder's: the lock is taken over, and that is said.
4. A holder that lost its lock (its connection broke, the lock's file was removed) finds out: `check` asks before each
   process, and a write about the component counts only with the row's number (`log.py`).
5. Who may wait takes a ticket. The lowest ticket of a living run is next; who can't wait doesn't push in.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from saltform.errors import Cancelled, Locked, LostLock, RunLogError
from saltform.layout import Layout
from saltform.runlog import locks
from saltform.runlog.database import Database
from saltform.runlog.moments import now

LOOK_EVERY = 0.2  # seconds between two looks of one who waits


@dataclass(frozen=True)
class Patience:
    """How long a caller waits for a lock, what ends that, and who hears for whom it waits."""

    seconds: float = 0.0
    cancel: threading.Event = field(default_factory=threading.Event)
    tell: Callable[[str], None] = lambda _: None


@dataclass(frozen=True)
class Held:
    """A lock while it is held."""

    number: int
    descriptors: tuple[int, ...]  # for processes to inherit
    check: Callable[[], None]  # raises LostLock
    since: str
    left: Mapping[str, Any] | None = None  # the row of a holder that died with it: of another run, or of this one
    taken_over: str = ""  # from which other run, in words
    waited: bool = False


class Locks:
    """The locks of components and runs."""

    def __init__(self, database: Database, layout: Layout) -> None:
        self._database = database
        self._layout = layout

    # --- runs -----------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def hold_run(self, run: str) -> Iterator[Callable[[], None]]:
        """For as long as a run is alive. Yields a check that raises LostLock."""
        with locks.hold(self._alive(run), {"run": run}, f"run {run}"):
            session = self._database.try_lock(_key("run", run))
            if session is None:
                raise Locked(f"run {run} is still running", "on another master", "salt-run infrastructure.history")

            def check() -> None:
                if self._database.session != session:
                    raise LostLock(
                        f"run {run} starts nothing new",
                        "the connection to the run log broke, so that others take this run for dead",
                        f"salt-run infrastructure.resume {run}",
                    )

            try:
                yield check
            finally:
                self._database.unlock(_key("run", run), session)

    def run_alive(self, run: str) -> bool:
        """Whether its process is still there, on whatever master: it holds a lock for as long as it lives."""
        return self.is_here(run) or bool(self._database.locked([_key("run", run)]))

    def is_here(self, run: str) -> bool:
        """Whether its process is on this host and uses this state folder."""
        return locks.holder_of(self._alive(run)) is not None

    def beat(self, run: str) -> None:
        """Say that the run is still at it; a dead one's last word stays."""
        moment, mine = now(), (run, socket.gethostname(), os.getpid())
        for said in (
            "UPDATE locks SET heartbeat = ? WHERE run = ? AND host = ? AND process = ?",
            "UPDATE runs SET heartbeat = ? WHERE id = ? AND host = ? AND pid = ?",
        ):
            self._database.write(said, (moment, *mine), lasting=False)

    def _alive(self, run: str) -> Any:
        return self._layout.run(run) / "alive"

    # --- components -----------------------------------------------------------------------------------------

    def holders(self, environment: str) -> dict[str, dict[str, Any]]:
        """Who holds what in an environment at this moment."""
        rows = {
            row["component"]: {name: row[name] for name in ("run", "author", "since", "host", "process", "heartbeat")}
            for row in map(dict, self._database.rows("SELECT * FROM locks WHERE environment = ?", (environment,)))
        }
        held = {}
        for path in sorted(self._layout.component_lock(environment, "any").parent.glob("*.lock")):
            holder = locks.holder_of(path)
            if holder is not None:
                row = rows.get(path.stem, {})
                held[path.stem] = row if row.get("run") and row["run"] == holder.get("run") else holder
        keys = {_key(environment, name): name for name, row in rows.items() if row["run"] and name not in held}
        held |= {keys[key]: rows[keys[key]] for key in self._database.locked(list(keys))}
        return dict(sorted(held.items()))

    def waiting(self, environment: str) -> dict[str, list[str]]:
        """The living runs in line for each component, the next one first."""
        line: dict[str, list[str]] = {}
        rows = self._database.rows("SELECT * FROM lock_queue WHERE environment = ? ORDER BY ticket", (environment,))
        for row in rows:
            if self.run_alive(row["run"]):
                line.setdefault(row["component"], []).append(row["run"])
        return line

    def holder(self, environment: str, component: str) -> dict[str, Any] | None:
        path = self._layout.component_lock(environment, component)
        here = locks.holder_of(path)
        if here is not None or not self._database.locked([_key(environment, component)]):
            return here
        return self._row(environment, component)

    @contextlib.contextmanager
    def hold(
        self, environment: str, component: str, run: str, author: str, patience: Patience | None = None
    ) -> Iterator[Held]:
        """Hold a component's lock, or say who does."""
        patience = patience or Patience()
        holder = {"run": run, "author": author, "since": now()}
        with contextlib.ExitStack() as stack:
            began = time.monotonic()
            line = stack.enter_context(contextlib.ExitStack())
            ticket: int | None = None
            while True:
                try:
                    self._check_line(environment, component, ticket)
                    held = stack.enter_context(self._taken(environment, component, holder, waited=ticket is not None))
                    break
                except Locked as error:
                    if time.monotonic() - began >= patience.seconds:
                        if patience.seconds:
                            error.detail += f"; waited for it for {patience.seconds:g} s"
                        raise
                    patience.tell(f"waiting: {error.detail}")
                if ticket is None:
                    ticket = line.enter_context(self._queued(environment, component, holder))
                if patience.cancel.wait(LOOK_EVERY):
                    raise Cancelled(
                        f"{environment}/{component} was not started", "cancelled while waiting for its lock"
                    )
            line.close()
            yield held

    @contextlib.contextmanager
    def _taken(self, environment: str, component: str, holder: Mapping[str, Any], waited: bool) -> Iterator[Held]:
        noun, path = f"{environment}/{component}", self._layout.component_lock(environment, component)
        database, key, holder = self._database, _key(environment, component), {**holder, "since": now()}
        with locks.hold(path, holder, noun) as descriptor:
            session = database.try_lock(key)
            if session is None:
                raise locks.locked(noun, self._row(environment, component) or {})
            try:
                with self._named(environment, component, holder) as (number, dead):

                    def check() -> None:
                        try:
                            row = self._row(environment, component) or {}
                        except RunLogError as error:
                            if not database.shared:
                                raise
                            raise _lost(
                                noun, f"the connection to the run log broke ({error.detail})", holder
                            ) from None
                        if database.session != session:
                            raise _lost(noun, "the connection to the run log broke", holder)
                        if row.get("number") != number:
                            raise _lost(noun, f"{_words(row)} has it now", holder)

                    over = _words(dead) if dead is not None and dead["run"] != holder["run"] else ""
                    yield Held(number, (descriptor, *database.sockets()), check, holder["since"], dead, over, waited)
            finally:
                database.unlock(key, session)

    @contextlib.contextmanager
    def _named(
        self, environment: str, component: str, holder: Mapping[str, Any]
    ) -> Iterator[tuple[int, dict[str, Any] | None]]:
        """The row names us for as long as we hold the lock. Yields its number, and whom we took it over from."""
        before = self._row(environment, component)
        number = before["number"] + 1 if before else 1
        values = {
            "environment": environment,
            "component": component,
            "number": number,
            **holder,
            "host": socket.gethostname(),
            "process": os.getpid(),
            "heartbeat": now(),
        }
        changed = ", ".join(f"{name} = excluded.{name}" for name in values)
        self._database.write(
            f"INSERT INTO locks ({', '.join(values)}) VALUES ({', '.join('?' * len(values))})"  # noqa: S608
            f" ON CONFLICT (environment, component) DO UPDATE SET {changed}",
            tuple(values.values()),
            lasting=self._database.shared,  # a database that restarts must not give a number twice
        )
        try:
            yield number, before if before and before["run"] else None
        finally:
            with contextlib.suppress(RunLogError):  # then the next holder takes it for a dead one's, and says so
                self._database.write(
                    "UPDATE locks SET run = '' WHERE environment = ? AND component = ? AND number = ?",
                    (environment, component, number),
                    lasting=False,
                )

    def _row(self, environment: str, component: str) -> dict[str, Any] | None:
        rows = self._database.rows(
            "SELECT * FROM locks WHERE environment = ? AND component = ?", (environment, component)
        )
        return dict(rows[0]) if rows else None

    # --- the queue ------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _queued(self, environment: str, component: str, holder: Mapping[str, Any]) -> Iterator[int]:
        mine = (environment, component, holder["run"])
        added = 0
        while not added:  # another got the same number this very moment
            added = self._database.write(
                "INSERT INTO lock_queue (environment, component, ticket, run, author, host, since)"
                " SELECT ?, ?, coalesce(max(ticket), 0) + 1, ?, ?, ?, ? FROM lock_queue"
                " WHERE environment = ? AND component = ? ON CONFLICT DO NOTHING",
                (*mine, holder["author"], socket.gethostname(), holder["since"], environment, component),
            )
        rows = self._database.rows(
            "SELECT ticket FROM lock_queue WHERE environment = ? AND component = ? AND run = ?", mine
        )
        try:
            yield rows[0]["ticket"]
        finally:
            with contextlib.suppress(RunLogError):  # then whoever comes next finds that this run is dead
                self._database.write(
                    "DELETE FROM lock_queue WHERE environment = ? AND component = ? AND run = ?", mine
                )

    def _check_line(self, environment: str, component: str, ticket: int | None) -> None:
        """Whoever has a lower ticket comes first, if it is alive; the tickets of the dead are thrown away."""
        rows = self._database.rows(
            "SELECT * FROM lock_queue WHERE environment = ? AND component = ? ORDER BY ticket",
            (environment, component),
        )
        for row in map(dict, rows):
            if ticket is not None and row["ticket"] >= ticket:
                return
            if self.run_alive(row["run"]):
                holder = self._row(environment, component)
                error = locks.locked(f"{environment}/{component}", holder if holder and holder["run"] else row)
                error.detail += f"; run {row['run']} is before this one in line"
                raise error
            self._database.write(
                "DELETE FROM lock_queue WHERE environment = ? AND component = ? AND ticket = ?",
                (environment, component, row["ticket"]),
            )


def _key(*names: str) -> int:
    """What an advisory lock is called: a number that fits into 64 bits."""
    return int.from_bytes(hashlib.sha256("/".join(("saltform", *names)).encode()).digest()[:8], "big", signed=True)


def _words(row: Mapping[str, Any]) -> str:
    return (
        f"run {row.get('run') or '(nobody any more)'} ({row.get('author')}, process {row.get('process')} on"
        f" {row.get('host')}, last heartbeat {row.get('heartbeat')})"
    )


def _lost(noun: str, why: str, holder: Mapping[str, Any]) -> LostLock:
    return LostLock(
        f"the lock of {noun} was lost",
        f"{why}; no terraform is started for it any more",
        f"salt-run infrastructure.resume {holder['run']}",
    )
