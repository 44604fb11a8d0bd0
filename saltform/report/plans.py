"""A plan's changes, line by line: the same words for a terminal and for Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from saltform.report.drift import value
from saltform.report.words import HIDDEN, clean, plural

Record = Mapping[str, Any]
MOST_ATTRIBUTES = 30  # of one change; the return has them all
_LEVELS = ("deny", "approve", "warn")


def danger(step: Record) -> int:
    """How far up a step belongs: the most severe verdict first, then the others in their order."""
    levels = [verdict["level"] for verdict in step.get("verdicts") or ()]
    return min(map(_LEVELS.index, levels), default=len(_LEVELS))


def remark(step: Record) -> str:
    """`2 dangers`, for the table of steps."""
    found = step.get("verdicts") or ()
    return plural(len(found), "danger") if found else ""


def verdicts(step: Record) -> Iterator[tuple[str, str, str]]:
    """(sign, what, remark) of each verdict, the most severe first."""
    for verdict in sorted(step.get("verdicts") or (), key=lambda each: _LEVELS.index(each["level"])):
        level = "" if verdict["level"] == "warn" else f"{verdict['level']}: "
        yield "!", clean(f"{verdict['address']} {verdict['why']}".strip()), clean(f"{level}{verdict['rule']}")


def attributes(change: Record) -> Iterator[tuple[str, str]]:
    """(what, remark) of each attribute. What a new resource will only get by the apply is one line."""
    new = change["action"] in ("create", "import")
    found = change.get("attributes") or []
    later = [each["path"] for each in found if new and each.get("unknown")]
    told = [each for each in found if not (new and each.get("unknown"))]
    for each in told[:MOST_ATTRIBUTES]:
        yield _told(each, new), "forces replacement" if each.get("forces_replacement") else ""
    if len(told) > MOST_ATTRIBUTES:
        yield f"and {len(told) - MOST_ATTRIBUTES} more attributes", ""
    if later:
        names = ", ".join(later[:6]) + (f" and {len(later) - 6} more" if len(later) > 6 else "")
        yield clean(f"known after apply: {names}"), ""


def _told(each: Record, new: bool) -> str:
    after = _shown(each["after"], bool(each.get("unknown")))
    name = clean(each["path"])
    return f"{name}: {after}" if new else f"{name}: {_shown(each['before'])} → {after}"


def _shown(item: Any, unknown: bool = False) -> str:
    if unknown or item == HIDDEN:
        return clean(item)
    return value(_filled(item))


def _filled(item: Any) -> Any:
    """Without what a block leaves empty."""
    if isinstance(item, Mapping):
        return {key: _filled(each) for key, each in item.items() if each not in (None, "", [], {})}
    return item
