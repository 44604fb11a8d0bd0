"""Keeps the locks that this process holds in a run log for several masters, whatever becomes of the connection.

1. An advisory lock belongs to the connection: a restart of the server or a cut network frees it while its holder
   lives on. So each lock has a lease as well. A thread renews it, by the database's clock, `BEATS` times in
   `dead_after`; a holder is dead only when its advisory lock is free and its lease is over.
2. On a new connection, nothing is asked before each lock is taken again by its fencing token. A row with another
   token means that the lock was taken over: from then on nothing is written through this connection.
   The old connection can't write either. Whoever took over had to find its advisory lock free, so it had ended.
3. A lease that was not renewed for half of `dead_after` is over for its holder, for good: its terraform is
   interrupted (by the guard, even if we are stopped), and nothing new starts. Where we can still write, the row
   says `stopping` and is renewed until the lock is let go of, which is after terraform has ended.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

from saltform.errors import RunLogError, SaltformError
from saltform.process import Lease
from saltform.runlog.database import Database
from saltform.runlog.timestamps import now

BEATS = 15  # in that time
STOPPING = "stopping"
TRIES = 40  # to take a lock again that our own former connection still has
PAUSE = 0.05


@dataclass(frozen=True)
class Token:
    """A component's lock: `number` is the fencing token, which grows with every holder."""

    environment: str
    component: str
    number: int
    session: int  # of the connection that it was taken on

    @property
    def row(self) -> tuple[str, str, int]:
        return self.environment, self.component, self.number


class Keeper:
    """The locks of one connection. In a run log of one master there is nothing to do: its flocks decide."""

    def __init__(self, database: Database, dead_after: float) -> None:
        self._database = database
        self.dead_after = dead_after
        self.lease = Lease()
        self.lost = ""  # why, in words
        self._changing = threading.Lock()
        self._runs: dict[int, str] = {}  # by the keys of their advisory locks
        self._tokens: dict[int, Token] = {}
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        database.keeper = self

    @property
    def until(self) -> float:
        """Until when a connection that broke may be opened anew without a loss; 0 when nothing is held."""
        return self.lease.until if (self._runs or self._tokens) and not self.lost else 0.0

    @contextlib.contextmanager
    def keeping(self, held: Token | str, key: int) -> Iterator[None]:
        """While inside, the lock of this component or run is kept."""
        if not self._database.shared:
            yield
            return
        with self._changing:
            if isinstance(held, Token):
                self._tokens[key] = held
            else:
                self._runs[key] = held
            if self._thread is None:
                self._begin()
        try:
            yield
        finally:
            with self._changing:
                self._tokens.pop(key, None)
                self._runs.pop(key, None)
                if not self._tokens and not self._runs:
                    self._end()

    @property
    def trouble(self) -> str:
        """Why nothing may be started any more, in words."""
        if not self.lost and self.lease.expired:
            return f"the run log could not be reached for {self.dead_after / 2:g} s"
        return self.lost

    def beat(self) -> None:
        """Renew every lease, and say whether we still work or are about to stop."""
        began, state = time.monotonic(), STOPPING if self.lease.expired else ""
        tokens, runs, after = list(self._tokens.values()), list(self._runs.values()), self._database.after
        if tokens:
            rows = ", ".join(["(?, ?, ?)"] * len(tokens))
            self._database.write(
                f"UPDATE locks SET heartbeat = ?, state = ?, expires = {after}"  # noqa: S608
                f" WHERE (environment, component, number) IN ({rows})",
                (now(), state, self.dead_after, *(value for token in tokens for value in token.row)),
                lasting=False,
            )
        if runs:
            self._database.write(
                f"UPDATE runs SET heartbeat = ?, expires = {after}"  # noqa: S608
                f" WHERE id IN ({', '.join('?' * len(runs))}) AND host = ? AND pid = ?",
                (now(), self.dead_after, *runs, socket.gethostname(), os.getpid()),
                lasting=False,
            )
        self._renewed(began)

    def retake(self) -> None:
        """On a new connection, before anything else is asked on it. A RunLogError: it broke again."""
        began = time.monotonic()
        self.lease.session = self._database.session
        for key, run in list(self._runs.items()):
            if not self._lock_again(key):
                self._lose(f"run {run} goes on elsewhere")
        for key, token in list(self._tokens.items()):
            taken = self._lock_again(key)
            if not self._still_ours(token):
                if taken:
                    self._database.unlock(key)
                self._lose(f"another run has taken {token.environment}/{token.component} over")
            elif not taken:
                raise RunLogError("the run log can't be used", f"somebody has the advisory lock {key}")
        self._renewed(began)

    def _lose(self, why: str) -> None:
        self.lost, self.lease.until = f"the connection to the run log broke, and {why}", 0.0

    def _lock_again(self, key: int) -> bool:
        """The server may not have noticed yet that our former connection is gone: that one is ended."""
        for _ in range(TRIES):
            if self._database.try_lock(key):
                return True
            if not self._database.end_session(key, former=True):
                return False
            time.sleep(PAUSE)
        return False

    def _still_ours(self, token: Token) -> bool:
        """Renewed by its fencing token; nothing is renewed when another holder has raised it."""
        found = self._database.rows(
            f"UPDATE locks SET heartbeat = ?, expires = {self._database.after}"  # noqa: S608
            " WHERE environment = ? AND component = ? AND number = ? RETURNING number",
            (now(), self.dead_after, *token.row),
        )
        return bool(found)

    def _renewed(self, began: float) -> None:
        """The lease counts from before the database was asked. Once it has run out, it stays so."""
        if not self.lease.expired and not self.lost:
            self.lease.until = began + self.dead_after / 2

    def _begin(self) -> None:
        half = self.dead_after / 2
        database = self._database
        self.lease = Lease(time.monotonic() + half, half, database.session, database.sockets)
        self.lost, self._ended = "", threading.Event()
        self._thread = threading.Thread(target=self._beat_on, name="keep locks", daemon=True)
        self._thread.start()

    def _end(self) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _beat_on(self) -> None:
        while not self._ended.wait(self.dead_after / BEATS):
            with contextlib.suppress(SaltformError):  # then the lease runs out, and whoever works under it sees that
                self.beat()
