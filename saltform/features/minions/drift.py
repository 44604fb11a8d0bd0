"""Drift of minions: whether those of a component are as their highstate says, asked with `test=True`.

They are its `minions`, and those that match the target of its `converge`. One that doesn't answer, or whose highstate
can't be compiled, is unknown, not clean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from saltform.config import Component
from saltform.engine.services import Services
from saltform.errors import SaltformError
from saltform.features.minions.highstate import failures, has_no_states, would_change
from saltform.minions import PING, Answer, Target

CHECK = 600.0  # and for its highstate in a test
CLEAN, DRIFTED, UNKNOWN = "clean", "drifted", "unknown"


def check_minions(
    services: Services, component: Component, masked: Callable[[str], str] = str
) -> dict[str, dict[str, Any]]:
    """Minion → how it stands, in words without secrets; nothing for a component that has no minions."""
    found = _look_at(services, component)
    for item in found.values():
        item |= {"why": masked(item["why"])} if "why" in item else {}
        for state in item.get("states", ()):
            state["comment"] = masked(state["comment"])
    return found


def status_of(minions: Mapping[str, Mapping[str, Any]]) -> str:
    """How all of them stand together: one that differs is drift, one that is unknown is not clean."""
    words = {item["status"] for item in minions.values()}
    return next((word for word in (DRIFTED, UNKNOWN) if word in words), CLEAN)


def _look_at(services: Services, component: Component) -> dict[str, dict[str, Any]]:
    target: Target = component.converge.target if component.converge else component.minions
    if not target:
        return {}
    try:
        answers = dict(services.minions.call(target, "test.ping", {}, PING, services.cancel))
        named = tuple(minion for minion in component.minions if minion not in answers)
        if named:  # its own, whatever the target says
            answers |= services.minions.call(named, "test.ping", {}, PING, services.cancel)
        here = tuple(sorted(minion for minion, answer in answers.items() if answer is not None))
        given = {"test": True, "queue": True}
        found = services.minions.call(here, "state.apply", given, CHECK, services.cancel) if here else {}
    except SaltformError as error:
        return {shown(target): {"status": UNKNOWN, "why": f"{error.summary}: {error.detail}"}}
    return {minion: _standing(found.get(minion)) for minion in here} | dict(_absent(component, target, answers))


def shown(target: Target) -> str:
    return target if isinstance(target, str) else ", ".join(target)


def _standing(answer: Answer | None) -> dict[str, Any]:
    if answer is None or not isinstance(answer.value, dict):
        return {"status": UNKNOWN, "why": failures(answer)[0]}
    if has_no_states(answer):
        return {"status": CLEAN, "why": "no states are meant for it"}
    states = would_change(answer)
    return {"status": DRIFTED, "states": states} if states else {"status": CLEAN}


def _absent(
    component: Component, target: Target, answers: Mapping[str, Answer | None]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Who is meant, by name or by the target, and says nothing; and those whom nobody can name."""
    silent = [minion for minion in dict.fromkeys([*component.minions, *answers]) if answers.get(minion) is None]
    for minion in silent:
        yield minion, {"status": UNKNOWN, "why": "it does not answer"}
    expect = component.converge.expect if component.converge else 0
    if len(answers) < expect and not component.minions:
        here = len(answers) - len(silent)
        yield shown(target), {"status": UNKNOWN, "why": f"{here} of {expect} minions answer"}
