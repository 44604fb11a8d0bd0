"""Planned values: what JSON has, and two things that it hasn't.

1. `UNKNOWN` is a value that only the apply will tell. It is an object of its own, so that no text that a module
   could write is ever taken for it.
2. `Hidden` stands for a sensitive value. All it keeps is a keyed digest, so that two plans can be compared.
"""

from __future__ import annotations

import hashlib
import hmac
import itertools
import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from saltform.report.words import HIDDEN

NOT_KNOWN = "(known after apply)"


class _Unknown:
    """Not known before the apply."""

    def __repr__(self) -> str:
        return NOT_KNOWN


UNKNOWN = _Unknown()


@dataclass(frozen=True, slots=True)
class Hidden:
    """A sensitive value: known to Terraform, and not to us."""

    mark: str

    def __repr__(self) -> str:
        return HIDDEN


Hides = Callable[[str], bool]  # whether a text holds a secret, wherever it stands


class Merger:
    """Puts a value together with its marks: what is unknown in it, and what is sensitive."""

    def __init__(self, key: bytes, hides: Hides) -> None:
        self._key = key
        self._hides = hides

    def merged(self, value: Any, unknown: Any = None, sensitive: Any = None) -> Any:
        if unknown is True:
            return UNKNOWN
        if sensitive is True:
            return value if value is None else self._hidden(_plain(value, unknown))
        if isinstance(value, str):
            return self._hidden(value) if value and self._hides(value) else value
        if isinstance(value, dict):
            return self._mapping(value, unknown or {}, sensitive or {})
        if isinstance(value, list):
            return [self.merged(*each) for each in _beside(value, unknown, sensitive)]
        return value

    def _mapping(self, value: dict[str, Any], unknown: dict[str, Any], sensitive: dict[str, Any]) -> dict[str, Any]:
        found = {}
        for key, item in value.items():
            kind = type(item)
            if kind is dict or kind is list or key in sensitive or key in unknown:
                item = self.merged(item, unknown.get(key), sensitive.get(key))
            elif kind is str and item and self._hides(item):  # most attributes are this simple
                item = self._hidden(item)
            found[key] = item
        # An attribute that isn't known at all is left out of the values, or is null.
        found.update((key, UNKNOWN) for key, mark in unknown.items() if mark is True)
        return found

    def _hidden(self, value: Any) -> Hidden:
        return Hidden(hmac.new(self._key, canonical(value).encode(), hashlib.sha256).hexdigest())


def _plain(value: Any, unknown: Any) -> Any:
    return Merger(b"", lambda _: False).merged(value, unknown, None) if unknown else value


def _beside(value: list[Any], unknown: Any, sensitive: Any) -> Iterator[tuple[Any, ...]]:
    if not unknown and not sensitive:
        return zip(value)
    size = len(value)
    return itertools.zip_longest(value, (unknown or [])[:size], (sensitive or [])[:size])


def canonical(value: Any) -> str:
    """One text for each value. NaN and Infinity are no JSON, so nothing that a plan says looks like ours."""
    return _ENCODER.encode(value)


def _encoded(value: object) -> Any:
    if value is UNKNOWN:
        return math.nan
    if isinstance(value, Hidden):
        return [math.inf, value.mark]
    raise TypeError(f"{type(value).__name__} is no planned value")


_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), default=_encoded)


def shown(value: Any) -> Any:
    """The value for people and machines: plain data, with words where there is no value to show."""
    if value is UNKNOWN or isinstance(value, Hidden):
        return repr(value)
    if isinstance(value, Mapping):
        return {key: shown(item) for key, item in value.items()}
    return [shown(item) for item in value] if isinstance(value, list) else value


def is_empty(value: Any) -> bool:
    """Nothing and empty are the same: providers write one for the other. `false` and 0 are something."""
    return value is None or value == "" or value == [] or value == {}


def texts(value: Any, marks: Any) -> Iterator[str]:
    """Every text that is marked sensitive."""
    if marks is True:
        yield from _texts(value)
    elif isinstance(marks, dict) and isinstance(value, dict):
        for key, mark in marks.items():
            if mark:
                yield from texts(value.get(key), mark)
    elif isinstance(marks, list) and isinstance(value, list):
        for item, mark in zip(value, marks, strict=False):
            if mark:
                yield from texts(item, mark)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)
