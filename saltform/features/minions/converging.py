"""Waiting for the minions: a component with `converge` is done when its minions are.

1. The minions are there: at least as many as expected match the target and answer. Their keys are accepted by then,
   because nobody else can answer.
2. If asked for, their highstate is clean: every state of it, on every one of them.
3. If asked for, they are healthy: the function returns True on every one of them.
What is missing is said, and all of it is looked at again after a pause, until the time is up. A minion that comes
late has its highstate run like the others; what was clean is not run again.

A round that the end of the time cuts off knows less than the one before it: a minion that had no time to answer keeps
the last reason that it gave, and when not even the ping came back, the reasons of the last round stand.

While drift is healed, minions are not changed: they are waited for and asked for their health, but a highstate runs
only on those whose instance this heal has created, or on all of them if the caller says so (`minions=True`).
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator, Mapping

from saltform.config import Component
from saltform.config.types import Converge
from saltform.engine.options import Options
from saltform.engine.work import ComponentWork
from saltform.errors import Cancelled, NotConverged
from saltform.features.minions.health import lacks_function
from saltform.features.minions.highstate import failures
from saltform.features.minions.keys import HOSTS, instances
from saltform.minions import NO_KEY, PING, Answer, MinionsAway

PAUSE = 3.0  # seconds between two looks
SHOWN = 3  # of what is missing, in one line


def wanted_of(component: Component, options: Options) -> Converge | None:
    """What is waited for. Who heals minions, too, wants a highstate of them whatever pillar says of converging."""
    if not (options.heal and options.minions):
        return component.converge
    own = Converge(component.minions, len(component.minions)) if component.minions else None
    wanted = component.converge or own
    return dataclasses.replace(wanted, highstate=True) if wanted else None


def note_hosts(part: ComponentWork) -> None:
    """Before anything is healed: which instance each minion is on, kept for whoever goes on with this run."""
    name = part.component.name
    before = part.context.hosts_before.get(name)
    part.step.details[HOSTS] = instances(part.context, name) if before is None else before
    part.services.runlog.note_step(part.services.run_id, part.step)


def created(part: ComponentWork) -> frozenset[str]:
    """The minions whose instance this run has created or replaced since `note_hosts`."""
    before = part.step.details[HOSTS]
    there = instances(part.context, part.component.name)
    return frozenset(minion for minion, instance in there.items() if before.get(minion) != instance)


def converge(
    part: ComponentWork, wanted: Converge, tell: Callable[[str], None], only: frozenset[str] | None = None
) -> None:
    """Return when the minions are as wanted; `tell` is given what is missing, again and again.

    With `only`, nobody else's highstate is run.
    """
    waiting = _Waiting(part, wanted, only)
    until = time.monotonic() + wanted.timeout
    tell("waiting for its minions")
    while True:
        missing = [part.context.masked(item) for item in waiting.missing(until, tell)]
        if part.services.cancel.is_set():
            raise Cancelled(f"{part.component.name} was cancelled while it converged", "what was applied stays")
        if not missing:
            return
        tell(_in_short(missing))
        if time.monotonic() >= until:
            raise NotConverged(part.component.id, wanted.timeout, missing)
        part.services.cancel.wait(min(PAUSE, max(0.0, until - time.monotonic())))


class _Waiting:
    """What is known so far of one component's minions."""

    def __init__(self, part: ComponentWork, wanted: Converge, only: frozenset[str] | None) -> None:
        self._part = part
        self._wanted = wanted
        self._only = only
        self._minions = part.services.minions
        self._clean: set[str] = set()
        self._reasons: dict[str, list[str]] = {}  # minion → why it was not as it should be, by its own last answer
        self._last_round: list[str] = []

    def missing(self, until: float, tell: Callable[[str], None]) -> list[str]:
        """What is not as it should be yet: of the first of the three that isn't."""
        try:
            self._last_round = self._round(until, tell)
        except MinionsAway as error:  # the master is being restarted, say
            return [f"{error.summary}: {error.detail}"]
        return self._last_round

    def _round(self, until: float, tell: Callable[[str], None]) -> list[str]:
        wanted = self._wanted
        answers = self._call(wanted.target, "test.ping", {}, min(until, time.monotonic() + PING))
        here = sorted(minion for minion, answer in answers.items() if answer is not None)
        if len(here) < wanted.expect:
            cut_off = time.monotonic() >= until
            return self._last_round if cut_off and self._last_round else list(self._absent(here, answers))
        if wanted.highstate:
            meant = here if self._only is None else self._only.intersection(here)
            todo = tuple(sorted(set(meant) - self._clean))
            if todo:
                tell(f"highstate on {', '.join(todo)}")
            found = [*self._highstate(todo, until)]
            if found:
                return found
        return [*self._unhealthy(tuple(here), until)] if wanted.health else []

    def _absent(self, here: list[str], answers: Mapping[str, Answer | None]) -> Iterator[str]:
        yield f"{len(here)} of {self._wanted.expect} minions are there"
        named = self._part.component.minions or tuple(sorted(answers))
        absent = [minion for minion in named if minion not in here]
        keys = self._minions.keys() if absent else {}
        for minion in absent:
            key = keys.get(minion, NO_KEY)
            yield f"{minion} {'has no key yet' if key == NO_KEY else f'does not answer (its key is {key})'}"

    def _highstate(self, todo: tuple[str, ...], until: float) -> Iterator[str]:
        for minion, answer in sorted(self._call(todo, "state.apply", {"queue": True}, until).items()):
            found = failures(answer)
            yield from self._reason(minion, answer, found)
            if not found:
                self._clean.add(minion)

    def _unhealthy(self, here: tuple[str, ...], until: float) -> Iterator[str]:
        health = self._wanted.health
        for minion, answer in sorted(self._call(here, health, {}, until).items()):
            found = []
            if answer is None:
                found = [f"{health} did not return in time: it takes longer, or there is no such function"]
            elif lacks_function(health, answer):
                found = [f"it has no function {health}"]
            elif answer.value is not True:
                found = [f"{health} said {str(answer.value)[:200]}"]
            yield from self._reason(minion, answer, found)

    def _reason(self, minion: str, answer: Answer | None, found: list[str]) -> Iterator[str]:
        """Why a minion is not as it should be, unless it is; one that did not answer keeps what it said before."""
        if answer is None:
            found = self._reasons.get(minion) or found
        else:
            self._reasons[minion] = found
        yield from (f"{minion}: {each}" for each in found)

    def _call(
        self, target: str | tuple[str, ...], function: str, options: Mapping[str, object], until: float
    ) -> Mapping[str, Answer | None]:
        if not target:
            return {}
        seconds = max(0.0, until - time.monotonic())
        return self._minions.call(target, function, options, seconds, self._part.services.cancel)


def _in_short(missing: list[str]) -> str:
    more = f"; and {len(missing) - SHOWN} more" if len(missing) > SHOWN else ""
    return "; ".join(missing[:SHOWN]) + more
