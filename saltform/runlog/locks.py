"""One run at a time for each component, on this master and on all that share its run log.

1. On this host a lock is an flock (`locks.py`) that terraform processes inherit: while one of them lives, nobody
   takes its component over. Of a holder that was on this host the flock decides alone.
2. With a run log for several masters, it is an advisory lock of our connection as well. Terraform inherits that
   connection's socket, too: after a `kill -9` of the runner the lock is held until the last terraform has ended.
3. A row says in words who holds it. Each holder adds one to its number, the fencing token, so it only grows. The row
   also has a lease, which its holder renews (`keeper.py`). One that names a run is
   alive     while its advisory lock is held or its lease lasts;
   stopping  alive, but its holder could not renew it in time and has interrupted its terraform;
   dead      when the lock is free and the lease is over: then it is taken over, and that is said.
   Both signs are read, and the row is written, in one transaction.
4. A holder that lost its lock finds out: `check` asks before each process, and a write about the component counts
   only with the row's number (`log.py`).
5. Who may wait takes a ticket (`lock_queue.py`).
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import socket
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from saltform.errors import Cancelled, Locked, LostLock, RunLogError
from saltform.layout import Layout
from saltform.process import Lease
from saltform.runlog import flock
from saltform.runlog.database import Database
from saltform.runlog.keeper import Keeper, Token
from saltform.runlog.lock_queue import LockQueue
from saltform.runlog.timestamps import now

if TYPE_CHECKING:
    from saltform.process.open_files import Opener

SESSION_END = 10.0  # seconds that the database gets to end a session
LOOK_EVERY = 0.2  # seconds between two looks of one who waits
SHOWN = ("run", "author", "since", "host", "process", "heartbeat", "state")


@dataclass(frozen=True)
class Patience:
    """How long a caller waits for a lock, what ends that, and who hears for whom it waits."""

    seconds: float = 0.0
    cancel: threading.Event = field(default_factory=threading.Event)
    tell: Callable[[str], None] = lambda _: None


@dataclass(frozen=True)
class LockLease:
    """A lock while it is held."""

    number: int
    descriptors: tuple[int, ...]  # for processes to inherit
    lease: Lease  # that they run under
    check: Callable[[], None]  # raises LostLock
    since: str
    left: Mapping[str, Any] | None = None  # the row of a holder that died with it: of another run, or of this one
    taken_over: str = ""  # from which other run, in words
    waited: bool = False


class Locks:
    """The locks of components and runs."""

    def __init__(self, database: Database, layout: Layout, keeper: Keeper) -> None:
        self._database = database
        self._layout = layout
        self._keeper = keeper
        self._queue = LockQueue(database, self.run_alive)

    # --- runs -----------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def hold_run(self, run: str) -> Iterator[Callable[[], None]]:
        """For as long as a run is alive. Yields a check that raises LostLock."""
        was_here = self._alive(run).exists()  # then the database may not have noticed yet that it died
        with flock.hold(self._alive(run), {"run": run}, f"run {run}"):
            key, deadline = _key("run", run), time.monotonic() + (SESSION_END if was_here else 0.0)
            while not (locked := self._database.try_lock(key)) and time.monotonic() < deadline:
                time.sleep(LOOK_EVERY)
            if not locked:
                raise Locked(f"run {run} is still running", "on another master", "salt-run infrastructure.history")
            try:
                with self._keeper.keeping(run, key):
                    yield lambda: self._check_run(run)
            finally:
                self._database.unlock(key)

    def _check_run(self, run: str) -> None:
        if why := self._keeper.trouble:
            raise LostLock(f"run {run} starts nothing new", why, f"salt-run infrastructure.resume {run}")

    def run_alive(self, run: str) -> bool:
        """Whether its process is still there, on whatever master: it holds a lock for as long as it lives."""
        if not self._database.shared or self._alive(run).exists():  # it was on this host: the flock decides alone
            return self.is_here(run)
        return bool(self._database.locked([_key("run", run)])) or self._renews(run)

    def _renews(self, run: str) -> bool:
        """Whether a run on another host may live, although its connection is gone."""
        living = f"SELECT 1 FROM runs WHERE id = ? AND status = 'running' AND expires > {self._database.after}"  # noqa: S608
        return bool(self._database.rows(living, (run, 0.0)))

    def is_here(self, run: str) -> bool:
        """Whether its process is on this host and uses this state folder."""
        return flock.holder_of(self._alive(run)) is not None

    def beat(self, run: str) -> None:
        """Say that the run is still at it; a dead one's last word stays. Across masters the keeper does."""
        if self._database.shared:
            return
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
        rows = {row["component"]: row for row in self._rows("environment = ?", (environment,))}
        held = {}
        for path in sorted(self._layout.component_lock(environment, "any").parent.glob("*.lock")):
            holder = flock.holder_of(path)
            if holder is not None:
                row = rows.get(path.stem, {})
                held[path.stem] = _shown(row) if row.get("run") and row["run"] == holder.get("run") else holder
        keys = {_key(environment, name): name for name, row in rows.items() if row["run"] and name not in held}
        locked = {keys[key] for key in self._database.locked(list(keys))}
        held |= {name: _shown(rows[name]) for name in keys.values() if name in locked or self._lasts(rows[name])}
        return dict(sorted(held.items()))

    def waiting(self, environment: str) -> dict[str, list[str]]:
        """The living runs in line for each component, the next one first."""
        return self._queue.waiting(environment)

    def holder(self, environment: str, component: str) -> dict[str, Any] | None:
        here = flock.holder_of(self._layout.component_lock(environment, component))
        if here is not None or not self._database.shared:
            return here
        row = self._row(environment, component)
        held = self._database.locked([_key(environment, component)]) or (row and row["run"] and self._lasts(row))
        return row if held else None

    @contextlib.contextmanager
    def hold(
        self, environment: str, component: str, run: str, author: str, patience: Patience | None = None
    ) -> Iterator[LockLease]:
        """Hold a component's lock, or say who does."""
        patience = patience or Patience()
        holder = {"run": run, "author": author, "since": now()}
        with contextlib.ExitStack() as stack:
            began = time.monotonic()
            line = stack.enter_context(contextlib.ExitStack())
            ticket: int | None = None
            while True:
                try:
                    self._queue.check(environment, component, ticket, lambda: self._row(environment, component))
                    held = stack.enter_context(self._taken(environment, component, holder, waited=ticket is not None))
                    break
                except Locked as error:
                    if time.monotonic() - began >= patience.seconds:
                        if patience.seconds:
                            error.detail += f"; waited for it for {patience.seconds:g} s"
                        self._explain(error, environment, component)
                        raise
                    patience.tell(f"waiting: {error.detail}")
                if ticket is None:
                    ticket = line.enter_context(self._queue.ticket(environment, component, holder))
                if patience.cancel.wait(LOOK_EVERY):
                    raise Cancelled(
                        f"{environment}/{component} was not started", "cancelled while waiting for its lock"
                    )
            line.close()
            yield held

    def _explain(self, error: Locked, environment: str, component: str) -> None:
        """Of a lock whose run has ended: which processes keep it, and how to get it back."""
        kept = self.kept_by(environment, component)
        if not kept:
            return
        error.detail += f"; that run has ended, but {', '.join(map(str, kept))} still has its lock"
        if not any(item.is_terraform() for item in kept):
            error.fix = f"salt-run infrastructure.unlock {environment} {component} reason='a process was left behind'"

    @contextlib.contextmanager
    def _taken(
        self, environment: str, component: str, holder: Mapping[str, Any], waited: bool
    ) -> Iterator[LockLease]:
        noun, path = f"{environment}/{component}", self._layout.component_lock(environment, component)
        key, holder = _key(environment, component), {**holder, "since": now()}
        with flock.taken(path, noun) as descriptor:
            token, dead = self._take(environment, component, holder)
            flock.name(descriptor, holder)
            try:
                with self._keeper.keeping(token, key):

                    def check() -> None:
                        self._check(noun, token, holder["run"])

                    if self._database.session != token.session:
                        raise _lost(noun, "the connection to the run log broke", holder["run"])

                    over = _words(dead) if dead is not None and dead["run"] != holder["run"] else ""
                    lease = self._keeper.lease
                    yield LockLease(token.number, (descriptor,), lease, check, holder["since"], dead, over, waited)
            finally:
                self._let_go(token)
                self._database.unlock(key)

    def _take(
        self, environment: str, component: str, holder: Mapping[str, Any]
    ) -> tuple[Token, dict[str, Any] | None]:
        """The row names us from now on. Its token, and whom we took it over from."""
        database, noun, key = self._database, f"{environment}/{component}", _key(environment, component)
        locked = False
        try:
            # Of one master's run log nobody else reads the row while we have the flock.
            with database.transaction() if database.shared else contextlib.nullcontext():
                before = self._row(environment, component, lock=True)
                if before and before["run"] and self._lasts(before):
                    raise flock.locked(noun, before)
                locked = database.try_lock(key)
                if not locked:
                    raise flock.locked(noun, before or {})
                number = before["number"] + 1 if before else 1
                self._name(environment, component, number, holder)
        except BaseException:
            if locked:
                database.unlock(key)
            raise
        return Token(environment, component, number, database.session), before if before and before["run"] else None

    def _name(self, environment: str, component: str, number: int, holder: Mapping[str, Any]) -> None:
        values = {
            "environment": environment,
            "component": component,
            "number": number,
            **holder,
            "host": socket.gethostname(),
            "process": os.getpid(),
            "heartbeat": now(),
            "state": "",
            "expires": self._keeper.dead_after,
        }
        given = ", ".join(self._database.after if name == "expires" else "?" for name in values)
        changed = ", ".join(f"{name} = excluded.{name}" for name in values)
        self._database.write(
            f"INSERT INTO locks ({', '.join(values)}) VALUES ({given})"  # noqa: S608
            f" ON CONFLICT (environment, component) DO UPDATE SET {changed}",
            tuple(values.values()),
            lasting=self._database.shared,  # a database that restarts must not give a number twice
        )

    def _let_go(self, token: Token) -> None:
        with contextlib.suppress(
            RunLogError, LostLock
        ):  # then the next holder takes it for a dead one's, and says so
            self._database.write(
                "UPDATE locks SET run = '' WHERE environment = ? AND component = ? AND number = ?",
                token.row,
                lasting=False,
            )

    def _check(self, noun: str, token: Token, run: str) -> None:
        """Asked before each process. A connection that broke is waited for until the lease runs out."""
        try:
            row = self._row(token.environment, token.component) or {}
        except RunLogError as error:
            if not self._database.shared:
                raise
            raise _lost(noun, f"the connection to the run log broke ({error.detail})", run) from None
        if row.get("number") != token.number:
            raise _lost(noun, f"{_words(row)} has it now", run)
        if why := self._keeper.trouble:
            raise _lost(noun, why, run)

    def _lasts(self, row: Mapping[str, Any]) -> bool:
        """Whether the lease in a row says that its holder lives; of one that was on this host the flock decides."""
        if not self._database.shared or not row["lasts"]:
            return False
        was_here = flock.last_holder(self._layout.component_lock(row["environment"], row["component"]))
        return not _same_holder(row, was_here)

    def _row(self, environment: str, component: str, lock: bool = False) -> dict[str, Any] | None:
        rows = self._rows("environment = ? AND component = ?", (environment, component), lock)
        return rows[0] if rows else None

    def _rows(self, where: str, values: tuple[str, ...], lock: bool = False) -> list[dict[str, Any]]:
        """As they are, and whether their leases last by the database's clock."""
        alone = " FOR UPDATE" if lock and self._database.shared else ""
        asked = f"SELECT *, expires > {self._database.after} AS lasts FROM locks WHERE {where}{alone}"  # noqa: S608
        return [dict(row) for row in self._database.rows(asked, (0.0, *values))]

    # --- what a dead holder left ---------------------------------------------------------------------------

    def kept_by(self, environment: str, component: str) -> list[Opener]:
        """The processes on this host that keep the lock of a run that has ended; nobody when its run lives."""
        from saltform.process.open_files import openers  # walks through all of /proc: for those who ask

        path = self._layout.component_lock(environment, component)
        holder = flock.holder_of(path)
        if holder is None or self.run_alive(str(holder.get("run", ""))):
            return []
        return [item for item in openers(path) if item.known]

    def free(self, environment: str, component: str, binaries: Collection[str]) -> list[Opener]:
        """Take the lock from what a run that has ended left behind on this host; who that was.

        Never from a living run, a terraform or a provider. Whoever is elsewhere is not touched.
        """
        from saltform.runlog.left_behind import judged, swap

        noun, path = f"{environment}/{component}", self._layout.component_lock(environment, component)
        last, key = flock.last_holder(path), _key(environment, component)
        run = str(last.get("run", ""))
        if not run or self.run_alive(run):
            return []
        left = judged(path, noun, run, binaries) if flock.holder_of(path) is not None else []
        if left:
            swap(path, noun, left)
        row = self._row(environment, component)
        if row and _same_holder(row, last) and self._database.end_session(key):
            deadline = time.monotonic() + SESSION_END
            while self._database.locked([key]) and time.monotonic() < deadline:
                time.sleep(LOOK_EVERY / 4)
        return left


def _key(*names: str) -> int:
    """What an advisory lock is called: a number that fits into 64 bits."""
    return int.from_bytes(hashlib.sha256("/".join(("saltform", *names)).encode()).digest()[:8], "big", signed=True)


def _same_holder(row: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return all(row.get(name) == other.get(name) for name in ("run", "host", "process"))


def _shown(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in SHOWN if name != "state" or row["state"]}


def _words(row: Mapping[str, Any]) -> str:
    return (
        f"run {row.get('run') or '(nobody any more)'} ({row.get('author')}, process {row.get('process')} on"
        f" {row.get('host')}, last heartbeat {row.get('heartbeat')})"
    )


def _lost(noun: str, why: str, run: str) -> LostLock:
    return LostLock(
        f"the lock of {noun} was lost",
        f"{why}; no terraform is started for it any more",
        f"salt-run infrastructure.resume {run}",
    )
