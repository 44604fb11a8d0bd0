"""Releases, differences and promotions as a person reads them."""

from __future__ import annotations

from saltform.report import text

NETWORKING = {
    "status": "differs",
    "releases": ["a" * 64, "b" * 64],
    "differences": [
        {"what": "module", "values": ["net 1", "net 2"], "rule": "", "files": ["~ main.tf"]},
        {"what": "variable name", "values": ["staging", "production"], "rule": "own"},
        {"what": "variable nodes", "values": [3, None], "rule": "exempt"},
    ],
}
SAME = {"status": "same", "releases": ["c" * 64, "d" * 64], "differences": []}
BASE = {"outputter": "infrastructure", "retcode": 2, "success": True, "environment": "staging", "notes": []}


def lines(record):
    return [line.split() for line in text.render(record).splitlines()]


def test_a_difference_names_both_sides_and_the_rule_that_allows_it():
    components = {"networking": NETWORKING, "quiet": SAME}
    shown = lines(BASE | {"verb": "diff", "other": "production", "summary": "s", "components": components})
    assert ["networking", "differs"] in shown
    assert ["module", '"net', '1"', '"net', '2"', "~", "main.tf"] in shown
    assert ["variable", "name", '"staging"', '"production"', "its", "own"] in shown
    assert ["variable", "nodes", "3", "exempt"] in shown
    assert not any("quiet" in line for line in shown)


def test_a_promotion_shows_differences_gates_and_why_it_was_refused():
    gates = [
        {"gate": "drift", "ok": False, "said": "consul is drifted", "fix": "look"},
        {"gate": "soak", "ok": True, "said": "long enough", "fix": ""},
    ]
    told = {"source": "staging", "components": {"networking": NETWORKING}, "gates": gates}
    error = {"type": "NotReady", "summary": "staging is not ready", "detail": "drift: …", "fix": "look"}
    record = BASE | {"verb": "promote", "retcode": 1, "success": False, "promotion": told, "error": error}
    shown = lines(record)
    assert ["✗", "drift", "consul", "is", "drifted"] in shown
    assert ["✓", "soak", "long", "enough"] in shown
    assert ["fix:", "look"] in shown


def test_releases_say_what_was_promoted_and_is_not_deployed():
    item = {"release": "", "earlier": [], "promoted": "5be1c70d92aa" + "0" * 52, "deployed": False}
    shown = text.render(BASE | {"verb": "releases", "summary": "s", "components": {"networking": item}})
    assert "promoted: 5be1c70d92aa, not deployed" in shown
