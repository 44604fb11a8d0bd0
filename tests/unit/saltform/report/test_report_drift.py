"""A drift check as text and Markdown."""

from __future__ import annotations

import io

import pytest

from saltform.report import html, live, markdown, text
from saltform.report.progress import Board, Progress, Seen
from saltform.status import Status

FINDING = {
    "address": "aws_vpc.this",
    "attribute": "tags.Name",
    "before": "a",
    "after": "b\x1b[31m",
    "state": "new",
    "first_seen": "2026-11-16T03:30:12.345Z",
}


def check(status, **given):
    empty = {
        "findings": [],
        "resolved": [],
        "computed": [],
        "reordered": [],
        "ignored": {},
        "pending": [],
        "overlap": [],
    }
    return empty | {"status": status, "since": "2026-11-16T03:30:12.345Z", "was": ""} | given


def record(**checks):
    words = {"clean": "unchanged", "drifted": "planned", "acknowledged": "unchanged"}
    steps = {
        name: {"status": words[item["status"]], "reason": "", "seconds": 1.0, "changes": [], "check": item}
        for name, item in checks.items()
    }
    return {
        "verb": "drift",
        "environment": "staging",
        "retcode": 2,
        "run": "1",
        "summary": "the summary",
        "steps": steps,
    }


def test_a_check_that_found_nothing_is_a_line():
    assert text.render(record(net=check("clean"))) == "the summary"


def test_a_finding_is_read_as_before_and_after_with_since_when():
    shown = text.render(record(net=check("drifted", findings=[FINDING]), dns=check("clean")))
    assert 'aws_vpc.this.tags.Name: "a" → "b' in shown
    assert "(first seen 2026-11-16 03:30)" in shown
    assert "= 1 clean: dns" in shown
    assert "\x1b" not in shown


def test_known_resolved_pending_computed_and_hidden_ones_are_told_apart():
    known = FINDING | {"state": "known", "until": "2026-12-01T00:00:00Z", "by": "ada", "reason": "an audit"}
    gone = FINDING | {"address": "aws_subnet.a", "attribute": "", "state": "resolved"}
    found = check(
        "acknowledged",
        findings=[known],
        resolved=[gone],
        computed=[FINDING | {"attribute": "arn"}],
        ignored={"*.Scan": 2},
        pending=[{"address": "aws_vpc.this", "action": "update"}, {"address": "aws_vpc.new", "action": "create"}],
        overlap=["aws_vpc.this"],
    )
    for shown in (text.render(record(net=found)), markdown.render(record(net=found))):
        assert "acknowledged until 2026-12-01 00:00 by ada: an audit" in shown
        assert "aws_subnet.a  (resolved; first seen 2026-11-16 03:30)" in shown
        assert "~ aws_vpc.this  (pending change, and drifted too)" in shown
        assert "+ aws_vpc.new  (pending change)" in shown
        assert "1 difference that only the provider computes: aws_vpc.this.arn" in shown
        assert "2 differences hidden by the ignore rule *.Scan" in shown


def test_a_long_value_is_cut_in_the_text_only():
    long = FINDING | {"after": ["x" * 500]}
    assert "x…" in text.render(record(net=check("drifted", findings=[long])))


def recorded(**checks):
    """The same run as `show` has it."""
    about = {"id": "1", "verb": "drift", "environment": "staging", "status": "done", "author": "ada", "started": ""}
    return record(**checks) | {"verb": "show", "run": about, "notes": []}


@pytest.mark.parametrize("shown", [text.render, markdown.render, html.render])
def test_a_check_is_called_by_what_it_found_wherever_it_is_read(shown):
    found = shown(
        recorded(
            net=check("drifted", findings=[FINDING]),
            dns=check("clean"),
            web=check("clean"),
            db=check("acknowledged"),
        )
    )
    assert "2 clean" in found
    assert "drifted" in found and "acknowledged" in found
    assert "planned" not in found and "unchanged" not in found


def test_a_check_is_called_by_what_it_found_while_it_runs():
    stream = io.StringIO()
    progress = Progress(stream, clock=lambda: 0.0)
    progress.start("drift staging", ["net", "dns"])
    progress.step("net", Status.RUNNING, "comparing with reality")
    progress.step("net", Status.PLANNED, "1 difference", "drifted")
    progress.step("dns", Status.FAILED, "the server is away", "unknown")
    progress.finish()
    lines = [line.partition("s ")[2] for line in stream.getvalue().splitlines()]
    assert lines == ["net drifted 1 difference", "dns unknown the server is away"]
    seen = {"net": Seen(Status.PLANNED, called="drifted"), "dns": Seen(Status.UNCHANGED, called="clean")}
    assert "1 drifted, 1 clean" in live._tally_line(Board("drift", components=seen), 0.0).plain
