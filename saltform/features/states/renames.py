"""`renamed_from:` moves a component's state to its new name instead of building it twice."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from pathlib import Path

from saltform.config import Component
from saltform.config.backends import decode, encode, place
from saltform.engine import audit
from saltform.engine.context import EnvironmentContext
from saltform.engine.services import Services
from saltform.errors import StateError
from saltform.files import move, move_folder
from saltform.layout import ERRORED_FILE, STATE_FILE
from saltform.runlog.locks import Patience

RENAME = "rename"  # in the audit, before it happens


def renames(context: EnvironmentContext, names: Iterable[str]) -> list[tuple[str, str]]:
    """(old name, new name) of every component whose state is still under its old name."""
    pairs = ((context.stored_as(name), name) for name in names)
    return [(old, new) for old, new in pairs if old != new]


def planned_from(context: EnvironmentContext, component: Component) -> Path | None:
    """Where a plan finds the state of a component that has not been moved yet."""
    layout = context.services.layout
    if renames(context, [component.name]) and not layout.states(context.name, component.name).exists():
        return layout.states(context.name, component.renamed_from)
    return None


def read_under(context: EnvironmentContext, component: Component) -> str:
    """The name under which a plan finds the state of a component, as `planned_from` and `as_stored` have it."""
    for old, _new in renames(context, [component.name]):
        if component.backend.type != "local" or planned_from(context, component) is not None:
            return old
    return component.name


def as_stored(context: EnvironmentContext, component: Component) -> Component:
    """The component with the backend that has its state under its old name, for a plan before it is moved."""
    for old, _new in renames(context, [component.name]):
        return dataclasses.replace(component, backend=decode(context.records[old].backend))
    return component


def follow_rename(context: EnvironmentContext, name: str) -> None:
    """What a component's step begins with: its state is brought to its new name, if it is still under the old one."""
    services = context.services
    for old, new in renames(context, [name]):
        patience = Patience(context.wait, services.cancel)
        with (
            services.locks.hold(context.name, old, services.run_id, services.author, patience),
            services.locks.hold(context.name, new, services.run_id, services.author, patience) as held,
        ):
            context.invalidate(old)
            context.invalidate(new)
            if not renames(context, [new]):
                return  # the run that it waited for has done it
            audit.note(services, context.name, RENAME, component=new, renamed_from=old)
            _move_state(context, old, new, held.number)
        context.note(f"{old} is now {new}: its state was moved, nothing is built twice")


def renamed_since(services: Services, environment: str, moment: str) -> dict[str, str]:
    """Old name → new name of what was renamed since then."""
    entries = services.runlog.audit.entries(environment, moment)
    return {each.content["renamed_from"]: each.content["component"] for each in entries if each.action == RENAME}


def _move_state(context: EnvironmentContext, old: str, new: str, number: int) -> None:
    """Move states, provider lock and record. Each move is one rename; done again, it goes on where it stopped."""
    layout, environment = context.services.layout, context.name
    aside = layout.earlier_states(environment, new, context.services.run_id)
    unstored = layout.errored_state(environment, new)
    for source in (layout.errored_state(environment, old), layout.workspace(environment, old) / ERRORED_FILE):
        _refuse_two(source, unstored)
        _move(source, unstored)
    _move(layout.provider_lock(environment, old), layout.provider_lock(environment, new))
    _refuse_two(layout.states(environment, old), layout.states(environment, new) / STATE_FILE)
    if layout.states(environment, old).exists():
        move_folder(layout.states(environment, new), aside)  # of an earlier component of this name
    _move(layout.states(environment, old), layout.states(environment, new))
    context.services.runlog.rename_component(environment, old, new)
    context.invalidate(old)
    context.invalidate(new)
    _rename_on_server(context, new, number)


def _rename_on_server(context: EnvironmentContext, new: str, number: int) -> None:
    """A state on a server is named after its component, too. One that pillar wants elsewhere is left alone."""
    record, backend = context.records[new], context.component(new).backend
    stored = decode(record.backend)
    if stored.type != "local" and stored.type == backend.type and place(stored) != place(backend):
        from saltform.features.states import moving  # only where there is a server

        moved = moving.move(context, record, stored, backend)
        context.services.runlog.keep_component(
            dataclasses.replace(record, backend=encode(backend), serial=moved.state.serial), number
        )
        context.invalidate(new)


def _refuse_two(source: Path, target: Path) -> None:
    if source.exists() and target.exists():
        raise StateError(
            "a rename would overwrite a state",
            f"{source} and {target} both exist",
            "remove `renamed_from:`, or destroy one of the two components first",
        )


def _move(source: Path, target: Path) -> None:
    if source.exists():
        move(source, target)
