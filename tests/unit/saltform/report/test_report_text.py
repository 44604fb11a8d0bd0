from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from saltform import verbs
from saltform.engine.result import failure
from saltform.errors import SaltformError
from saltform.report import text
from saltform.report.runs import MOST_CHANGES
from saltform.report.steps import sort_out

ERROR = {
    "type": "TerraformError",
    "summary": "terraform apply failed for vault (exit code 1)",
    "detail": "Error: no capacity (aws_instance.node[1])",
    "fix": "salt-run infrastructure.deploy staging components=vault " + "x" * 60,
}


def step(status, **members):
    return {
        "status": status,
        "reason": "",
        "seconds": 0.0,
        "add": 0,
        "change": 0,
        "destroy": 0,
        "changes": [],
    } | members


def returned(verb="deploy", retcode=0, **members):
    return {
        "verb": verb, "environment": "staging", "retcode": retcode, "success": retcode in (0, 2),
        "summary": f"{verb} staging: the summary", **members,
    }  # fmt: skip


FAILED_RUN = returned(
    retcode=1,
    run="20261116T033000-ab12",
    steps={
        "vault": step("failed", reason=ERROR["summary"], seconds=8.1, add=2, error=ERROR, log="/logs/vault.log"),
        "networking": step(
            "applied", seconds=12.31, add=4, changes=[{"address": "aws_vpc.main", "action": "create"}]
        ),
        "backups": step("skipped", reason="needs vault, which failed"),
        **{f"same-{n}": step("unchanged") for n in range(100)},
    },
    outputs={"networking": {"vpc_id": "vpc-1", "ids": ["a", "b"]}, "same-1": {"old": "news"}},
    notes=["something worth knowing"],
)


def lines(record, width=80):
    return text.render(record, width=width).splitlines()


def test_a_run_reads_from_table_to_failures_to_summary():
    shown = lines(FAILED_RUN)
    found = "\n".join(shown)
    assert shown[0] == "deploy staging · run 20261116T033000-ab12"
    places = [
        found.index(part)
        for part in (
            "100 unchanged", "networking  applied", "backups     skipped", "vault       failed",
            "networking.vpc_id  vpc-1", "note: something", "✗ vault failed", "Error: no capacity", "fix: salt-run",
            "log: /logs/vault.log", "deploy staging: the summary",
        )
    ]  # fmt: skip
    assert places == sorted(places)
    assert shown[-1] == "deploy staging: the summary"


def test_a_hundred_unchanged_ones_are_one_line():
    assert sum("same-" in line or "unchanged" in line for line in lines(FAILED_RUN)) == 1


def test_a_few_unchanged_ones_are_named_on_their_line():
    record = returned(steps={"a": step("applied"), "b": step("unchanged"), "c": step("unchanged")})
    assert "= 2 unchanged: b, c" in lines(record)


def test_a_run_in_which_nothing_happened_is_its_notes_and_its_summary():
    record = returned(steps={"a": step("unchanged")}, notes=["by the way"])
    assert text.render(record, color=True) == "by the way\ndeploy staging: the summary"


