"""An environment's `health:`: a Salt function or state that must be true on its minions.

1. Who is meant is known to the master, not only to those who answer: the ids that the target names, and the accepted
   ones that it matches. A target that means nobody is refused.
2. Each of them is well if what it returned is true. One without an accepted key, one that says nothing and one that
   has no such function are not, and each is told in its own words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from saltform.config.types import Health
from saltform.engine.services import Services
from saltform.errors import SaltformError
from saltform.features.minions.highstate import failures
from saltform.minions import ACCEPTED, NO_KEY, PING, Answer, named_ids

_LONGEST = 200  # characters of what a minion returned


def unwell(services: Services, health: Health) -> str:
    """Why the environment is not well; empty when every minion that is meant says that it is."""
    asked = " ".join((health.function, *health.arguments))
    try:
        troubles, meant = list(_without_key(services, health)), services.minions.matched(health.targets)
        answers = services.minions.call(
            health.targets, health.function, {}, health.timeout, services.cancel, health.arguments
        )
    except SaltformError as error:
        return f"{asked}: {error.summary}: {error.detail}"
    judged = sorted(meant.union(minion for minion, answer in answers.items() if answer is not None))
    if not judged and not troubles:
        return f"{asked}: no minion matches {health.targets!r}"
    alive = _answer_a_ping(services, [minion for minion in judged if answers.get(minion) is None])
    for minion in judged:
        answer = answers.get(minion)
        if answer is None and minion in alive:
            slow = "it takes longer, or there is no such function"
            troubles.append(f"{minion} answers, but not {asked} within {health.timeout:g} s ({slow})")
        elif answer is None:
            troubles.append(f"{minion} did not answer {asked} within {health.timeout:g} s")
        elif lacks_function(health.function, answer):
            troubles.append(f"{minion} has no function {health.function} ({_in_short(answer, health.function)})")
        elif not _true(answer):
            troubles.append(f"{asked} is not true on {minion} ({_in_short(answer, health.function)})")
    return "; ".join(troubles)


def _answer_a_ping(services: Services, silent: list[str]) -> frozenset[str]:
    """Those that are there: a minion loads all of its modules before it says that it lacks a function."""
    try:
        answers = services.minions.call(tuple(silent), "test.ping", {}, PING, services.cancel) if silent else {}
    except SaltformError:
        return frozenset()
    return frozenset(minion for minion, answer in answers.items() if answer is not None)


def lacks_function(function: str, answer: Answer) -> bool:
    """Whether the minion has no such function: Salt says so in its return, beside the function's documentation."""
    said = answer.value.get(function) if isinstance(answer.value, Mapping) else answer.value
    module = function.partition(".")[0]
    known = (f"'{function}' is not available", f"'{module}' __virtual__ returned False")
    return bool(answer.retcode) and isinstance(said, str) and said.startswith(known)


def _without_key(services: Services, health: Health) -> Iterator[str]:
    """Those that the target names and that can't answer: they are not minions of this master."""
    names = named_ids(health.targets)
    keys = services.minions.keys() if names else {}
    for minion in names:
        state = keys.get(minion, NO_KEY)
        if state != ACCEPTED:
            yield f"{minion} is no minion of this master" if state == NO_KEY else f"the key of {minion} is {state}"


def _in_short(answer: Answer, function: str) -> str:
    """What it returned, in a line: the states that failed, or the value."""
    said = answer.value.get(function, answer.value) if isinstance(answer.value, Mapping) else answer.value
    found = failures(answer) if function.startswith("state.") else [f"it returned {said}"]
    line = " ".join("; ".join(found or [f"it returned {said}"]).split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def _true(answer: Answer) -> bool:
    """A function's answer, or the results of a state: none of them failed, and there is one."""
    said = answer.value
    if answer.retcode:
        return False
    if isinstance(said, Mapping) and said and all(isinstance(item, Mapping) for item in said.values()):
        return all(item.get("result") is True for item in said.values())
    return said is True or (isinstance(said, Mapping) and said.get("result") is True)
