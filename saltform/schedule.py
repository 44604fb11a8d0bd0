"""The status machine of a run: who may start, who has ended, and what that means for the others.

1. Every component is pending. One that waits for nothing is ready. Of the ready ones those with the longest
   chain of components behind them come first, then those first by name: the longest chain decides how long
   a run takes.
2. Whoever wants to work on a ready one claims it. Exactly one claim is answered with True.
3. When a claimed one ends well, each component that needs it waits for one less; at zero it is ready. There
   are no waves: nobody waits for anything but their own needs.
4. When one fails, is skipped or cancelled, everything that needs it, however far up, is skipped with a reason
   that names it. After a failure nothing else is started either, unless the run is to continue on errors.
   (`rollback` is `stop` here: the undoing is a run of its own over the reversed graph.)
5. When one awaits approval, what needs it stays pending, with the reason, and the run can end without it.
6. A cancelled run starts nothing more; what is running reports its own end.
7. A step that has ended never changes again. The run is finished when nothing runs and nothing can start.

Each edge is looked at once on the way up and once after a failure, so a whole run costs time in proportion to
its edges. No threads are started here; all methods may be called from many.
"""

from __future__ import annotations

import threading
from bisect import bisect_left, insort
from collections.abc import Container

from saltform.graph import Graph
from saltform.status import Status

ON_ERROR = ("stop", "continue", "rollback")


class Schedule:
    """The steps of one run over a graph."""

    def __init__(self, graph: Graph, on_error: str = "stop") -> None:
        if on_error not in ON_ERROR:
            raise ValueError(f"on_error is {on_error!r}, expected one of {', '.join(ON_ERROR)}")
        self.on_error = on_error
        self._lock = threading.RLock()
        self._needed_by = graph.needed_by
        self._statuses = dict.fromkeys(graph.order(), Status.PENDING)
        self._reasons: dict[str, str] = {}
        self._waits_for = {name: len(needs) for name, needs in graph.needs.items()}
        chain = graph.reversed_().depth
        self._by_rank = sorted(graph.needs, key=lambda name: (-chain[name], name))
        self._rank = {name: rank for rank, name in enumerate(self._by_rank)}
        self._ready = [rank for rank, name in enumerate(self._by_rank) if not self._waits_for[name]]
        self._running = 0

    @property
    def finished(self) -> bool:
        """Nothing runs and nothing can start any more."""
        with self._lock:
            return not self._running and not self._ready

    def status(self, name: str) -> Status:
        return self._statuses[name]

    def reason(self, name: str) -> str:
        """Why a component failed, was skipped or cancelled, or waits; empty when there is nothing to say."""
        return self._reasons.get(name, "")

    def ready(self, limit: int | None = None) -> list[str]:
        """The components that can be claimed now, those to be started first at the front."""
        with self._lock:
            return [self._by_rank[rank] for rank in self._ready[:limit]]

    def claim(self, name: str) -> bool:
        """Start a ready component: True for exactly one caller."""
        with self._lock:
            place = bisect_left(self._ready, self._rank[name])
            if place == len(self._ready) or self._ready[place] != self._rank[name]:
                return False
            del self._ready[place]
            self._statuses[name] = Status.RUNNING
            self._running += 1
            return True

    def done(self, name: str, status: Status, reason: str = "") -> list[str]:
        """A claimed component ended, or stopped to await approval. Returns what else ended because of it."""
        if not status.terminal and status is not Status.AWAITING_APPROVAL:
            raise ValueError(f"{name!r} can't end as {status.value!r}")
        with self._lock:
            if self._statuses[name] is not Status.RUNNING:
                raise ValueError(f"{name!r} can't end as {status.value!r}: it is {self._statuses[name].value!r}")
            self._running -= 1
            self._settle(name, status, reason)
            if status.good:
                self._release(name)
                return []
            if status is Status.AWAITING_APPROVAL:
                self._explain_waiting(name)
                return []
            return self._skip_after(name, status)

    def cancel(self, reason: str) -> list[str]:
        """Start nothing more. Returns what had not started and is cancelled now."""
        with self._lock:
            return self._end_pending(Status.CANCELLED, reason)

    def _settle(self, name: str, status: Status, reason: str) -> None:
        self._statuses[name] = status
        if reason:
            self._reasons[name] = reason

    def _release(self, name: str) -> None:
        for waiting in self._needed_by[name]:
            self._waits_for[waiting] -= 1
            if not self._waits_for[waiting] and self._statuses[waiting] is Status.PENDING:
                insort(self._ready, self._rank[waiting])

    def _skip_after(self, name: str, status: Status) -> list[str]:
        word = {Status.CANCELLED: "was cancelled", Status.SKIPPED: "was skipped"}.get(status, "failed")
        skipped = []
        for dependent in self._pending_above(name):
            self._settle(dependent, Status.SKIPPED, f"needs {name}, which {word}")
            skipped.append(dependent)
        if status is Status.FAILED and self.on_error != "continue":
            skipped += self._end_pending(
                Status.SKIPPED, f"not started, because {name} failed (on_error: {self.on_error})"
            )
        return skipped

    def _explain_waiting(self, name: str) -> None:
        for dependent in self._pending_above(name, passed=self._reasons):
            self._reasons[dependent] = f"needs {name}, which awaits approval"

    def _pending_above(self, name: str, passed: Container[str] = ()) -> list[str]:
        """What needs the name, however far up, and has not ended. Nothing of it can be ready or running."""
        found: set[str] = set()
        todo = [name]
        while todo:
            for dependent in self._needed_by[todo.pop()]:
                pending = self._statuses[dependent] is Status.PENDING
                if pending and dependent not in found and dependent not in passed:
                    found.add(dependent)
                    todo.append(dependent)
        return sorted(found, key=self._rank.__getitem__)

    def _end_pending(self, status: Status, reason: str) -> list[str]:
        ended = [name for name in self._by_rank if self._statuses[name] is Status.PENDING]
        for name in ended:
            self._settle(name, status, reason)
        self._ready.clear()
        return ended
