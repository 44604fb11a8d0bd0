"""A state that terraform could not store: kept where nothing wipes it, and pushed back as soon as that is safe.

1. Terraform leaves it in its workspace as `errored.tfstate`. It is moved from there: a workspace can be wiped.
2. It is pushed back at once, and otherwise before the component is planned the next time. A plan on the older state
   would build everything twice.
3. Safe is: the same state (lineage), and a later one (serial) than what is stored; or nothing is stored at all. In a
   local state the serial grows only with what was stored, so there an equal one is the next one.
4. Whatever else it is, a person decides, and until then nothing is planned.
"""

from __future__ import annotations

import json
from pathlib import Path

from saltform.engine import audit
from saltform.engine.work import ComponentWork
from saltform.errors import SaltformError, StateError
from saltform.features.recovery.torn import mend_torn
from saltform.files import cannot_write, write_atomic
from saltform.layout import ERRORED_FILE, Layout
from saltform.terraform import state as states
from saltform.terraform.session import Session
from saltform.tfstate import Head, read
from saltform.tfstate.local import LOCK_NOTE


def mend(part: ComponentWork, session: Session) -> None:
    """Before a plan: push back what an earlier apply could not store, or say why that is not safe."""
    kept = keep(part, session.workspace)
    if kept is not None:
        push_back(part, session, kept)


def left(layout: Layout, environment: str, component: str) -> Path | None:
    """Where a state is that could not be stored, if there is one: in safety, or still where terraform left it."""
    places = (layout.errored_state(environment, component), layout.workspace(environment, component) / ERRORED_FILE)
    return next((path for path in places if path.exists()), None)


def kept_state(part: ComponentWork) -> Path | None:
    """Where the component's state is that could not be stored, if there is one."""
    path = part.services.layout.errored_state(part.component.environment, part.component.name)
    return path if path.exists() else None


def keep(part: ComponentWork, workspace: Path) -> Path | None:
    """Bring what terraform left in its workspace to safety. Never over another one."""
    left, kept = workspace / ERRORED_FILE, kept_state(part)
    if not left.exists():
        return kept
    if kept is not None and kept.read_bytes() != left.read_bytes():
        raise StateError(
            f"two states of {part.component.id} could not be stored",
            f"{kept} and {left}: nothing else knows what exists",
            "compare them, push the later one with `terraform state push`, then remove both",
        )
    path = part.services.layout.errored_state(part.component.environment, part.component.name)
    try:
        write_atomic(path, left.read_bytes())
        left.unlink()
    except OSError as error:
        raise cannot_write(path, error) from None
    return path


def push_back(part: ComponentWork, session: Session, kept: Path) -> None:
    mine, stored = read(kept).head, part.head
    if stored == mine and part.component.backend.type == "local":
        mine = _as_the_next_one(kept)
    if stored is not None and not (stored.lineage == mine.lineage and stored.serial < mine.serial):
        raise StateError(
            f"a state of {part.component.id} could not be stored, and can't be pushed back safely",
            f"{kept} is {_said(mine)}; by now {_said(stored)} is stored: somebody else has changed it",
            f"compare the two; then remove {kept}, or push it with `terraform state push -force` and remove it",
        )
    part.tell("pushing back the state that could not be stored")
    states.push(session, kept)
    kept.unlink()
    part.context.note(f"{part.component.name}: its state that could not be stored was pushed back ({_said(mine)})")
    audit.note(
        part.services,
        part.component.environment,
        "state_pushed_back",
        component=part.component.name,
        serial=mine.serial,
    )


def _as_the_next_one(kept: Path) -> Head:
    tree = json.loads(kept.read_bytes())
    tree["serial"] += 1
    write_atomic(kept, json.dumps(tree, indent=2).encode())
    return read(kept).head


def say_what_was_left(part: ComponentWork, session: Session, before: Head | None, error: SaltformError) -> None:
    """After an apply that did not end well: what became of the state and its lock, in the error itself."""
    if (session.workspace / ERRORED_FILE).exists():
        _rescue(part, session, error)
    if error.data.get("killed") or error.data.get("terraform_exit_code", 0) < 0:
        error.detail += "\n" + "\n".join(_looked_at(part, before))


def _rescue(part: ComponentWork, session: Session, error: SaltformError) -> None:
    try:
        kept = keep(part, session.workspace)
        assert kept is not None  # noqa: S101 (it was there a moment ago, and the component is locked)
        error.detail = error.detail.replace(str(session.workspace / ERRORED_FILE), str(kept))
        error.data["errored_state"] = str(kept)
        error.fix = "when the state can be stored again: the same command, or resume; it is pushed back first"
        push_back(part, session, kept)
    except SaltformError as why:
        error.detail += f"\nIt was not pushed back: {why.summary}: {why.detail}"
        return
    error.data.pop("errored_state")
    error.detail += "\nIt was pushed back: nothing is lost."
    error.fix = "the same command, or resume"


def _looked_at(part: ComponentWork, before: Head | None) -> list[str]:
    """What the state and its lock are like now that nobody works on it any more."""
    strays = "What it made without writing it down, if anything:"
    strays += f" salt-run infrastructure.strays {part.component.environment}"
    try:
        mend_torn(part.context, part.component)
        now = part.head
    except StateError as error:
        return [f"Its state can't be read: {error.detail} ({error.fix})", strays]
    moved = f"is {_said(now)}" if now == before else f"went from {_said(before)} to {_said(now)}"
    return [f"Its state {moved}; {_lock_left(part)}.", strays]


def _lock_left(part: ComponentWork) -> str:
    if part.component.backend.type != "local":
        return "whether it is still locked, the next command on it tells"
    note = part.services.layout.states(part.component.environment, part.component.name) / LOCK_NOTE
    return "the note of its lock is still there, its holder is not" if note.exists() else "nothing is left locked"


def _said(head: Head | None) -> str:
    return f"serial {head.serial} of {head.lineage[:8]}" if head else "empty"
