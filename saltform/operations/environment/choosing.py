"""Which components a run is about, and what has to be said about that choice."""

from __future__ import annotations

from collections.abc import Iterable

from saltform.config import Component, nearest
from saltform.errors import UnknownName
from saltform.fleet import NoFleet
from saltform.operations.environment.known import find_binary
from saltform.operations.environment.opened import Opened
from saltform.operations.run.options import Options, bad
from saltform.workspace.root import address_in_module


def chosen(opened: Opened, options: Options) -> tuple[list[str], list[str]]:
    """The components of this run, and what has to be said about the choice."""
    wanted = opened.select(list(options.components))
    if options.replace and len(wanted) != 1:
        raise bad("replace", "an address belongs to one component: name it with components=NAME")
    pins = opened.promoted.notes(opened.name)
    if options.only or not options.components:
        return wanted, pins
    everything = opened.graph.closure(wanted)
    added = [name for name in opened.graph.order() if name in everything and name not in wanted]
    notes = [f"also deploying what that needs: {', '.join(added)} (only=True leaves it out)"] if added else []
    return [name for name in opened.environment.components if name in everything], [*pins, *notes]


def find(opened: Opened, name: str) -> Component:
    """One component, of pillar or one that left it and still has a record. No globs."""
    known = opened.everything
    if name not in known:
        raise UnknownName("component", name, known, nearest(name, known))
    return opened.component(name)


def check_replaced(opened: Opened, options: Options) -> None:
    """Before anything runs: terraform itself says nothing about an address that isn't there."""
    if options.replace:
        (name,) = opened.select(list(options.components))
        known = [address_in_module(address) for address in opened.resources(name)]
        for address in map(address_in_module, options.replace):
            if address not in known:
                raise UnknownName(f"resource of {opened.name}/{name}", address, known, nearest(address, known))


def check_fleet(opened: Opened, names: Iterable[str]) -> None:
    """Before anything runs: whoever can't ask minions can't apply or destroy what has some."""
    fleet = opened.services.fleet
    if isinstance(fleet, NoFleet) and any(opened.component(name).has_fleet for name in names):
        fleet.keys()  # says where it can be done


def check_binaries(opened: Opened, components: Iterable[Component]) -> None:
    """Before anything runs: the terraform or tofu of each is there, and of the version that pillar asks for."""
    seen = set()
    for component in components:
        record = opened.records.get(opened.stored_as(component.name))
        asked = (component.binary, component.version, record.binary_path if record else "")
        if asked not in seen:
            seen.add(asked)
            find_binary(opened, component)


def orphan_note(opened: Opened) -> str:
    names = ", ".join(sorted(opened.orphans))
    return f"no longer in pillar but still there: {names} (destroy {opened.name} components=… yes=True removes them)"