def test_a_run_in_which_nothing_happened_does_not_import_rich():
    code = f"""
import sys
from saltform import verbs
from saltform.errors import SaltformError
from saltform.engine.result import failure
from saltform.report import text
text.render({returned(steps={"a": step("unchanged")})!r}, width=80, color=True)
print("rich" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_many_skipped_for_one_reason_are_one_line_and_a_few_are_named():
    many = {f"worker-{n}": step("skipped", reason="needs vault, which failed") for n in range(11)}
    few = {f"site-{n}": step("skipped", reason="needs dns, which failed") for n in range(2)}
    shown = lines(returned(steps={"vault": step("failed"), **many, **few}))
    assert any(line.split()[1:4] == ["11", "components", "skipped"] for line in shown)
    assert not any("worker-" in line for line in shown)
    assert sum("site-" in line for line in shown) == 2


def test_only_new_outputs_are_shown_and_too_many_are_counted():
    assert "news" not in text.render(FAILED_RUN)
    record = returned(steps={"a": step("applied")}, outputs={"a": {f"o{n}": n for n in range(21)}})
    assert "21 outputs: salt-run infrastructure.outputs staging" in lines(record)


def test_what_is_still_to_come_is_shown_change_by_change():
    changes = [
        {"address": "aws_instance.web", "action": "replace", "reason": "cannot_update"},
        {"address": "aws_vpc.main", "action": "create"},
    ]
    record = returned("plan", 2, steps={"dns": step("planned", add=2, destroy=1, changes=changes)})
    shown = lines(record)
    assert "dns  +2 -1" in shown
    assert "  -/+ aws_instance.web  (cannot update)" in shown
    assert "    + aws_vpc.main" in shown


def test_what_was_applied_is_counted_not_listed():
    assert "aws_vpc.main" not in text.render(FAILED_RUN)


def test_thousands_of_changes_are_cut_with_their_number():
    changes = [{"address": f"a.b[{n}]", "action": "create"} for n in range(5000)]
    shown = lines(returned("plan", 2, steps={"big": step("planned", add=5000, changes=changes)}))
    assert len(shown) < MOST_CHANGES + 12
    assert any(f"and {5000 - MOST_CHANGES} more" in line for line in shown)


def test_a_deferred_component_says_what_it_waits_for():
    assert "waits for consul" in text.render(returned("plan", 2, steps={"v": step("deferred", waits_for=["consul"])}))


def test_nothing_is_wider_than_the_terminal_but_what_is_to_be_copied():
    wide = {**FAILED_RUN, "notes": ["word " * 60]}
    wide["steps"] = {**wide["steps"], "x" * 50: step("cancelled", reason="because " * 30)}
    for width in (60, 80, 140):
        too_long = [line for line in lines(wide, width) if len(line) > width]
        assert all(line.startswith("  fix: ") for line in too_long)
    assert any(line == f"  fix: {ERROR['fix']}" for line in lines(wide, 60)), "a command to copy stays whole"


def test_without_a_width_nothing_is_wrapped():
    assert ("word " * 60).strip() in text.render({**FAILED_RUN, "notes": ["word " * 60]})


def test_colour_only_when_asked():
    assert "\x1b[" not in text.render(FAILED_RUN, width=80)
    assert "\x1b[" in text.render(FAILED_RUN, width=80, color=True)


def test_terminal_escapes_and_markup_from_outside_are_only_text():
    nasty = step("failed", error={"summary": "\x1b[2J[bold]boom[/bold] :smile:", "detail": "", "fix": ""})
    shown = text.render(returned(retcode=1, steps={"[red]a": nasty}), width=80)
    assert "\x1b" not in shown
    assert "[bold]boom[/bold] :smile:" in shown
    assert "[red]a" in shown


def test_problems_of_the_pillar_are_listed_with_path_and_nearest_name():
    problem = {"path": "infrastructure:defaults:paralelism", "found": "an unknown key", "expected": "one of …",
               "nearest": "parallelism"}  # fmt: skip
    error = {"type": "ConfigError", "summary": "1 problem in the pillar, nothing was started", "detail": "\n  - …",
             "fix": "", "problems": [problem]}  # fmt: skip
    record = {"verb": "deploy", "retcode": 1, "success": False, "error": error}
    assert lines(record) == [
        "✗ 1 problem in the pillar, nothing was started",
        "  infrastructure:defaults:paralelism",
        "    found an unknown key, expected one of … (did you mean 'parallelism'?)",
    ]


def test_status_puts_what_wants_attention_last():
    components = {
        "vault": {"status": "half done", "locked_by": {"run": "r9"}},
        "networking": {"status": "applied", "resources": 4, "applied_at": "2026-11-16T03:30:12Z", "run": "r1"},
    }
    shown = lines(returned("status", components=components), 140)
    assert shown[1].split() == ["networking", "applied", "4", "2026-11-16", "03:30", "r1"]
    assert shown[2].split() == ["vault", "half", "done", "locked", "by", "run", "r9"]


def test_history_shows_a_run_a_line_with_what_it_was_even_if_it_died():
    runs = [
        {"id": "r2", "author": "root", "status": "dead", "verb": "destroy", "environment": "staging", "summary": ""},
        {"id": "r1", "author": "ann", "status": "done", "verb": "deploy", "environment": "staging", "summary": "ok"},
    ]
    shown = lines(returned("history", runs=runs))
    assert shown[1].split() == ["r2", "root", "dead", "destroy", "staging"]
    assert shown[2].split() == ["r1", "ann", "done", "ok"]


def test_preflight_says_good_news_once_and_bad_news_with_the_fix():
    checks = [{"check": "credentials", "component": f"c{n}", "ok": True, "detail": "root"} for n in range(9)]
    checks.insert(0, {"check": "disk", "component": "", "ok": False, "detail": "full", "fix": "free some"})
    shown = lines(returned("preflight", 1, checks=checks))
    assert shown[1].split() == ["✓", "credentials", "9", "components", "root"]
    assert shown[2].split() == ["✗", "disk", "full"]
    assert shown[3].strip() == "fix: free some"


def test_preflight_shows_a_warning_with_its_fix_after_what_is_good():
    checks = [
        {"check": "minion keys", "component": "web", "ok": True, "detail": "no way", "fix": "a", "warning": True},
        {"check": "salt", "component": "", "ok": True, "detail": "Salt 3008.3", "fix": "", "warning": False},
    ]
    shown = lines(returned("preflight", 0, checks=checks))
    assert shown[1].split() == ["✓", "salt", "Salt", "3008.3"]
    assert shown[2].split() == ["!", "minion", "keys", "web", "no", "way"]
    assert shown[3].strip() == "fix: a"


def test_outputs_are_shown_as_inputs_refer_to_them():
    record = returned("outputs", outputs={"networking": {"vpc_id": "vpc-1", "n": 3, "secret": "(sensitive)"}})
    assert [line.split() for line in lines(record)[1:4]] == [
        ["networking.vpc_id", "vpc-1"],
        ["networking.n", "3"],
        ["networking.secret", "(sensitive)"],
    ]


def test_a_drawn_graph_is_left_as_it_is():
    assert text.render(returned("graph", text="a\n└─ b", format="tree")) == "a\n└─ b"


def test_show_begins_with_who_and_when():
    about = {
        "id": "r1",
        "verb": "deploy",
        "author": "ann",
        "started": "2026-11-16T03:30:00Z",
        "options": {"only": True},
    }
    shown = lines(returned("show", run=about, steps={"a": step("unchanged")}))
    assert ["author", "ann"] in [line.split() for line in shown]
    assert ["options", '{"only":', "true}"] in [line.split() for line in shown]


@pytest.mark.parametrize("strange", [None, "text", {}, {"verb": "deploy"}, {"something": "else"}])
def test_what_is_not_a_return_is_left_to_others(strange):
    assert text.render(strange) is None


def test_steps_keep_the_order_in_which_they_happened():
    found = sort_out({"z": step("applied"), "f": step("failed"), "s": step("skipped"), "a": step("destroyed")})
    assert [row.names for row in found.rows] == [["z"], ["a"], ["s"]]
    assert [row.names for row in found.failed] == [["f"]]


@pytest.mark.parametrize(
    "verb", [path.stem for path in Path(verbs.__file__).parent.glob("*.py") if path.stem != "__init__"]
)
def test_the_failure_of_any_verb_is_said_and_not_dumped(verb):
    said = text.render(failure(verb, SaltformError("it went wrong", "because", "do this")))
    assert "✗ it went wrong" in said and "do this" in said
