"""When two plans promise the same, and when a later one keeps what an earlier one promised.

1. `digest` is over everything that is planned and nothing that is not: not the time, not the version of the file's
   format, not the order of the document.
2. `later` refines `approved` if it touches the same resources in the same way for the same reason, starting from the
   same values, and every value that was known is the same. What was unknown may be anything. A data source that had
   to wait for the apply may have been read meanwhile; less may force a replacement.
3. So refining is a partial order: every plan refines itself, two that refine each other have the same digest, and a
   refinement of a refinement is one.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Any

from saltform.plan.differences import same
from saltform.plan.types import Change, Plan
from saltform.plan.values import UNKNOWN, canonical


def digest(plan: Plan, key: bytes) -> str:
    """Keyed: the values that it is made of could be guessed otherwise."""
    found = hmac.new(key, digestmod=hashlib.sha256)
    for change in plan:
        found.update(canonical(parts(change)).encode())
        found.update(b"\n")
    found.update(canonical(plan.outputs).encode())
    return found.hexdigest()


def refines(approved: Plan, later: Plan) -> bool:
    """Whether an approval of `approved` covers `later`."""
    promised = {change.key: change for change in approved}
    planned = {change.key: change for change in later}
    missing = promised.keys() - planned.keys()
    if planned.keys() - promised.keys() or any(promised[key].action != "read" for key in missing):
        return False
    return all(_change_refines(promised[key], change) for key, change in planned.items()) and _value_refines(
        dict(approved.outputs), dict(later.outputs)
    )


def parts(change: Change) -> list[Any]:
    """Everything that a change promises, in a fixed order."""
    return [*_fixed(change), sorted(map(list, change.replace_paths), key=canonical), change.before, change.after]


def _fixed(change: Change) -> list[Any]:
    return [
        change.address,
        change.deposed,
        change.type,
        change.action,
        change.reason,
        change.moved_from,
        change.imported,
    ]


def _change_refines(approved: Change, later: Change) -> bool:
    return (
        _fixed(approved) == _fixed(later)
        and later.replace_paths <= approved.replace_paths
        and same(approved.before, later.before)
        and _value_refines(approved.after, later.after)
    )


def _value_refines(approved: Any, later: Any) -> bool:
    if approved is UNKNOWN:
        return True
    if isinstance(approved, dict) and isinstance(later, dict):
        return approved.keys() == later.keys() and all(_value_refines(approved[key], later[key]) for key in approved)
    if isinstance(approved, list) and isinstance(later, list):
        return len(approved) == len(later) and all(map(_value_refines, approved, later))
    return same(approved, later)
