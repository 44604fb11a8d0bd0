"""Releases as text: what components are made of, and how two environments differ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.text import Text

from saltform.report import blocks, runs
from saltform.report.answers import mark, minute
from saltform.report.blocks import Section
from saltform.report.drift import value
from saltform.report.words import clean

Record = Mapping[str, Any]
MOST_FILES = 10
_RULES = {"own": "its own", "exempt": "exempt"}


def releases(record: Record) -> list[Section]:
    rows: list[list[blocks.Cell]] = []
    for name, item in record.get("components", {}).items():
        made_of = ", ".join(f"{source.rpartition('/')[2]} {version}" for source, version in _providers(item))
        rows.append(
            [
                name,
                str(item.get("release") or "")[:12],
                str(item.get("module") or ""),
                made_of,
                str(item.get("binary") or ""),
                minute(item.get("applied_at")),
                str(item.get("run") or ""),
                _standing(item),
            ]
        )
    titles = ["component", "release", "module", "providers", "binary", "since", "run", "note"]
    return [[blocks.table(titles, rows)]] if rows else []


def diff(record: Record) -> list[Section]:
    """What is the same is counted by the summary; every other component with what differs."""
    return differences(record.get("components", {}), [record.get("environment", ""), record.get("other", "")])


def promotion(record: Record) -> list[Section]:
    """What differs, what the gates say, and the run itself."""
    told = record.get("promotion") or {}
    sides = [told.get("source", ""), record.get("environment", "")]
    rows: list[list[blocks.Cell]] = [
        [mark(gate["ok"]), gate["gate"], gate["said"] or "none"] for gate in told.get("gates", ())
    ]
    gates: Section = [blocks.table(["", "gate", "found"], rows)] if rows else []
    steps = runs.run(record) if record.get("steps") else []
    return [*differences(told.get("components", {}), sides), gates, *steps]


def differences(components: Mapping[str, Record], environments: list[str]) -> list[Section]:
    sections: list[Section] = [[]]
    for name, item in components.items():
        title = Text(clean(name), style="bold").append(f"  {clean(item['status'])}", style="not bold")
        if not item["differences"]:
            sections[0] += [title] if item["status"] != "same" else []
            continue
        rows: list[list[blocks.Cell]] = [
            [entry["what"], *map(_value, entry["values"]), _remark(entry)] for entry in item["differences"]
        ]
        sections.append([title, blocks.table(["", *environments, " "], rows)])
    return sections


def _providers(item: Record) -> list[tuple[str, str]]:
    return sorted((item.get("providers") or {}).items())


def _standing(item: Record) -> str:
    said = [] if item.get("good", True) else ["half done"]
    if "promoted" in item:
        came = f"promoted: {item['promoted'][:12]}"
        said.append(came if item.get("deployed") else f"{came}, not deployed")
    return ", ".join(said)


def _value(item: Any) -> str:
    return "" if item is None else clean(value(item))


def _remark(entry: Record) -> str:
    files = entry.get("files") or []
    more = f", {len(files) - MOST_FILES} more" if len(files) > MOST_FILES else ""
    return _RULES.get(entry["rule"], "") or ", ".join(files[:MOST_FILES]) + more
