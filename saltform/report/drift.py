"""What drift checks found, line by line: the same words for a terminal and for Markdown."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from saltform.report.words import clean, plural, symbol

Record = Mapping[str, Any]
LONGEST = 100  # characters of one value: the return has all of it


def checks(record: Record) -> dict[str, Record]:
    """The components that have something to say, those that want attention last."""
    found = {name: step["check"] for name, step in (record.get("steps") or {}).items() if step.get("check")}
    return {name: check for name, check in sorted(found.items(), key=_attention) if _has_news(check)}


def lines(check: Record) -> Iterator[tuple[str, str, str]]:
    """(sign, what, remark) of each finding, and then what was told apart from drift."""
    for entry in check.get("findings", ()):
        yield (*difference(entry), _remark(entry))
    for minion, item in check.get("minions", {}).items():
        for state in item.get("states", ()):
            yield "~", f"{clean(minion)}: {clean(state['state'])}", clean(state["comment"])
        if item["status"] == "unknown":
            yield "?", f"{clean(minion)} is unknown", clean(item["why"])
    for entry in check.get("resolved", ()):
        yield "✓", _name(entry), f"resolved; first seen {_minute(entry['first_seen'])}"
    for change in check.get("pending", ()):
        remark = "pending change, and drifted too" if change["address"] in check["overlap"] else "pending change"
        yield symbol(change["action"]), change["address"], remark
    if check.get("waits_for"):
        yield "?", f"pending change, known once {', '.join(check['waits_for'])} is applied", ""
    yield from _asides(check)


def difference(entry: Record) -> tuple[str, str]:
    """The sign, and `address.attribute: before → after`."""
    if not entry["attribute"]:
        return "-", f"{clean(entry['address'])} is gone"
    return "~", f"{_name(entry)}: {value(entry['before'])} → {value(entry['after'])}"


def value(item: Any) -> str:
    """A value as it is read: short, and nothing where there is nothing."""
    if item is None:
        return "nothing"
    text = clean(json.dumps(item, ensure_ascii=False, default=str))
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _asides(check: Record) -> Iterator[tuple[str, str, str]]:
    for kind, said in (("computed", "that only the provider computes"), ("reordered", "only of order")):
        found = check.get(kind, ())
        if found:
            names = ", ".join(_name(entry) for entry in found[:3]) + (" …" if len(found) > 3 else "")
            yield " ", f"{plural(len(found), 'difference')} {said}: {names}", ""
    for rule, count in check.get("ignored", {}).items():
        yield " ", f"{plural(count, 'difference')} hidden by the ignore rule {clean(rule)}", ""


def _remark(entry: Record) -> str:
    if entry["state"] == "known":
        return f"acknowledged until {_minute(entry['until'])} by {clean(entry['by'])}: {clean(entry['reason'])}"
    return f"first seen {_minute(entry['first_seen'])}"


def _name(entry: Record) -> str:
    return clean(f"{entry['address']}.{entry['attribute']}" if entry["attribute"] else entry["address"])


def _minute(moment: str) -> str:
    return clean(moment[:16].replace("T", " "))


def _has_news(check: Record) -> bool:
    kinds = ("findings", "resolved", "pending", "waits_for", "computed", "reordered", "ignored")
    minions = any(item["status"] != "clean" for item in check.get("minions", {}).values())
    return minions or any(check.get(kind) for kind in kinds)


def _attention(item: tuple[str, Record]) -> int:
    order = ("clean", "never applied", "acknowledged", "drifted", "unknown")
    return order.index(item[1]["status"])
