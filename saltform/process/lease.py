"""A lock that lasts only while it is renewed, as the processes that run under it see it."""

from __future__ import annotations

import contextlib
import math
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass


@dataclass
class Lease:
    """Without arguments it never expires: a lock on one host lasts as long as its processes."""

    until: float = math.inf  # by time.monotonic(): if it isn't renewed by then, what runs under it is interrupted
    orphan_grace: float = math.inf  # seconds for an orphan to finish that inherited no connection that has the lock
    session: int = 0  # number of the connection that has the lock: a new connection has another number
    sockets: Callable[[], tuple[int, ...]] = tuple  # copies of that connection's descriptors; the caller closes them

    @property
    def expired(self) -> bool:
        return time.monotonic() >= self.until

    @contextlib.contextmanager
    def inherited(self) -> Iterator[tuple[int, tuple[int, ...]]]:
        """The session as it is now, and what a process that is started inside inherits of it."""
        session, sockets = self.session, self.sockets()
        try:
            yield session, sockets
        finally:
            for descriptor in sockets:
                os.close(descriptor)

    def terms(self, session: int, grace: float) -> tuple[float, float]:
        """For a process started under that session: its grace if we are killed, and when it is interrupted."""
        return grace if session == self.session else min(grace, self.orphan_grace), self.until
