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

from saltform.engine.context import EnvironmentContext
from saltform.engine.states import CANNOT_READ
from saltform.errors import StateError
from saltform.events import outputs_tag
from saltform.files import write_atomic
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


def copy_states(context: EnvironmentContext, touched: Iterable[str], named: Iterable[str]) -> None:
    """After a run: what the touched states say now; and what is kept of others, if pillar names other readers now."""
    last = context.services.runlog.copies.all(context.name)
    for name in touched:
        copy_state(context, name, last.get(name))
    for name in named:
        if name in last and not is_copied(context, name, last[name]):
            with contextlib.suppress(*CANNOT_READ):  # the next sync says so; this run is not about it
                copy_state(context, name, last[name])


def copy_state(context: EnvironmentContext, name: str, last: StateCopy | None) -> Changes:
    """Bring one copy up to date. A state that is as it was is not read whole."""
    head = context.states.head(context.name, name)
    if last is not None and head == Head(last.serial, last.lineage) and is_copied(context, name, last):
        return Changes(last.serial, last.serial)
    state = context.states.read(context.name, name)
    if _on_a_server(context, name):
        _keep_outputs(context, name, state)
    copy = _copied(context, name, state) if state is not None else None
    if copy is not None:
        context.services.runlog.copies.keep(copy)
    elif last is not None:
        context.services.runlog.copies.forget(context.name, name)
    changes = _changes(last, copy)
    if changes.outputs:
        told = {"environment": context.name, "component": name, "serial": changes.serial, "outputs": changes.outputs}
        context.services.events.fire(outputs_tag(context.name, name), told)
    return changes


def _on_a_server(context: EnvironmentContext, name: str) -> bool:
    return context.component(name).backend.type != "local"


def is_copied(context: EnvironmentContext, name: str, copy: StateCopy) -> bool:
    """Whether this disk has what the run log's copy is of: another master may have made that one.

    And no more and no less of it than is needed: pillar may name minions for a sensitive output, and no longer do so.
    """
    if not _on_a_server(context, name):
        return True
    try:
        kept = read(context.services.layout.state_copy(context.name, name))
    except StateError:
        return False
    needed = {key for key in copy.outputs if key in copy.ordinary or key in context.component(name).output_targets}
    return kept.head == Head(copy.serial, copy.lineage) and needed == set(kept.outputs)


def _keep_outputs(context: EnvironmentContext, name: str, state: State | None) -> None:
    """The outputs on this disk, in a state's own form and as private as one, for the ext_pillar.

    A sensitive one is among them only if pillar names minions for it: otherwise nobody needs it here.
    """
    path = context.services.layout.state_copy(context.name, name)
    if state is None:
        path.unlink(missing_ok=True)
        return
    outputs = {
        key: {"value": item.value, "type": item.type, "sensitive": item.sensitive}
        for key, item in state.outputs.items()
        if not item.sensitive or key in context.component(name).output_targets
    }
    document = {"version": 4, "terraform_version": state.terraform_version, "serial": state.serial}
    document |= {"lineage": state.lineage, "outputs": outputs, "resources": []}
    write_atomic(path, json.dumps(document).encode())


def _copied(context: EnvironmentContext, name: str, state: State) -> StateCopy:
    key = context.digest_key
    return StateCopy(
        environment=context.name,
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
