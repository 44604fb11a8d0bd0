"""What a verb returned, as text for a terminal, a log or a mail.

Read from the bottom up: the last line is the summary, above it stand the failures with their errors and fixes,
above those what happened, line by line. `render` gives None for something it doesn't know how to show.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from saltform.report.steps import sort_out
from saltform.report.words import clean

if TYPE_CHECKING:
    from saltform.report.blocks import Section

Record = Mapping[str, Any]
ENDLESS = 10_000  # columns: without a terminal nothing is wrapped, so that lines can be searched


def render(record: Record, width: int | None = None, color: bool = False) -> str | None:
    """The return of a verb as text, at most `width` columns wide if there is a width."""
    if not isinstance(record, Mapping) or not ({"summary", "error", "text"} & set(record)):
        return None
    short = _without_tables(record)
    if short is not None:
        return short
    from rich.console import Console  # 0.1 s: only when there is something to lay out

    out = io.StringIO()
    console = Console(
        file=out,
        width=width or ENDLESS,
        force_terminal=color,
        color_system="standard" if color else None,
        no_color=not color,
        highlight=False,
        markup=False,
        emoji=False,
    )
    for number, section in enumerate(section for section in _sections(record, width or ENDLESS) if section):
        if number:
            console.print()
        for block in section:
            console.print(block, soft_wrap=getattr(block, "no_wrap", False))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


def _without_tables(record: Record) -> str | None:
    """A drawn graph as it is, and the line or two of a run in which nothing happened."""
    if isinstance(record.get("text"), str) and not record.get("error"):
        return str(record["text"])
    steps = record.get("steps")
    if record.get("error") or not steps or record.get("verb") == "show":
        return None
    found = sort_out(steps)
    if any(step.get("check", {}).get("status", "clean") != "clean" or step.get("reason") for step in steps.values()):
        return None  # a drift check with something to say
    if found.rows or found.failed:
        return None
    return clean("\n".join([*record.get("notes", []), record["summary"]]))


def _sections(record: Record, width: int) -> list[Section]:
    from saltform.report import answers, audit, drift_text, releases, runs

    views: dict[str, Callable[[Record], list[Section]]] = {
        "status": partial(answers.status, width=width),
        "history": answers.history,
        "locks": answers.locks,
        "approvals": answers.approvals,
        "audit": audit.entries,
        "sync_states": answers.synced,
        "keys": answers.keys,
        "strays": runs.run if record.get("steps") else answers.strays if "strays" in record else answers.other,
        "preflight": answers.preflight,
        "credentials": answers.credentials,
        "outputs": answers.outputs,
        "releases": releases.releases,
        "diff": releases.diff,
        "promote": releases.promotion,
        "show": runs.show if "steps" in record else answers.other,
        "drift": drift_text.run if record.get("steps") else answers.other,
    }
    view = views.get(str(record.get("verb")), runs.run if record.get("steps") else answers.other)
    end = [answers.notes(record), *runs.failures(record), answers.error(record), answers.summary(record)]
    return [*view(record), *end]
