"""`renamed_from:` moves a component's state to its new name instead of building it twice."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from pathlib import Path

from saltform.config import Component
from saltform.config.backends import decode, encode, place
from saltform.errors import StateError
from saltform.files import move, move_folder
from saltform.layout import ERRORED_FILE, STATE_FILE
from saltform.operations.environment.opened import Opened
from saltform.operations.run import auditing
from saltform.operations.run.services import Services
from saltform.runlog.holding import Patience

RENAME = "rename"  # in the audit, before it happens


def renames(opened: Opened, names: Iterable[str]) -> list[tuple[str, str]]:
    """(old name, new name) of every component whose state is still under its old name."""
    pairs = ((opened.stored_as(name), name) for name in names)
    return [(old, new) for old, new in pairs if old != new]


def planned_from(opened: Opened, component: Component) -> Path | None:
    """Where a plan finds the state of a component that has not been moved yet."""
    layout = opened.services.layout
    if renames(opened, [component.name]) and not layout.states(opened.name, component.name).exists():
        return layout.states(opened.name, component.renamed_from)
    return None


def read_under(opened: Opened, component: Component) -> str:
    """The name under which a plan finds the state of a component, as `planned_from` and `as_stored` have it."""
    for old, _new in renames(opened, [component.name]):
        if component.backend.type != "local" or planned_from(opened, component) is not None:
            return old
    return component.name


def as_stored(opened: Opened, component: Component) -> Component:
    """The component with the backend that has its state under its old name, for a plan before it is moved."""
    for old, _new in renames(opened, [component.name]):
        return dataclasses.replace(component, backend=decode(opened.records[old].backend))
    return component


def follow_rename(opened: Opened, name: str) -> None:
    """What a component's step begins with: its state is brought to its new name, if it is still under the old one."""
    services = opened.services
    for old, new in renames(opened, [name]):
        patience = Patience(opened.wait, services.cancel)
        with (
            services.locks.hold(opened.name, old, services.run_id, services.author, patience),
            services.locks.hold(opened.name, new, services.run_id, services.author, patience) as held,
        ):
            opened.look_again(old)
            opened.look_again(new)
            if not renames(opened, [new]):
                return  # the run that it waited for has done it
            auditing.note(services, opened.name, RENAME, component=new, renamed_from=old)
            _move_state(opened, old, new, held.number)
        opened.note(f"{old} is now {new}: its state was moved, nothing is built twice")


def renamed_since(services: Services, environment: str, moment: str) -> dict[str, str]:
    """Old name → new name of what was renamed since then."""
    entries = services.runlog.audit.entries(environment, moment)
    return {each.content["renamed_from"]: each.content["component"] for each in entries if each.action == RENAME}


def _move_state(opened: Opened, old: str, new: str, number: int) -> None:
    """Move states, provider lock and record. Each move is one rename; done again, it goes on where it stopped."""
    layout, environment = opened.services.layout, opened.name
    aside = layout.earlier_states(environment, new, opened.services.run_id)
    unstored = layout.errored_state(environment, new)
    for source in (layout.errored_state(environment, old), layout.workspace(environment, old) / ERRORED_FILE):
        _refuse_two(source, unstored)
        _move(source, unstored)
    _move(layout.provider_lock(environment, old), layout.provider_lock(environment, new))
    _refuse_two(layout.states(environment, old), layout.states(environment, new) / STATE_FILE)
    if layout.states(environment, old).exists():
        move_folder(layout.states(environment, new), aside)  # of an earlier component of this name
    _move(layout.states(environment, old), layout.states(environment, new))
    opened.services.runlog.rename_component(environment, old, new)
    opened.look_again(old)
    opened.look_again(new)
    _rename_on_server(opened, new, number)


def _rename_on_server(opened: Opened, new: str, number: int) -> None:
    """A state on a server is named after its component, too. One that pillar wants elsewhere is left alone."""
    record, backend = opened.records[new], opened.component(new).backend
    stored = decode(record.backend)
    if stored.type != "local" and stored.type == backend.type and place(stored) != place(backend):
        from saltform.operations.states import moving  # only where there is a server

        moved = moving.move(opened, record, stored, backend)
        opened.services.runlog.keep_component(
            dataclasses.replace(record, backend=encode(backend), serial=moved.state.serial), number
        )
        opened.look_again(new)


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
