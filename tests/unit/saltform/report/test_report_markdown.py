from __future__ import annotations

from saltform.graph import Graph
from saltform.report.markdown import render

NASTY = "a|b`c`<script>*x*_y_[z](http://evil)@all\x1b[2J"


def record(**steps):
    return {
        "verb": "deploy", "environment": "staging", "run": "r1", "success": False, "retcode": 1,
        "summary": "deploy staging: 1 failed", "steps": steps, "notes": ["by the way"],
    }  # fmt: skip


FAILED = {
    "status": "failed", "reason": "x", "seconds": 8.1, "add": 2, "log": "/logs/vault.log",
    "error": {"summary": "apply failed", "detail": "```\nno capacity", "fix": "salt-run x"},
}  # fmt: skip


def test_the_failure_stands_before_the_table_with_its_detail_fix_and_log():
    text = render(record(ok={"status": "applied", "add": 4, "seconds": 1.0}, vault=FAILED))
    places = [
        text.index(part)
        for part in (
            "# deploy staging: failed", "## ✗ vault failed", "no capacity", "salt-run x", "Log: /logs/vault.log",
            "> by the way", "| ✗ | vault | failed |", "| ✓ | ok | applied | +4 | 1.0 s |",
        )
    ]  # fmt: skip
    assert places == sorted(places)


def test_a_detail_with_a_fence_in_it_cannot_end_its_own_fence():
    assert "````\napply failed\n```\nno capacity\n````" in render(record(vault=FAILED))


def test_control_characters_between_backticks_cannot_make_a_fence_of_them():
    """Removed after the fence was measured, they would leave a row as long as the fence, which ends it."""
    failure = {"status": "failed", "error": {"summary": "apply failed", "detail": "``\x00``\n<b>out</b>", "fix": "x"}}
    assert "`````\napply failed\n````\n<b>out</b>\n`````" in render(record(vault=failure))


def test_names_mean_only_themselves():
    text = render(record(**{NASTY: {"status": "skipped", "reason": NASTY}}))
    row = next(line for line in text.splitlines() if line.startswith("| -"))
    assert row.replace("\\|", "").count("|") == 7
    assert "<script>" not in text
    assert "@all" not in text
    assert "\x1b" not in text
    assert "\\[z\\](http" in text


def test_unchanged_ones_are_folded_into_one_line():
    text = render(record(**{f"c{n}": {"status": "unchanged"} for n in range(100)}))
    assert "<summary>100 unchanged</summary>" in text
    assert "| component |" not in text


def test_what_is_still_to_come_is_folded_with_every_change():
    changes = [{"address": "aws_vpc.main", "action": "replace", "reason": "cannot_update"}]
    text = render(record(net={"status": "planned", "add": 1, "destroy": 1, "changes": changes}))
    assert "<summary>net +1 -1</summary>" in text
    assert "-/+ aws_vpc.main  (cannot update)" in text


def test_outputs_are_listed_as_inputs_refer_to_them():
    text = render(record(net={"status": "applied"}) | {"outputs": {"net": {"ids": ["a"], "key": "(sensitive)"}}})
    assert 'net.ids = ["a"]\nnet.key = (sensitive)' in text


def test_the_graph_is_drawn_where_it_is_given_and_readable():
    steps = {"a": {"status": "applied"}, "b": {"status": "unchanged"}}
    assert "```mermaid\ngraph LR" in render(record(**steps), Graph({"a": [], "b": ["a"]}))
    assert "mermaid" not in render(record(**steps), Graph({f"c{n}": [] for n in range(101)}))
    assert "mermaid" not in render(record(**steps))


def test_a_recorded_run_says_who_when_and_how_long():
    run = {"id": "r1", "verb": "deploy", "environment": "staging", "author": "ann", "status": "done",
           "started": "2026-11-16T03:30:00.000Z", "ended": "2026-11-16T03:32:05.000Z",
           "options": {"only": True}}  # fmt: skip
    text = render(record() | {"run": run})
    assert "- author: ann" in text
    assert "- took: 2 min 5 s" in text
    assert '- options: {"only": true}' in text


def test_a_run_that_never_began_shows_its_error():
    error = {"type": "Locked", "summary": "held by another run", "detail": "run r0", "fix": "wait"}
    text = render({"verb": "deploy", "environment": "staging", "success": False, "error": error})
    assert "## ✗ held by another run\n\n```\nrun r0\n```" in text
