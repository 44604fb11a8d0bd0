"""The table of calls (`calls.json`) as objects, and the way from a path to one of them."""

from __future__ import annotations

import importlib
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from proxmox_emulator.api.schema import Parameters
from proxmox_emulator.errors import ApiError

if TYPE_CHECKING:
    from proxmox_emulator.request import Request

_HERE = Path(__file__).parent
Handler = Callable[["Request"], Awaitable[Any]]


@dataclass(frozen=True)
class Call:
    """One row of the table."""

    method: str
    path: str
    does: str
    may: str
    needs: tuple[str, ...]
    takes: tuple[str, ...]
    types: tuple[tuple[str, Any], ...]

    @cached_property
    def handler(self) -> Handler:
        """The function that does the work."""
        module, function = self.does.split(":")
        return getattr(importlib.import_module(f"proxmox_emulator.{module}"), function)

    @cached_property
    def parameters(self) -> Parameters:
        """What it takes, the names in its path included."""
        in_path = [part[1:-1] for part in self.path.split("/") if part.startswith("{")]
        types = {**_table()[1], **dict(self.types)}
        names = dict.fromkeys([*in_path, *self.needs, *self.takes])
        return Parameters({name: types[name] for name in names}, frozenset([*in_path, *self.needs]))


@lru_cache(maxsize=1)
def _table() -> tuple[dict[str, Any], dict[str, Any]]:
    read = {name: json.loads((_HERE / f"{name}.json").read_text()) for name in ("calls", "parameters")}
    return read["calls"], read["parameters"]


def _words(text: str, groups: dict[str, list[str]]) -> tuple[str, ...]:
    found: list[str] = []
    for word in text.split():
        found += " ".join(groups[word[1:]]).split() if word.startswith("@") else [word]
    return tuple(found)


@lru_cache(maxsize=1)
def table() -> list[Call]:
    """All calls."""
    rows, groups = _table()[0]["calls"], _table()[0]["groups"]
    found = []
    for row in rows:
        method, path = row["call"].split(" ")
        needs, takes = (_words(row.get(key, ""), groups) for key in ("needs", "takes"))
        found.append(Call(method, path, row["does"], row["may"], needs, takes, tuple(row.get("types", {}).items())))
    return found


@dataclass
class _Branch:
    """One segment of the paths: what may follow it, by name or as a value, and the calls that end here."""

    named: dict[str, _Branch] = field(default_factory=dict)
    value: _Branch | None = None
    value_name: str = ""
    calls: dict[str, Call] = field(default_factory=dict)

    def add(self, parts: list[str], call: Call) -> None:
        if not parts:
            self.calls[call.method] = call
        elif parts[0].startswith("{"):
            self.value = self.value or _Branch()
            self.value_name = parts[0][1:-1]
            self.value.add(parts[1:], call)
        else:
            self.named.setdefault(parts[0], _Branch()).add(parts[1:], call)


class Router:
    """From method and path to the call and the values in the path."""

    def __init__(self) -> None:
        self._root = _Branch()
        for call in table():
            self._root.add(call.path.strip("/").split("/"), call)

    def find(self, method: str, segments: list[str]) -> tuple[Call, dict[str, str]]:
        """The call; what isn't in the table is a 501, as Proxmox answers it."""
        branch: _Branch | None = self._root
        values: dict[str, str] = {}
        for segment in segments:
            assert branch is not None  # noqa: S101 - for the type checker
            if segment in branch.named:
                branch = branch.named[segment]
                continue
            values[branch.value_name] = segment
            branch = branch.value if segment else None
            if branch is None:
                break
        call = branch.calls.get(method) if branch else None
        if call is None:
            raise ApiError(f"Method '{method} /{'/'.join(segments)}' not implemented", 501)
        return call, values
