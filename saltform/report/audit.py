"""The audit as text: one line for each entry, and what is wrong with the chain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.text import Text

from saltform.report import blocks
from saltform.report.blocks import Section
from saltform.report.words import clean, tally

Record = Mapping[str, Any]


def entries(record: Record) -> list[Section]:
    rows: list[list[blocks.Cell]] = []
    for item in record.get("entries", []):
        moment = str(item["moment"])[:19].replace("T", " ")
        place = item["environment"] if not record.get("environment") else ""
        who = f"{item['author']} ({item['origin']})"
        rows.append([place, str(item["number"]), moment, who, item["action"], item["run"], _said(item["content"])])
    titles = ["environment", "#", "when", "who", "what", "run", "about"]
    table: Section = [blocks.table(titles, rows, right=["#"])] if rows else []
    found = record.get("problems") or []
    problems: Section = [
        Text(clean(f"✗ {each['environment']}: {each['problem']}"), style="bold red") for each in found
    ]
    return [table, problems]


def _said(content: Mapping[str, Any]) -> str:
    """The part of an entry that a line has room for; `--out=json` has all of it."""
    said = [str(content[name]) for name in ("component", "status", "comment", "reason") if content.get(name)]
    components = content.get("components") or {}
    if isinstance(components, Mapping):
        said += [tally(item["status"] for item in components.values())]
    else:
        said += [", ".join(components)]
    said += [f"plan {content['plan'][:12]}"] if content.get("plan") else []
    said += [f"release {content['release'][:12]}"] if content.get("release") else []
    return ", ".join(part for part in said if part)
