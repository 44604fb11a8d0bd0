"""A run as Markdown, for merge requests, wikis and mails. Read from the top: failures stand before the rest."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from saltform.graph import Graph
from saltform.report import drift
from saltform.report.facts import facts, title, word
from saltform.report.graph import mermaid
from saltform.report.plans import attributes, verdicts
from saltform.report.steps import Row, Sorted, note, sort_out
from saltform.report.style import MARKS
from saltform.report.words import clean, counts, duration, plural, symbol
from saltform.status import Status

Record = Mapping[str, Any]
MOST_DRAWN = 100  # boxes: more than that no merge request draws readably


def render(record: Record, graph: Graph | None = None) -> str:
    """The whole report; with the graph as a picture where one is given."""
    steps = record.get("steps") or {}
    found = sort_out(steps)
    parts = [
        f"# {_text(title(record))}: {_text(word(record))}",
        _text(record.get("summary", "")),
        "\n".join(f"- {key}: {_text(value)}" for key, value in facts(record)),
        *(_error(f"{row.names[0]} failed", _error_of(row), row.step.get("log", "")) for row in found.failed),
    ]
    if record.get("error"):
        parts.append(_error(record["error"].get("summary", "failed"), {**record["error"], "summary": ""}, ""))
    parts += [
        "\n".join(f"> {_text(line)}" for line in record.get("notes") or []),
        _steps(found),
        *(_changes(row) for row in [*found.with_changes(), *found.with_verdicts()]),
        *(_drift(name, check) for name, check in drift.checks(record).items()),
        _outputs(record.get("outputs") or {}),
    ]
    if graph is not None and 1 < len(graph) <= MOST_DRAWN:
        drawn = mermaid(graph, {name: step["status"] for name, step in steps.items()})
        parts.append(f"## Graph\n\n```mermaid\n{drawn}\n```")
    return "\n\n".join(part for part in parts if part) + "\n"


def _steps(found: Sorted) -> str:
    lines = []
    if found.rows or found.failed:
        lines = ["## Steps", "", "| | component | status | changes | time | why |", "|---|---|---|---|---|---|"]
        lines += [_line(row) for row in [*found.failed, *found.rows]]
    if found.unchanged:
        count = f"{len(found.unchanged)} {found.nothing}"
        lines += ["", f"<details><summary>{count}</summary>", "", _text(", ".join(found.unchanged)), "", "</details>"]
    return "\n".join(lines).strip()


def _line(row: Row) -> str:
    seconds = row.step.get("seconds")
    cells = [
        MARKS[row.status],
        row.names[0] if len(row.names) == 1 else plural(len(row.names), "component"),
        row.word,
        counts(row.step),
        duration(seconds) if seconds else "",
        "see above" if row.status is Status.FAILED else note(row),
    ]
    return f"| {' | '.join(_text(cell).replace(chr(10), '<br>') for cell in cells)} |"


def _changes(row: Row) -> str:
    lines = [f"{sign:>3} {what}  ({rule})" for sign, what, rule in verdicts(row.step)]
    for change in row.step["changes"]:
        reason = f"  ({change['reason'].replace('_', ' ')})" if change.get("reason") else ""
        lines.append(f"{symbol(change['action']):>3} {change['address']}{reason}")
        lines += [f"        {what}" + (f"  ({remark})" if remark else "") for what, remark in attributes(change)]
    head = f"{_text(row.names[0])} {counts(row.step)}".strip()
    context = " open" if row.step.get("verdicts") else ""  # what is dangerous is read without a click
    return f"<details{context}><summary>{head}</summary>\n\n{_fenced(chr(10).join(lines), 'diff')}\n\n</details>"


def _drift(name: str, check: Record) -> str:
    lines = [f"{sign:>3} {what}" + (f"  ({remark})" if remark else "") for sign, what, remark in drift.lines(check)]
    return f"## {_text(name)}: {_text(check['status'])}\n\n{_fenced(chr(10).join(lines), 'diff')}"


def _outputs(found: Mapping[str, Mapping[str, Any]]) -> str:
    lines = [
        f"{name}.{key} = {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)}"
        for name, values in found.items()
        for key, value in values.items()
    ]
    return f"## Outputs\n\n{_fenced(chr(10).join(lines))}" if lines else ""


def _error_of(row: Row) -> Record:
    return row.step.get("error") or {"summary": row.step.get("reason", "")}


def _error(head: str, found: Record, log: str) -> str:
    said = "\n".join(str(found[key]).strip() for key in ("summary", "detail") if found.get(key))
    parts = [f"## {MARKS[Status.FAILED]} {_text(head)}", _fenced(said) if said else ""]
    parts += [f"**Fix**\n\n{_fenced(found['fix'])}" if found.get("fix") else "", f"Log: {_text(log)}" if log else ""]
    return "\n\n".join(part for part in parts if part)


def _text(value: object) -> str:
    """Text that means only itself in Markdown, in tables and in HTML."""
    # The last one: nobody named root, or all, is to be called to a merge request by us.
    return re.sub(r"([\\`*_\[\]|~])", r"\\\1", clean(value)).replace("<", "&lt;").replace("@", "&#64;")


def _fenced(text: str, language: str = "") -> str:
    text = clean(text)  # first: what is removed may stand between backticks, and two short rows become a long one
    longest = max((len(ticks) for ticks in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"
