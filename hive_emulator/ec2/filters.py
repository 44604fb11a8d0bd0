"""Filters of the Describe calls: names from a table, values exact or with ``*`` and ``?``.

A table maps a filter's name to where its value is in a record: a dotted path (lists on the way are
walked through) or a function of the record. Values of one filter are alternatives; filters add up.
``tag:KEY`` and ``tag-key`` work on every record that has ``Tags``. Tables are kept by action in ``TABLES``,
so that the documentation can list them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

from hive_emulator.errors import ApiError

Record = dict[str, Any]
Getter = Callable[[Record], Any]
Matcher = Callable[[str], Any]

MAX_FILTERS = 50
MAX_VALUES = 200  # of a filter
MAX_LENGTH = 1_000  # characters of a value
MAX_TEXT = 65_536  # characters of all values together
_KEPT = 10  # values of a filter whose matcher is kept: longer lists hardly come again
_MARKS = re.compile(r"\\.|.|\\", re.DOTALL)
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
    _check_size(filters or ())
    for one in filters or ():
        matches, getter = _matcher(one), _getter(one.get("Name", ""), known)
        found = [record for record in found if any(matches(text) for text in _texts(getter(record)))]
    return found


def _check_size(filters: Sequence[dict[str, Any]]) -> None:
    if len(filters) > MAX_FILTERS:
        raise _too_many(f"The request has {len(filters)} filters; the maximum is {MAX_FILTERS}")
    text = 0
    for one in filters:
        lengths = [len(value) for value in one.get("Values") or ()]
        if len(lengths) > MAX_VALUES:
            raise _too_many(f"The filter '{one.get('Name')}' has {len(lengths)} values; the maximum is {MAX_VALUES}")
        if max(lengths, default=0) > MAX_LENGTH:
            raise ApiError(
                "InvalidParameterValue",
                f"A value of the filter '{one.get('Name')}' is longer than {MAX_LENGTH:,} characters",
            )
        text += sum(lengths)
    if text > MAX_TEXT:
        raise _too_many(f"The filters' values are longer than {MAX_TEXT:,} characters together")


def _too_many(message: str) -> ApiError:
    return ApiError("FilterLimitExceeded", message)


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
    return (_kept_matches if len(values) <= _KEPT else _matches)(tuple(values))


def _matches(values: tuple[str, ...]) -> Matcher:
    exact = frozenset(value for value in values if not any(mark in value for mark in "*?\\"))
    globs = [_glob(value) for value in values if value not in exact]
    if not globs:
        return exact.__contains__
    return lambda text: text in exact or any(matches(text) for matches in globs)


_kept_matches = lru_cache(maxsize=512)(_matches)


def _glob(value: str) -> Matcher:
    """Matches ``*`` (any text) and ``?`` (one character); a backslash takes the next character as it is.

    The cost of both ways grows with the lengths only, however many stars there are. A regular expression takes longer
    to compile than all of this, or tries every way to share out the text among the stars.
    """
    marks = _MARKS.findall(value)
    if "?" in marks:
        return partial(_step_by_step, *_steps(marks))
    pieces = [""]
    for mark in marks:
        if mark == "*":
            pieces.append("")
        else:
            pieces[-1] += mark[-1]
    return pieces[0].__eq__ if len(pieces) == 1 else partial(_in_order, pieces)


def _in_order(pieces: list[str], text: str) -> bool:
    """The pieces between the stars, one after the other, each as far left as it goes: that is enough."""
    first, *middle, last = pieces
    at, end = len(first), len(text) - len(last)
    if end < at or not text.startswith(first) or not text.endswith(last):
        return False
    for piece in middle:
        found = text.find(piece, at, end)
        if found < 0:
            return False
        at = found + len(piece)
    return True


def _steps(marks: list[str]) -> tuple[dict[str, int], int, int, int]:
    """A pattern as bits: which characters lead from step N to the next one, and where a star stays at its step."""
    leads: dict[str, int] = {}
    any_leads = stays = step = 0
    for mark in marks:
        if mark == "*":
            stays |= 1 << step
            continue
        if mark == "?":
            any_leads |= 1 << step
        else:
            leads[mark[-1]] = leads.get(mark[-1], 0) | 1 << step
        step += 1
    return {mark: bits | any_leads for mark, bits in leads.items()}, any_leads, stays, step


def _step_by_step(leads: dict[str, int], any_leads: int, stays: int, last: int, text: str) -> bool:
    """All steps that can be reached with the text so far, at once, as the bits of one number."""
    reached = 1
    for mark in text:
        reached = ((reached & leads.get(mark, any_leads)) << 1) | (reached & stays)
        if not reached:
            return False
    return bool(reached >> last & 1)


def _texts(value: Any) -> Iterable[str]:
    """How AWS writes a value in a filter: true and false in small letters, numbers in digits."""
    for one in value if isinstance(value, (list, tuple, set, frozenset)) else (value,):
        if isinstance(one, bool):
            yield "true" if one else "false"
        elif one is not None:
            yield str(one)
