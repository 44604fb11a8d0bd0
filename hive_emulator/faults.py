"""Faults on purpose, for the tests of everything that talks to a cloud. None unless asked for.

A fault is a JSON object; several are a JSON list, in a file (``--faults FILE``) or an admin call
(``PUT /_hive/faults``). The first one that fits a request is used:

    {"action": "RunInstances", "error": "InsufficientInstanceCapacity", "times": 2}
    {"action": "Describe*", "throttle": true, "chance": 0.1}
    {"action": "CreateVpc", "latency_ms": 800}
    {"action": "*", "hang": true}
    {"action": "CreateTags", "drop": true, "after": true}
    {"action": "Describe*", "stale_ms": 500}
"""

from __future__ import annotations

import difflib
import json
import random
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, fields
from fnmatch import fnmatchcase
from typing import Any

from hive_emulator.errors import ApiError


class FaultsError(Exception):
    """The faults that were given can't be read; the text says why."""


@dataclass
class Fault:
    """What happens to requests whose action fits; several effects may be combined."""

    action: str  # a name, or a pattern with * and ?
    error: str | None = None  # AWS's code
    message: str = "This fault was asked for."
    status: int = 400
    throttle: bool = False  # RequestLimitExceeded, 503
    latency_ms: float = 0.0
    hang: bool = False  # no answer until the client goes away
    drop: bool = False  # the connection is closed without an answer
    stale_ms: float = 0.0  # what was created less than this ago is not seen
    after: bool = False  # error, hang and drop come after the action has done its work
    times: int | None = None  # so often, then no more
    chance: float = 1.0  # of each request that fits

    def problem(self) -> ApiError | None:
        """The error to answer with, if any."""
        if self.throttle:
            return ApiError("RequestLimitExceeded", "Request limit exceeded.", 503)
        return ApiError(self.error, self.message, self.status) if self.error else None


_TYPES: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "str | None": (str, type(None)),
    "int": (int,),
    "int | None": (int, type(None)),
    "float": (int, float),
    "bool": (bool,),
}


_DAY_MS = 24 * 3600 * 1000
_RANGES: dict[str, tuple[float, float]] = {
    "status": (400, 599),
    "latency_ms": (0, _DAY_MS),
    "stale_ms": (0, _DAY_MS),
    "times": (0, 10**9),
    "chance": (0, 1),
}


class Faults:
    """The faults in force."""

    def __init__(self, chance: Callable[[], float] = random.random) -> None:
        self._faults: list[Fault] = []
        self._chance = chance

    def __bool__(self) -> bool:
        return bool(self._faults)

    @property
    def stale(self) -> bool:
        """True when some fault hides what is new, so that births have to be noted."""
        return any(fault.stale_ms for fault in self._faults)

    def set(self, faults: Sequence[Fault]) -> None:
        """Replace all."""
        self._faults = list(faults)

    def listed(self) -> list[dict[str, Any]]:
        """As they were given."""
        return [{f.name: getattr(each, f.name) for f in fields(Fault)} for each in self._faults]

    def pick(self, action: str) -> Fault | None:
        """The fault for a request, counted."""
        for fault in self._faults:
            if fault.times == 0 or not fnmatchcase(action, fault.action):
                continue
            if fault.chance < 1.0 and self._chance() >= fault.chance:
                continue
            if fault.times is not None:
                fault.times -= 1
            return fault
        return None


def read(text: str | bytes) -> list[Fault]:
    """Faults from JSON."""
    try:
        given = json.loads(text)
    except ValueError as error:
        raise FaultsError(f"not JSON: {error}") from None
    if not isinstance(given, list):
        raise FaultsError('expected a list of faults, e.g. [{"action": "CreateVpc", "latency_ms": 800}]')
    return [_fault(each, number) for number, each in enumerate(given, 1)]


def _fault(given: Any, number: int) -> Fault:
    if not isinstance(given, dict) or not isinstance(given.get("action"), str):
        raise FaultsError(
            f"fault {number}: expected an object with an action (a name or a pattern such as Describe*)"
        )
    known = {field.name: str(field.type) for field in fields(Fault)}
    for name, value in given.items():
        if name not in known:
            raise FaultsError(f"fault {number}: '{name}' is not known; there are {', '.join(known)}")
        wrong_bool = isinstance(value, bool) and known[name] != "bool"
        if wrong_bool or not isinstance(value, _TYPES[known[name]]):
            raise FaultsError(f"fault {number}: {name} is {value!r}, expected {known[name]}")
        if name in _RANGES and isinstance(value, (int, float)):
            _check_range(number, name, value)
    return Fault(**given)


def _check_range(number: int, name: str, value: float) -> None:
    low, high = _RANGES[name]
    if not low <= value <= high:
        raise FaultsError(f"fault {number}: {name} is {value!r}, expected {low:g} to {high:g}")


def check_actions(faults: Sequence[Fault], names: Collection[str]) -> None:
    """Refuses what fits no call there is: such a fault would never be met, and nobody would know."""
    for number, fault in enumerate(faults, 1):
        met = [name for name in names if fnmatchcase(name, fault.action)]
        if not met:
            near = difflib.get_close_matches(fault.action, names, 1)
            hint = f"did you mean {near[0]}?" if near else "expected a name or a pattern such as Describe*"
            raise FaultsError(f"fault {number}: no call fits the action '{fault.action}'; {hint}")
        if fault.stale_ms and not any(name.startswith("Describe") for name in met):
            raise FaultsError(f"fault {number}: stale_ms is for a Describe, which '{fault.action}' does not fit")
