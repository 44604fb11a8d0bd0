"""Which components a run is about, and what has to be said about that choice."""

from __future__ import annotations

from collections.abc import Iterable

from saltform.config import Component, nearest
from saltform.engine.context import EnvironmentContext
from saltform.engine.options import Options, bad
from saltform.engine.resolved import find_binary
from saltform.errors import UnknownName
from saltform.minions import NoMinions
from saltform.workspace.root import address_in_module


def chosen(context: EnvironmentContext, options: Options) -> tuple[list[str], list[str]]:
    """The components of this run, and what has to be said about the choice."""
    wanted = context.select(list(options.components))
    if options.replace and len(wanted) != 1:
        raise bad("replace", "an address belongs to one component: name it with components=NAME")
    pins = context.promoted.notes(context.name)
    if options.only or not options.components:
        return wanted, pins
    everything = context.graph.closure(wanted)
    added = [name for name in context.graph.order() if name in everything and name not in wanted]
    notes = [f"also deploying what that needs: {', '.join(added)} (only=True leaves it out)"] if added else []
    return [name for name in context.environment.components if name in everything], [*pins, *notes]


def find(context: EnvironmentContext, name: str) -> Component:
    """One component, of pillar or one that left it and still has a record. No globs."""
    known = context.everything
    if name not in known:
        raise UnknownName("component", name, known, nearest(name, known))
    return context.component(name)


def check_replaced(context: EnvironmentContext, options: Options) -> None:
    """Before anything runs: terraform itself says nothing about an address that isn't there."""
    if options.replace:
        (name,) = context.select(list(options.components))
        known = [address_in_module(address) for address in context.resources(name)]
        for address in map(address_in_module, options.replace):
            if address not in known:
                raise UnknownName(f"resource of {context.name}/{name}", address, known, nearest(address, known))


def check_minions_reachable(context: EnvironmentContext, names: Iterable[str]) -> None:
    """Before anything runs: whoever can't ask minions can't apply or destroy what has some."""
    minions = context.services.minions
    if isinstance(minions, NoMinions) and any(context.component(name).has_minions for name in names):
        minions.keys()  # says where it can be done


def check_binaries(context: EnvironmentContext, components: Iterable[Component]) -> None:
    """Before anything runs: the terraform or tofu of each is there, and of the version that pillar asks for."""
    seen = set()
    for component in components:
        record = context.records.get(context.stored_as(component.name))
        asked = (component.binary, component.version, record.binary_path if record else "")
        if asked not in seen:
            seen.add(asked)
            find_binary(context, component)


def orphan_note(context: EnvironmentContext) -> str:
    names = ", ".join(sorted(context.orphans))
    return f"no longer in pillar but still there: {names} (destroy {context.name} components=… yes=True removes them)"
