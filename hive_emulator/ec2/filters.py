"""Filters of the Describe calls: names from a table, values exact or with ``*`` and ``?``.

A table maps a filter's name to where its value is in a record: a dotted path (lists on the way are
walked through) or a function of the record. Values of one filter are alternatives; filters add up.
``tag:KEY`` and ``tag-key`` work on every record that has ``Tags``. Tables are kept by action in ``TABLES``,
so that the documentation can list them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, partial
from typing import Any

from hive_emulator.errors import ApiError

Record = dict[str, Any]
Getter = Callable[[Record], Any]
Matcher = Callable[[str], Any]

MAX_VALUES = 200
TABLES: dict[str, Mapping[str, Getter]] = {}


def table(action: str, names: Mapping[str, str | Getter]) -> Mapping[str, Getter]:
    """Declares the filters of an action."""
    getters = {name: Path(where) if isinstance(where, str) else where for name, where in names.items()}
    TABLES[action] = getters
    return getters


class Path:
    """Reads ``A.B.C`` from a record; where a list is on the way, from each of its members."""

    def __init__(self, dotted: str) -> None:
        self.steps = dotted.split(".")

    def __call__(self, record: Record) -> list[Any]:
        values: list[Any] = [record]
        for step in self.steps:
            values = _flat([value[step] for value in values if isinstance(value, dict) and step in value])
        return values


def _flat(values: Iterable[Any]) -> list[Any]:
    flat: list[Any] = []
    for value in values:
        flat.extend(value) if isinstance(value, list) else flat.append(value)
    return flat


def apply(
    records: Iterable[Record], filters: list[dict[str, Any]] | None, known: Mapping[str, Getter]
) -> list[Record]:
    """The records that match every filter."""
    found = list(records)
    for one in filters or ():
        matches, getter = _matcher(one), _getter(one.get("Name", ""), known)
        found = [record for record in found if any(matches(text) for text in _texts(getter(record)))]
    return found


def _getter(name: str, known: Mapping[str, Getter]) -> Getter:
    if name in known:
        return known[name]
    if name.startswith("tag:"):
        key = name[4:]
        return lambda record: [tag.get("Value", "") for tag in record.get("Tags", ()) if tag["Key"] == key]
    if name == "tag-key":
        return Path("Tags.Key")
    if name == "tag-value":
        return Path("Tags.Value")
    raise ApiError("InvalidParameterValue", f"The filter '{name}' is invalid")


def _matcher(one: dict[str, Any]) -> Matcher:
    name, values = one.get("Name"), one.get("Values")
    if not name:
        raise ApiError("MissingParameter", "The request must contain the parameter Filter.Name")
    if not values:
        raise ApiError("InvalidParameterValue", f"The filter '{name}' has no values")
    if len(values) > MAX_VALUES:
        raise ApiError(
            "FilterLimitExceeded",
            f"The filter '{name}' has {len(values)} values; the maximum is {MAX_VALUES}",
        )
    return _matches(tuple(values))


@lru_cache(maxsize=512)
def _matches(values: tuple[str, ...]) -> Matcher:
    exact = frozenset(value for value in values if not any(mark in value for mark in "*?\\"))
    globs = [_glob(value) for value in values if value not in exact]
    if not globs:
        return exact.__contains__
    return lambda text: text in exact or any(matches(text) for matches in globs)


def _glob(value: str) -> Matcher:
    """Matches ``*`` (any text) and ``?`` (one character); a backslash takes the next character as it is.

    The pieces between the stars are looked for one after the other, each as far left as it goes. That is enough,
    and its cost grows with the length only: one regular expression would try every way to share out the text.
    """
    pieces = [""]
    for mark in re.findall(r"\\.|.|\\", value, re.DOTALL):
        if mark == "*":
            pieces.append("")
        else:
            pieces[-1] += "." if mark == "?" else re.escape(mark[-1])
    if len(pieces) == 1:
        return re.compile(pieces[0], re.DOTALL).fullmatch
    pieces[-1] += r"\Z"
    return partial(_in_order, [re.compile(piece, re.DOTALL) for piece in pieces])


def _in_order(pieces: list[re.Pattern[str]], text: str) -> bool:
    found = pieces[0].match(text)
    for piece in pieces[1:]:
        found = found and piece.search(text, found.end())
    return bool(found)


def _texts(value: Any) -> Iterable[str]:
    """How AWS writes a value in a filter: true and false in small letters, numbers in digits."""
    for one in value if isinstance(value, (list, tuple, set, frozenset)) else (value,):
        if isinstance(one, bool):
            yield "true" if one else "false"
        elif one is not None:
            yield str(one)
