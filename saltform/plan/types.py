"""A plan as it is judged and shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from saltform.plan.differences import Path, differences, dotted
from saltform.plan.values import UNKNOWN, shown


@dataclass(frozen=True)
class Attribute:
    """One attribute that changes."""

    path: str
    before: Any
    after: Any
    forces: bool = False  # the resource has to be replaced because of it

    def as_dict(self) -> dict[str, Any]:
        found = {"path": self.path, "before": shown(self.before), "after": shown(self.after)}
        if self.after is UNKNOWN:
            found["unknown"] = True
        return found | ({"forces_replacement": True} if self.forces else {})


@dataclass(frozen=True)
class Change:
    """What happens to one resource. `before` and `after` are all its values, None where it isn't there."""

    address: str
    type: str
    action: str  # create, update, delete, replace, read, forget, import, move
    before: Any = None
    after: Any = None
    reason: str = ""
    replace_paths: frozenset[Path] = frozenset()
    deposed: str = ""
    moved_from: str = ""
    imported: bool = False

    @property
    def key(self) -> tuple[str, str]:
        return self.address, self.deposed

    @cached_property
    def attributes(self) -> tuple[Attribute, ...]:
        """What differs; of a resource that goes away, nothing but that it goes."""
        if self.action in ("delete", "forget"):
            return ()
        return tuple(
            Attribute(dotted(path), before, after, self._forces(path))
            for path, before, after in differences(self.before, self.after)
        )

    def _forces(self, path: Path) -> bool:
        return any(path[: len(forced)] == forced or forced[: len(path)] == path for forced in self.replace_paths)

    def as_dict(self) -> dict[str, Any]:
        """The change as rules see it: all values, secrets and unknowns as words."""
        return {
            "address": self.address,
            "type": self.type,
            "action": self.action,
            "reason": self.reason,
            "before": shown(self.before),
            "after": shown(self.after),
        }


@dataclass(frozen=True)
class Plan:
    """All changes by address, and what the outputs will be."""

    changes: tuple[Change, ...] = ()
    outputs: Mapping[str, Any] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Change]:
        return iter(self.changes)
