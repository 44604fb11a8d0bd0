"""The words for what happened to one component in one run. There are no others, in code or in messages."""

from __future__ import annotations

from enum import Enum


class Status(str, Enum):
    """A step's status. It is a string everywhere it leaves the engine: `Status("applied") == "applied"`."""

    PENDING = "pending"
    RUNNING = "running"
    PLANNED = "planned"
    APPLIED = "applied"
    UNCHANGED = "unchanged"
    DEFERRED = "deferred"
    AWAITING_APPROVAL = "awaiting approval"
    CONVERGING = "converging"
    DESTROYED = "destroyed"
    ROLLED_BACK = "rolled back"
    SKIPPED = "skipped"
    FAILED = "failed"
    CANCELLED = "cancelled"

    def __str__(self) -> str:
        return self.value

    @property
    def terminal(self) -> bool:
        """Nothing more happens to this step in this run, so its status never changes again."""
        return self not in _UNDERWAY

    @property
    def good(self) -> bool:
        """The step ended as wished, so what needs it may start."""
        return self in _GOOD


_UNDERWAY = frozenset({Status.PENDING, Status.RUNNING, Status.CONVERGING, Status.AWAITING_APPROVAL})
_GOOD = frozenset(
    {
        Status.PLANNED,
        Status.APPLIED,
        Status.UNCHANGED,
        Status.DEFERRED,
        Status.DESTROYED,
        Status.ROLLED_BACK,
    }
)
