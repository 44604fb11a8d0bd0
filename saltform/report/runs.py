"""A run as text: a table of its steps, the changes that are still to come, outputs, and the failures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from saltform.report import blocks, drift_text
from saltform.report.blocks import Section
from saltform.report.facts import facts
from saltform.report.plans import attributes, verdicts
from saltform.report.steps import Row, Sorted, note, sort_out
from saltform.report.style import MARKS, STYLES, WORDS
from saltform.report.words import clean, counts, duration, plural, symbol
from saltform.status import Status

MOST_CHANGES = 40  # of one component; the report has them all
MOST_OUTPUTS = 20
SIGN_STYLES = {"+": "green", "~": "yellow", "-": "red", "-/+": "bold red", "<-": "cyan", "->": "cyan"}

Record = Mapping[str, Any]


def run(record: Record) -> list[Section]:
    """deploy, plan, destroy and whatever else has steps."""
    found = sort_out(record["steps"])
    return [
        _title(record),
        _steps(found),
        *map(_changes, found.with_changes()),
        *([_component(row), *_verdicts(row)] for row in found.with_verdicts()),
        _outputs(record),
    ]


def show(record: Record) -> list[Section]:
    """A run from the record: who did what when, then its steps."""
    head = blocks.table(["", " "], [[Text(key, style="dim"), Text(value)] for key, value in facts(record)])
    head.show_header = False
    found = sort_out(record["steps"])
    return [
        [head],
        _steps(found),
        *map(_changes, found.with_changes()),
        *([_component(row), *_verdicts(row)] for row in found.with_verdicts()),
        *drift_text.findings(record),
    ]


def _title(record: Record) -> Section:
    title = f"{record.get('verb', '')} {record.get('environment', '')}".strip()
    text = Text(clean(title), style="bold")
    if record.get("run"):
        text.append(f" · run {clean(record['run'])}", style="not bold dim")
    return [text]


def _steps(found: Sorted) -> Section:
    section: Section = []
    if found.unchanged:
        named = f": {', '.join(found.unchanged)}" if len(found.unchanged) <= 4 else ""
        section.append(
            Text(clean(f"{MARKS[Status.UNCHANGED]} {len(found.unchanged)} {found.nothing}{named}"), style="dim")
        )
    if found.rows or found.failed:
        titles = ["", "component", "status", "changes", "time", "why"]
        section.append(blocks.table(titles, map(_cells, [*found.rows, *found.failed]), right=["time"]))
    return section


def _cells(row: Row) -> list[blocks.Cell]:
    style = STYLES[row.status]
    seconds = row.step.get("seconds")
    return [
        Text(MARKS[row.status], style=style),
        row.names[0] if len(row.names) == 1 else plural(len(row.names), "component"),
        Text(row.word, style=style if row.word == row.status else WORDS.get(row.word, "")),
        counts(row.step),
        Text(duration(seconds) if seconds else "", style="dim"),
        "" if row.status is Status.FAILED else note(row),
    ]


def _changes(row: Row) -> Section:
    changes = row.step["changes"]
    section: Section = [_component(row), *_verdicts(row)]
    for change in changes[:MOST_CHANGES]:
        sign = symbol(change["action"])
        line = Text(f"{sign:>3} ", style=SIGN_STYLES.get(sign, "")).append(
            clean(change["address"]), style="default not bold"
        )
        if change.get("reason"):
            line.append(f"  ({clean(change['reason']).replace('_', ' ')})", style="default dim not bold")
        section.append(blocks.indented(line))
        section += map(_attribute, attributes(change))
    if len(changes) > MOST_CHANGES:
        section.append(blocks.indented(Text(f"    and {len(changes) - MOST_CHANGES} more", style="dim")))
    return section


def _component(row: Row) -> Text:
    return Text(clean(row.names[0]), style="bold").append(f"  {counts(row.step)}", style="not bold")


def _verdicts(row: Row) -> Section:
    return [
        blocks.indented(
            Text(f"{sign:>3} {what}", style="bold red").append(f"  ({rule})", style="default dim not bold")
        )
        for sign, what, rule in verdicts(row.step)
    ]


def _attribute(told: tuple[str, str]) -> RenderableType:
    what, remark = told
    line = Text(what, style="dim")
    return blocks.indented(line.append(f"  ({remark})", style="bold red not dim") if remark else line, 10)


def _outputs(record: Record) -> Section:
    """The outputs of what was applied: those that are news."""
    steps = record["steps"]
    applied = {name for name, step in steps.items() if step["status"] == Status.APPLIED.value}
    news = {name: values for name, values in (record.get("outputs") or {}).items() if name in applied and values}
    total = sum(len(values) for values in news.values())
    if total > MOST_OUTPUTS:
        command = f"salt-run infrastructure.outputs {record.get('environment', '')}"
        return [Text(clean(f"{total} outputs: {command}"), style="dim")]
    return blocks.outputs(news)


def failures(record: Record) -> list[Section]:
    """Each failed step with its error, its fix and its log."""
    return [_failure(row) for row in sort_out(record.get("steps") or {}).failed]


def _failure(row: Row) -> Section:
    name = row.names[0]
    found = row.step.get("error") or {"summary": row.step.get("reason", "")}
    return blocks.error(f"{MARKS[Status.FAILED]} {name} failed", found, str(row.step.get("log") or ""))
