"""A state moved from one backend to another: pulled, kept as a backup, pushed, and compared.

1. What is pulled must be the state that is on record (its lineage).
2. Where it goes there is nothing, or an earlier version of it. Another state is never overwritten.
3. The backup is written first, and pushed from there. Where nothing was stored before, terraform makes a lineage up,
   whatever it is given: then the same is pushed over it, which is the one time that anything is forced.
4. What arrives must be what left: its lineage, its resources and outputs, and no earlier serial.
5. Done again after it was interrupted, it finds its own state at the new place and goes on from there.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from saltform.config.backends import place
from saltform.config.types import Backend
from saltform.engine.context import EnvironmentContext
from saltform.engine.pulled_states import at_backend, pull
from saltform.errors import StateError
from saltform.files import write_atomic
from saltform.runlog import ComponentRecord
from saltform.terraform import state as states
from saltform.terraform.session import Session
from saltform.tfstate import State


@dataclass(frozen=True)
class Moved:
    """The state as it arrived (or would), and where it is kept as it was."""

    state: State
    backup: Path


def move(
    context: EnvironmentContext, record: ComponentRecord, old: Backend, new: Backend, dry_run: bool = False
) -> Moved:
    """Bring the component's state from the old backend to the new one; or only see whether that could be done."""
    name = record.component
    content, state = _leaving(context, record, old)
    backup = context.services.layout.moved_state(context.name, name, context.services.run_id)
    with at_backend(context, name, new) as session:
        there = pull(session, place(new))[1]
        _refuse_other(there, state, new)
        if dry_run:
            return Moved(state, backup)
        write_atomic(backup, content)
        if there is None or there.lineage != state.lineage or there.serial < state.serial:
            _push(session, backup, there, state, new)
        arrived = _checked(pull(session, place(new))[1], state, new, backup)
    return Moved(arrived, backup)


def _push(session: Session, backup: Path, there: State | None, state: State, new: Backend) -> None:
    if there is None:
        states.push(session, backup)
        there = pull(session, place(new))[1]
    if there is not None and there.lineage != state.lineage and _same(there, state):
        states.push(session, backup, force=True)


def _leaving(context: EnvironmentContext, record: ComponentRecord, old: Backend) -> tuple[bytes, State]:
    with at_backend(context, record.component, old) as session:
        content, state = pull(session, place(old))
    if state is None:
        raise StateError(
            f"there is no state of {record.component} to move",
            f"nothing is in: {place(old)}",
            "bring it back from a backup or the backend's versions, then move it",
        )
    if record.lineage and state.lineage != record.lineage:
        raise StateError(
            f"the state of {record.component} is not the one on record",
            f"lineage {state.lineage} is in: {place(old)}; on record is {record.lineage}",
            "somebody has put another state there: bring the right one back first",
        )
    return content, state


def _same(one: State, other: State) -> bool:
    return (one.resources, one.outputs) == (other.resources, other.outputs)


def _refuse_other(there: State | None, state: State, new: Backend) -> None:
    if there is None or (there.lineage == state.lineage and there.serial <= state.serial):
        return
    if _same(there, state) and (there.lineage == state.lineage or there.serial == 1):
        return  # it was brought here before, and that was interrupted
    later = there.lineage == state.lineage
    raise StateError(
        "there is another state where this one should go",
        f"{place(new)} has serial {there.serial} of lineage {there.lineage}, "
        + (f"and this one has serial {state.serial}" if later else f"and this one is of lineage {state.lineage}"),
        "name another place in pillar, or remove what is there",
    )


def _checked(arrived: State | None, state: State, new: Backend, backup: Path) -> State:
    if arrived and arrived.lineage == state.lineage and arrived.serial >= state.serial and _same(arrived, state):
        return arrived
    found = f"serial {arrived.serial} of lineage {arrived.lineage}" if arrived else "nothing"
    raise StateError(
        "the state did not arrive as it left",
        f"{place(new)} has {found}; what left was serial {state.serial} of lineage {state.lineage}",
        f"the old one was not touched, and {backup} is a copy of it",
    )
