"""What the run log hands out: plain records, JSON-able by `vars()`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from saltform.status import Status


@dataclass
class StepRecord:
    """What happened to one component in one run."""

    component: str
    status: str = Status.PENDING.value
    reason: str = ""
    started: str = ""
    ended: str = ""
    fingerprint: str = ""
    release: str = ""
    binary_path: str = ""
    serial: int | None = None
    exit_code: int | None = None
    log: str = ""
    details: dict[str, Any] = field(default_factory=dict)


@dataclass
class RunRecord:
    """One operation over an environment."""

    id: str
    environment: str
    verb: str
    author: str
    options: dict[str, Any]
    host: str = ""
    pid: int = 0
    started: str = ""
    ended: str = ""
    status: str = "running"
    exit_code: int | None = None
    summary: str = ""
    notes: list[str] = field(default_factory=list)
    graph: dict[str, list[str]] = field(default_factory=dict)
    rolled_back_by: str = ""
    turn: int = 1  # how often it was begun or resumed
    cancel: str = ""  # what a cancel from another master asked for
    heartbeat: str = ""  # when it was last at it, by its own word


@dataclass(frozen=True)
class ComponentRecord:
    """Where a component stands after its last apply."""

    environment: str
    component: str
    release: str
    fingerprint: str
    lineage: str
    serial: int
    run: str
    born: str
    applied: str
    binary_path: str
    previous_release: str = ""  # the last good one before `run` touched it
    previous_binary: str = ""
    next_lock: str = ""  # provider versions that `upgrade` chose and no apply has used yet
    backend: str = ""  # where its state is, as `config.backends` writes it; nothing for a local one

    @property
    def has_state(self) -> bool:
        return has_state(self.fingerprint, self.serial)


def has_state(fingerprint: str, serial: int) -> bool:
    """After a good apply there is a state, whatever is found. Of a record, and of a row that isn't made one."""
    return bool(fingerprint and serial)
