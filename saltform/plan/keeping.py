"""A plan as text and back, so that a later one can be compared with it. A Plan holds no sensitive value."""

from __future__ import annotations

import json
from typing import Any

from saltform.errors import PlanError
from saltform.plan.comparing import parts
from saltform.plan.types import Change, Plan
from saltform.plan.values import UNKNOWN, Hidden, canonical


class _Mark:
    """Stands before a hidden value's digest: nothing that JSON itself can say."""


_MARK = _Mark()
_CONSTANTS = {"NaN": UNKNOWN, "Infinity": _MARK}


def dumped(plan: Plan) -> str:
    return canonical([[parts(change) for change in plan], dict(plan.outputs)])


def loaded(text: str) -> Plan:
    """What `dumped` wrote; PlanError for anything else."""
    try:
        changes, outputs = _restored(json.loads(text, parse_constant=_CONSTANTS.__getitem__))
        return Plan(tuple(_change(*each) for each in changes), outputs)
    except (ValueError, TypeError, KeyError) as error:
        raise PlanError("a kept plan can't be read", f"it is not as it was written: {error!r}") from None


def _change(
    address: str,
    deposed: str,
    kind: str,
    action: str,
    reason: str,
    moved_from: str,
    imported: bool,
    replace_paths: list[list[str | int]],
    before: Any,
    after: Any,
) -> Change:
    paths = frozenset(map(tuple, replace_paths))
    return Change(address, kind, action, before, after, reason, paths, deposed, moved_from, imported)


def _restored(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _restored(item) for key, item in value.items()}
    if isinstance(value, list):
        return Hidden(value[1]) if value[:1] == [_MARK] else [_restored(item) for item in value]
    return value
