"""A run as one page that can be kept or sent: no scripts, nothing loaded from elsewhere, everything escaped."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from saltform.errors import SaltformError
from saltform.graph import Graph
from saltform.report import steps as sorting
from saltform.report.facts import facts, moment, title, word
from saltform.report.graph import svg
from saltform.report.style import COLOURS, MARKS
from saltform.report.words import clean, counts, duration, plural, symbol
from saltform.status import Status

Record = Mapping[str, Any]
LONGEST_TIMELINE = 60  # bars


@dataclass(frozen=True)
class Bar:
    """A step in the timeline: where it begins and how long it is, in percent of the whole."""

    name: str
    status: Status
    left: float
    width: float
    took: str


def render(record: Record, graph: Graph | None = None) -> str:
    """The whole page."""
    steps = record.get("steps") or {}
    page = Environment(
        loader=PackageLoader("saltform.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    page.filters.update(clean=clean, counts=counts, duration=duration, symbol=symbol, value=_value)
    page.globals.update(colours=COLOURS, marks=MARKS, plural=plural, note=sorting.note, Status=Status)
    return page.get_template("page.html.j2").render(
        record=record,
        title=title(record),
        word=word(record),
        facts=facts(record),
        found=sorting.sort_out(steps),
        tally=_tally(steps),
        timeline=_timeline(steps),
        picture=_picture(graph, title(record), steps),
        outputs={name: values for name, values in (record.get("outputs") or {}).items() if values},
    )


def _tally(steps: Mapping[str, Record]) -> list[tuple[Status, str, int]]:
    """How many have each status, or each word where a drift check has one of its own."""
    found = Counter((Status(step["status"]), sorting.word(step)) for step in steps.values())
    order = list(Status)
    return [(*kind, found[kind]) for kind in sorted(found, key=lambda kind: order.index(kind[0]))]


def _picture(graph: Graph | None, name: str, steps: Mapping[str, Record]) -> Markup | None:
    if graph is None or len(graph) < 2:
        return None
    try:
        drawn = svg(graph, name, {component: step["status"] for component, step in steps.items()})
    except SaltformError:  # too many boxes for a picture: the page is still worth having
        return None
    return Markup(drawn)  # noqa: S704 (made and escaped by our own room)


def _timeline(steps: Mapping[str, Record]) -> list[Bar]:
    """When each step ran, the longest ones if there are too many; unchanged and skipped ones took no time."""
    timed = []
    for name, step in steps.items():
        began, ended = moment(step.get("started")), moment(step.get("ended"))
        if began is not None and ended is not None and ended > began and step["status"] != Status.UNCHANGED:
            timed.append((began, ended, name, Status(step["status"])))
    if len(timed) < 2:
        return []
    first = min(began for began, *_ in timed)
    whole = max(ended for _, ended, *_ in timed) - first or 1.0
    longest = sorted(timed, key=lambda item: item[0] - item[1])[:LONGEST_TIMELINE]
    return [
        Bar(name, status, 100 * (began - first) / whole, 100 * (ended - began) / whole, duration(ended - began))
        for began, ended, name, status in sorted(longest)
    ]


def _value(value: object) -> str:
    return clean(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str))
