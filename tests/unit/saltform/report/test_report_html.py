from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from saltform.graph import Graph
from saltform.report.html import render

NASTY = "<script>alert('x')</script>&\"'"
RUN = {
    "id": "r1", "verb": "deploy", "environment": "staging", "author": "ann", "status": "failed",
    "started": "2026-11-16T03:30:00.000Z", "ended": "2026-11-16T03:30:20.000Z",
}  # fmt: skip
VOID = {"meta", "br", "link", "img", "input", "hr"}


class Page(HTMLParser):
    """Reads a page and fails on a tag that is not closed, or closed by another."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.words, self.attributes = [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes.extend(attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes.extend(attrs)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.words.append(data.strip())

    @property
    def text(self):
        return " ".join(word for word in self.words if word)


def shown(**steps):
    return {
        "verb": "show", "environment": "staging", "success": True, "summary": "deploy staging: 1 failed",
        "run": RUN, "steps": steps, "notes": [],
    }  # fmt: skip


def timed(status, began, ended, **members):
    moments = {"started": f"2026-11-16T03:30:{began:02}.000Z", "ended": f"2026-11-16T03:30:{ended:02}.000Z"}
    return {"status": status, "seconds": ended - began, **moments, **members}


@pytest.fixture
def failed_run():
    error = {"summary": "apply failed", "detail": "no capacity", "fix": "salt-run x"}
    return shown(
        networking=timed("applied", 0, 10, add=4, changes=[{"address": "aws_vpc.main", "action": "create"}]),
        vault=timed("failed", 10, 20, error=error, log="/logs/vault.log"),
        backups={"status": "skipped", "reason": "needs vault, which failed"},
        dns={"status": "unchanged"},
    )


GRAPH = Graph({"networking": [], "vault": ["networking"], "backups": ["vault"], "dns": []})


def test_the_page_tells_the_whole_story(failed_run):
    page = Page(render(failed_run, GRAPH))
    for part in (
        "deploy staging", "ann", "20.0 s", "✗ vault failed", "no capacity", "salt-run x", "/logs/vault.log",
        "Components", "Timeline", "aws_vpc.main", "needs vault, which failed", "1 unchanged",
    ):  # fmt: skip
        assert part in page.text, part
    assert page.tags.count("rect") == 4
    assert page.text.index("vault failed") < page.text.index("Components") < page.text.index("Steps")


def test_the_page_loads_and_runs_nothing(failed_run):
    text = render(failed_run, GRAPH)
    page = Page(text)
    assert not {"script", "link", "img", "iframe"} & set(page.tags)
    assert not [name for name, _ in page.attributes if name.startswith("on") or name in ("src", "href")]
    assert "default-src 'none'" in text


def test_everything_from_outside_is_escaped():
    step = {
        "status": "failed", "reason": NASTY, "log": NASTY, "error": {"summary": NASTY, "detail": NASTY, "fix": NASTY},
        "changes": [{"address": NASTY, "action": "create", "reason": NASTY}],
    }  # fmt: skip
    record = shown(**{NASTY: step, "b": {"status": "skipped", "reason": NASTY}})
    record |= {"summary": NASTY, "notes": [NASTY], "outputs": {NASTY: {NASTY: NASTY}}}
    record["run"] = {**RUN, "author": NASTY, "verb": NASTY}
    page = Page(render(record, Graph({NASTY: [], "b": [NASTY]})))
    assert "script" not in page.tags
    assert page.text.count("alert(") >= 10


def test_the_timeline_shows_when_each_step_ran(failed_run):
    bars = re.findall(r"left:([\d.]+)%;width:([\d.]+)%", render(failed_run))
    assert bars == [("0.00", "50.00"), ("50.00", "50.00")]


def test_too_many_bars_are_cut_to_the_longest():
    steps = {f"c{n}": timed("applied", 0, 1) for n in range(80)} | {"long": timed("applied", 0, 59)}
    text = render(shown(**steps))
    assert text.count('class="track"') == 60
    assert "<span>long</span>" in text


def test_a_live_return_without_record_makes_a_page_too():
    record = {"verb": "plan", "environment": "staging", "run": "r1", "success": True, "summary": "s",
              "steps": {"a": {"status": "planned", "add": 1}}, "outputs": {"a": {"ids": [1, 2]}}}  # fmt: skip
    page = Page(render(record))
    assert "plan staging" in page.text
    assert "[1, 2]" in page.text
    assert "Timeline" not in page.text


def test_a_run_that_never_began_makes_a_page_of_its_error():
    error = {"type": "Locked", "summary": "held by another run", "detail": "run r0", "fix": "wait"}
    page = Page(render({"verb": "deploy", "environment": "staging", "success": False, "error": error}))
    assert "✗ held by another run run r0 Fix wait" in page.text


def test_thousands_of_components_make_a_page_without_a_picture():
    names = [f"c{n}" for n in range(1001)]
    page = Page(render(shown(**{name: {"status": "unchanged"} for name in names}), Graph(dict.fromkeys(names, []))))
    assert "1001 unchanged" in page.text
    assert "rect" not in page.tags
