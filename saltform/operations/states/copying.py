"""The run log's copy of the states: brought up to date, with what has changed since the last one.

Runs copy what they have applied; `sync_states` copies everything, also what a plain `terraform apply` changed. An
event says which outputs have changed.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
from collections.abc import Iterable
from dataclasses import dataclass, field

from saltform.errors import StateError
from saltform.events import outputs_tag
from saltform.files import write_atomic
from saltform.operations.environment.opened import Opened
from saltform.operations.states.backends import CANNOT_READ
from saltform.runlog import now
from saltform.runlog.copies import StateCopy
from saltform.tfstate import Head, State, read
from saltform.workspace.fingerprint import canonical


@dataclass(frozen=True)
class Changes:
    """What a state says now that its copy did not."""

    serial: int | None
    was: int | None
    outputs: list[str] = field(default_factory=list)
    added: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return self.serial != self.was or bool(self.outputs or self.added or self.removed)


def copy_states(opened: Opened, touched: Iterable[str], named: Iterable[str]) -> None:
    """After a run: what the touched states say now; and what is kept of others, if pillar names other readers now."""
    last = opened.services.runlog.copies.all(opened.name)
    for name in touched:
        copy_state(opened, name, last.get(name))
    for name in named:
        if name in last and not is_copied(opened, name, last[name]):
            with contextlib.suppress(*CANNOT_READ):  # the next sync says so; this run is not about it
                copy_state(opened, name, last[name])


def copy_state(opened: Opened, name: str, last: StateCopy | None) -> Changes:
    """Bring one copy up to date. A state that is as it was is not read whole."""
    head = opened.states.head(opened.name, name)
    if last is not None and head == Head(last.serial, last.lineage) and is_copied(opened, name, last):
        return Changes(last.serial, last.serial)
    state = opened.states.read(opened.name, name)
    if _on_a_server(opened, name):
        _keep_outputs(opened, name, state)
    copy = _copied(opened, name, state) if state is not None else None
    if copy is not None:
        opened.services.runlog.copies.keep(copy)
    elif last is not None:
        opened.services.runlog.copies.forget(opened.name, name)
    changes = _changes(last, copy)
    if changes.outputs:
        told = {"environment": opened.name, "component": name, "serial": changes.serial, "outputs": changes.outputs}
        opened.services.events.fire(outputs_tag(opened.name, name), told)
    return changes


def _on_a_server(opened: Opened, name: str) -> bool:
    return opened.component(name).backend.type != "local"


def is_copied(opened: Opened, name: str, copy: StateCopy) -> bool:
    """Whether this disk has what the run log's copy is of: another master may have made that one.

    And no more and no less of it than is needed: pillar may name minions for a sensitive output, and no longer do so.
    """
    if not _on_a_server(opened, name):
        return True
    try:
        kept = read(opened.services.layout.state_copy(opened.name, name))
    except StateError:
        return False
    needed = {key for key in copy.outputs if key in copy.ordinary or key in opened.component(name).output_targets}
    return kept.head == Head(copy.serial, copy.lineage) and needed == set(kept.outputs)


def _keep_outputs(opened: Opened, name: str, state: State | None) -> None:
    """The outputs on this disk, in a state's own form and as private as one, for the ext_pillar.

    A sensitive one is among them only if pillar names minions for it: otherwise nobody needs it here.
    """
    path = opened.services.layout.state_copy(opened.name, name)
    if state is None:
        path.unlink(missing_ok=True)
        return
    outputs = {
        key: {"value": item.value, "type": item.type, "sensitive": item.sensitive}
        for key, item in state.outputs.items()
        if not item.sensitive or key in opened.component(name).output_targets
    }
    document = {"version": 4, "terraform_version": state.terraform_version, "serial": state.serial}
    document |= {"lineage": state.lineage, "outputs": outputs, "resources": []}
    write_atomic(path, json.dumps(document).encode())


def _copied(opened: Opened, name: str, state: State) -> StateCopy:
    key = opened.digest_key
    return StateCopy(
        environment=opened.name,
        component=name,
        serial=state.serial,
        lineage=state.lineage,
        outputs={
            key_: hmac.new(key, canonical(item.value), hashlib.sha256).hexdigest()
            for key_, item in state.outputs.items()
        },
        ordinary={key_: item.value for key_, item in state.outputs.items() if not item.sensitive},
        resources=list(state.resources),
        copied=now(),
    )


def _changes(last: StateCopy | None, copy: StateCopy | None) -> Changes:
    before, after = (last.outputs if last else {}), (copy.outputs if copy else {})
    had, has = set(last.resources if last else ()), set(copy.resources if copy else ())
    return Changes(
        serial=copy.serial if copy else None,
        was=last.serial if last else None,
        outputs=sorted(name for name in {*before, *after} if before.get(name) != after.get(name)),
        added=sorted(has - had),
        removed=sorted(had - has),
    )
