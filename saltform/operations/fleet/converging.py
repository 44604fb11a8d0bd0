"""Waiting for the fleet: a component with `converge` is done when its minions are.

1. The minions are there: at least as many as expected match the target and answer. Their keys are accepted by then,
   because nobody else can answer.
2. If asked for, their highstate is clean: every state of it, on every one of them.
3. If asked for, they are healthy: the function returns True on every one of them.
What is missing is said, and all of it is looked at again after a pause, until the time is up. A minion that comes
late has its highstate run like the others; what was clean is not run again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping

from saltform.config.types import Converge
from saltform.errors import Cancelled, NotConverged
from saltform.fleet import NO_KEY, PING, Answer, FleetAway
from saltform.operations.fleet.highstate import failures
from saltform.operations.step.part import Part

PAUSE = 3.0  # seconds between two looks
SHOWN = 3  # of what is missing, in one line


def converge(part: Part, wanted: Converge, tell: Callable[[str], None]) -> None:
    """Return when the fleet is as wanted; `tell` is given what is missing, again and again."""
    waiting = _Waiting(part, wanted)
    until = time.monotonic() + wanted.timeout
    tell("waiting for its minions")
    while True:
        missing = [part.opened.masked(item) for item in waiting.missing(until, tell)]
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

    def __init__(self, part: Part, wanted: Converge) -> None:
        self._part = part
        self._wanted = wanted
        self._fleet = part.services.fleet
        self._clean: set[str] = set()

    def missing(self, until: float, tell: Callable[[str], None]) -> list[str]:
        """What is not as it should be yet: of the first of the three that isn't."""
        wanted = self._wanted
        try:
            answers = self._call(wanted.target, "test.ping", {}, min(until, time.monotonic() + PING))
            here = sorted(minion for minion, answer in answers.items() if answer is not None)
            if len(here) < wanted.expect:
                return list(self._absent(here, answers, wanted.expect))
            if wanted.highstate:
                todo = tuple(minion for minion in here if minion not in self._clean)
                if todo:
                    tell(f"highstate on {', '.join(todo)}")
                found = [*self._highstate(todo, until)]
                if found:
                    return found
            return [*self._unhealthy(tuple(here), until)] if wanted.health else []
        except FleetAway as error:  # the master is being restarted, say
            return [f"{error.summary}: {error.detail}"]

    def _absent(self, here: list[str], answers: Mapping[str, Answer | None], expect: int) -> Iterator[str]:
        yield f"{len(here)} of {expect} minions are there"
        named = self._part.component.minions or tuple(sorted(answers))
        absent = [minion for minion in named if minion not in here]
        keys = self._fleet.keys() if absent else {}
        for minion in absent:
            key = keys.get(minion, NO_KEY)
            yield f"{minion} {'has no key yet' if key == NO_KEY else f'does not answer (its key is {key})'}"

    def _highstate(self, todo: tuple[str, ...], until: float) -> Iterator[str]:
        for minion, answer in sorted(self._call(todo, "state.apply", {"queue": True}, until).items()):
            found = failures(answer)
            if found:
                yield from (f"{minion}: {each}" for each in found)
            else:
                self._clean.add(minion)

    def _unhealthy(self, here: tuple[str, ...], until: float) -> Iterator[str]:
        health = self._wanted.health
        for minion, answer in sorted(self._call(here, health, {}, until).items()):
            if answer is None:
                yield f"{minion}: {health} did not answer"
            elif answer.value is not True:
                yield f"{minion}: {health} said {str(answer.value)[:200]}"

    def _call(
        self, target: str | tuple[str, ...], function: str, options: Mapping[str, object], until: float
    ) -> Mapping[str, Answer | None]:
        if not target:
            return {}
        seconds = max(0.0, until - time.monotonic())
        return self._fleet.call(target, function, options, seconds, self._part.services.cancel)


def _in_short(missing: list[str]) -> str:
    more = f"; and {len(missing) - SHOWN} more" if len(missing) > SHOWN else ""
    return "; ".join(missing[:SHOWN]) + more
