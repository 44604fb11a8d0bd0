"""A reader of one pillar mapping that collects problems instead of stopping at the first.

Each accessor returns a usable value even when the pillar is wrong, so that one pass finds everything.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from saltform.config.names import nearest
from saltform.errors import Problem

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)([smhd])")


def shown(value: Any) -> str:
    """A value as it is shown in a message: short, with its type where that helps."""
    if value is None:
        return "nothing"
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"


class Reader:
    """One mapping of the pillar at `path`; sub-readers share the list of problems."""

    __slots__ = ("_problems", "path", "tree")

    def __init__(self, tree: Any, path: str, problems: list[Problem]) -> None:
        self.path = path
        self._problems = problems
        self.tree: Mapping[str, Any] = tree if isinstance(tree, Mapping) else {}
        if not isinstance(tree, Mapping) and tree is not None:
            # Never the value itself: it may be a secret that stands where its source should.
            found = shown(tree) if isinstance(tree, list) else f"a value of type {type(tree).__name__}"
            self.add(Problem(path, found, "a mapping"))

    def at(self, key: str) -> str:
        return f"{self.path}:{key}" if key else self.path

    def problem(self, key: str, found: Any, expected: str, near: str = "") -> None:
        self._problems.append(Problem(self.at(key), shown(found), expected, near))

    def only(self, allowed: Iterable[str]) -> None:
        """Every key that isn't allowed is a problem."""
        names = frozenset(allowed)
        for key in self.tree:
            if key not in names:
                expected = "one of: " + ", ".join(sorted(names))
                self._problems.append(
                    Problem(self.at(str(key)), f"the unknown key {str(key)!r}", expected, nearest(str(key), names))
                )

    def add(self, problem: Problem) -> None:
        self._problems.append(problem)

    def section(self, key: str) -> Reader:
        return self.nested(key, self.tree.get(key))

    def nested(self, key: str, tree: Any) -> Reader:
        return Reader(tree, self.at(key), self._problems)

    def text(self, key: str, default: str = "") -> str:
        value = self.tree.get(key)
        if value is None:
            return default
        if not isinstance(value, str):
            expected = "a string (put it in quotes)" if isinstance(value, int | float) else "a string"
            self.problem(key, value, expected)
            return default
        return value

    def flag(self, key: str, default: bool = False) -> bool:
        value = self.tree.get(key)
        if value is None:
            return default
        if not isinstance(value, bool):
            self.problem(key, value, "true or false")
            return default
        return value

    def number(self, key: str, default: int, low: int, high: int) -> int:
        value = self.tree.get(key)
        if value is None:
            return default
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            self.problem(key, value, f"a whole number from {low} to {high}")
            return default
        return value

    def choice(self, key: str, default: str, allowed: Iterable[str]) -> str:
        value = self.text(key, default)
        names = list(allowed)
        if value not in names:
            self.problem(key, value, "one of: " + ", ".join(names), nearest(value, names))
            return default
        return value

    def seconds(self, key: str, default: float) -> float:
        value = self.tree.get(key)
        if value is None:
            return default
        duration = parse_duration(value)
        if duration is None:
            zero = _seconds(value) == 0.0
            why = f"a time above zero: leave `{key}` out instead, or say one" if zero else "a time"
            self.problem(key, value, f"{why} such as 30s, 5m, 1h or 2d")
            return default
        return duration

    def texts(self, key: str) -> list[str]:
        """A list of strings; a single string stands for a list of one."""
        value = self.tree.get(key)
        if value is None:
            return []
        if isinstance(value, str):
            return [value]
        if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
            self.problem(key, value, "a list of strings")
            return []
        return list(value)

    def values(self, key: str) -> dict[str, Any]:
        """A mapping of plain data that Terraform can take: what YAML gives, with its types kept."""
        section = self.section(key)
        return {str(name): section.plain(str(name), value) for name, value in section.tree.items()}

    def plain(self, key: str, value: Any) -> Any:
        """`value` as plain data (dict, list, str, int, float, bool, None), problems collected."""
        if value is None or isinstance(value, str | bool | int):
            return value
        if isinstance(value, float):
            if not math.isfinite(value):
                self.problem(key, value, "a finite number")
                return None
            return value
        if isinstance(value, Mapping):
            for name in value:
                if not isinstance(name, str):
                    self.problem(key, name, "a string as key (put it in quotes)")
            return {str(name): self.plain(f"{key}:{name}", item) for name, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.plain(f"{key}:{index}", item) for index, item in enumerate(value)]
        self.problem(key, value, "a string, number, boolean, list, mapping or null (put dates in quotes)")
        return None


def parse_duration(value: Any) -> float | None:
    """Seconds of `30s`, `5m`, `1h30m` or a plain number; None when it is none of these, or no time at all."""
    return _seconds(value) or None


def _seconds(value: Any) -> float | None:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value) if value >= 0 and math.isfinite(value) else None
    parts = _DURATION.findall(value) if isinstance(value, str) else []
    if not parts or "".join(number + unit for number, unit in parts) != value:
        return None
    return sum(float(number) * _UNITS[unit] for number, unit in parts)
