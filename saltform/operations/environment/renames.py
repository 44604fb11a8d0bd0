"""`renamed_from:` moves a component's state to its new name instead of building it twice."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from pathlib import Path

from saltform.config import Component
from saltform.config.backends import decode, encode, place
from saltform.errors import StateError
from saltform.files import cannot_write, make_folder
from saltform.layout import STATE_FILE
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


def as_stored(opened: Opened, component: Component) -> Component:
    """The component with the backend that has its state under its old name, for a plan before it is moved."""
    for old, _new in renames(opened, [component.name]):
        if opened.records[old].backend:
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
    """Move state, provider lock and record. Each move is one rename; done again, it goes on where it stopped."""
    layout, environment = opened.services.layout, opened.name
    for source, target in (
        (layout.provider_lock(environment, old), layout.provider_lock(environment, new)),
        (layout.states(environment, old), layout.states(environment, new)),
    ):
        _move(source, target)
    opened.services.runlog.rename_component(environment, old, new)
    opened.look_again(old)
    opened.look_again(new)
    _rename_on_server(opened, new, number)


def _rename_on_server(opened: Opened, new: str, number: int) -> None:
    """A state on a server is named after its component, too. One that pillar wants elsewhere is left alone."""
    record, backend = opened.records[new], opened.component(new).backend
    stored = decode(record.backend)
    if stored.type != "local" and stored.type == backend.type and place(stored) != place(backend):
        from saltform.operations.states.moving import move  # only where there is a server

        moved = move(opened, record, stored, backend)
        opened.services.runlog.keep_component(
            dataclasses.replace(record, backend=encode(backend), serial=moved.state.serial), number
        )
        opened.look_again(new)


def _move(source: Path, target: Path) -> None:
    if not source.exists():
        return
    if (target / STATE_FILE).exists():
        raise StateError(
            "a rename would overwrite a state",
            f"{source} and {target} both exist",
            "remove `renamed_from:`, or destroy one of the two components first",
        )
    make_folder(target.parent)
    try:
        if target.is_dir():
            target.rmdir()
        source.rename(target)
    except OSError as error:
        raise cannot_write(target, error) from None
