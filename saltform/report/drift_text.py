"""A drift check as text: how each component stands, then every finding."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.text import Text

from saltform.report import blocks, drift
from saltform.report.blocks import Section
from saltform.report.style import WORDS
from saltform.report.words import clean, duration

Record = Mapping[str, Any]
MOST = 60  # findings of one component; the return has them all
SIGN_STYLES = {"+": "green", "~": "yellow", "-": "red", "-/+": "bold red", "✓": "green"}


def run(record: Record) -> list[Section]:
    """The return of `drift`."""
    return [_table(record), *findings(record)]


def findings(record: Record) -> list[Section]:
    """One section for each component that has something to say."""
    return [_section(name, check) for name, check in drift.checks(record).items()]


def _table(record: Record) -> Section:
    rows: list[list[blocks.Cell]] = []
    clean_ones = []
    for name, step in record["steps"].items():
        word = step.get("check", {}).get("status", "unknown")
        if word == "clean" and not step.get("reason"):
            clean_ones.append(name)
            continue
        note = "" if word == "unknown" else step.get("reason", "")
        since = str(step.get("check", {}).get("since", ""))[:16].replace("T", " ")
        took = Text(duration(step.get("seconds")), style="dim")
        rows.append([name, Text(word, style=WORDS.get(word, "")), since, took, note])
    section: Section = []
    if clean_ones:
        named = f": {', '.join(clean_ones)}" if len(clean_ones) <= 4 else ""
        section.append(Text(clean(f"= {len(clean_ones)} clean{named}"), style="dim"))
    if rows:
        section.append(blocks.table(["component", "status", "since", "time", "found"], rows, right=["time"]))
    return section


def _section(name: str, check: Record) -> Section:
    section: Section = [Text(clean(name), style="bold")]
    found = list(drift.lines(check))
    for sign, what, remark in found[:MOST]:
        line = Text(f"{sign:>3} ", style=SIGN_STYLES.get(sign, "")).append(what, style="default not bold")
        if remark:
            line.append(f"  ({remark})", style="default dim not bold")
        section.append(blocks.indented(line))
    if len(found) > MOST:
        section.append(blocks.indented(Text(f"    and {len(found) - MOST} more", style="dim")))
    return section
