"""keys: instances and minions side by side, and where one lacks the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from saltform.engine.context import EnvironmentContext
from saltform.engine.result import result
from saltform.engine.services import Services
from saltform.engine.states import CANNOT_READ
from saltform.errors import EXIT_CHANGES, EXIT_DONE, EXIT_FAILED
from saltform.features.minions.keys import instances
from saltform.minions import ACCEPTED, NO_KEY
from saltform.report.words import plural
from saltform.runlog import now
from saltform.runlog.minions import MinionToken

IN_STEP, NO_MINION, NO_INSTANCE, NOT_YET = "in step", "no minion", "no instance", "not made yet"


def keys(services: Services, environment: str) -> dict[str, Any]:
    """Every minion that a component of the environment has, or had and still has a key of.

    Which instances a component has is in its state: one that can't be read hides no other.
    """
    components, unreadable = {}, []
    with EnvironmentContext(services, environment) as context:
        held = services.minions.keys()
        names = [name for name, component in context.environment.components.items() if component.minions]
        names += [name for name in services.runlog.minions.components(environment) if name not in names]
        for name in names:
            try:
                components[name] = _minions(context, name, held)
            except CANNOT_READ as error:
                unreadable.append(f"{name}: {error}")
    found = Counter(entry["status"] for minions in components.values() for entry in minions.values())
    said = [f"{found[word]} {word}" for word in (IN_STEP, NOT_YET, NO_MINION, NO_INSTANCE) if found[word]]
    said += [f"{plural(len(unreadable), 'component')} unreadable"] if unreadable else []
    out_of_step = EXIT_CHANGES if found[NO_MINION] or found[NO_INSTANCE] else EXIT_DONE
    return result(
        "keys",
        EXIT_FAILED if unreadable else out_of_step,
        environment=environment,
        summary=f"keys {environment}: {', '.join(said) or 'no component has minions'}",
        components=components,
        notes=[*unreadable, *_notes(components)],
    )


def _minions(context: EnvironmentContext, name: str, held: Mapping[str, str]) -> dict[str, dict[str, str]]:
    there = instances(context, name)
    component = context.environment.components.get(name)
    tokens = {token.minion: token for token in context.services.runlog.minions.of_component(context.name, name)}
    ids = dict.fromkeys([*(component.minions if component else ()), *there, *tokens])
    return {
        minion: {
            "status": _status(minion in there, held.get(minion, NO_KEY)),
            "instance": there.get(minion, ""),
            "key": held.get(minion, NO_KEY),
            "token": _token(tokens.get(minion)),
        }
        for minion in ids
    }


def _status(there: bool, key: str) -> str:
    if there:
        return IN_STEP if key == ACCEPTED else NO_MINION
    return NOT_YET if key == NO_KEY else NO_INSTANCE


def _token(token: MinionToken | None) -> str:
    """What became of the newest token."""
    if token is None:
        return "none"
    if token.used:
        return f"used at {token.used}"
    if not token.expires:
        return "waits for its plan to be applied"
    return f"good until {token.expires}" if token.expires > now() else f"ended at {token.expires}"


def _notes(components: Mapping[str, Mapping[str, Mapping[str, str]]]) -> list[str]:
    left = [
        minion for minions in components.values() for minion, item in minions.items() if item["status"] == NO_INSTANCE
    ]
    return [f"nobody needs these keys any more: salt-key -d {minion}" for minion in left]
