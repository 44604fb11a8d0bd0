"""Rules judge plans, and whatever goes wrong with a rule denies."""

from __future__ import annotations

import pytest

from saltform.config.policies import BUILT_IN, Policies
from saltform.errors import ModuleError
from saltform.plan import UNKNOWN, Change, Hidden, Plan
from saltform.plan.dangers import CHECKS
from saltform.policy import Judge

ABOUT = {"environment": "staging", "component": "store"}
VOLUME = Change("aws_ebs_volume.data", "aws_ebs_volume", "delete", {"size": 8})
EIP = Change("aws_eip.this", "aws_eip", "create", None, {"tags": {"owner": "ada"}, "id": UNKNOWN, "p": Hidden("x")})
PLAN = Plan((VOLUME, EIP))

PYTHON = """
def deny(plan):
    for change in plan["changes"]:
        if change["action"] == "delete":
            yield {"address": change["address"], "why": f"{plan['component']} of {plan['environment']} deletes"}

def warn(plan):
    return "a single text"
"""
REGO = """
package company.volumes

deny contains {"address": change.address, "why": "deletes"} if {
  some change in input.changes
  change.action == "delete"
}

approve contains message if {
  message := sprintf("%s is touched", [input.component])
}
"""


@pytest.fixture
def judged(tmp_path):
    """The verdicts of these files, as (rule, level, address, why), without the built-in rules."""

    def judge(plan=PLAN, sources=("salt://policies",), **files):
        for name, text in files.items():
            (tmp_path / name.replace("__", ".")).write_text(text)
        levels = dict.fromkeys(BUILT_IN, "ignore")
        found = Judge(Policies(levels, sources), lambda _: tmp_path).judge(plan, ABOUT)
        return [(each.rule, each.level, each.address, each.why) for each in found]

    return judge


def test_every_built_in_rule_is_known_to_pillar_and_the_other_way_round():
    assert set(BUILT_IN) == {*CHECKS, "not-touched"}


def test_built_in_rules_warn_unless_pillar_says_otherwise():
    found = Judge(Policies(), lambda _: None).judge(PLAN, ABOUT)
    assert [(each.rule, each.level) for each in found] == [("data-destroyed", "warn"), ("public-address", "warn")]
    strict = Policies({**BUILT_IN, "data-destroyed": "deny", "public-address": "ignore"})
    found = Judge(strict, lambda _: None).judge(PLAN, ABOUT)
    assert [(each.rule, each.level) for each in found] == [("data-destroyed", "deny")]


def test_a_python_rule_names_rule_resource_and_why(judged):
    assert judged(rules__py=PYTHON) == [
        ("rules.py", "deny", "aws_ebs_volume.data", "store of staging deletes"),
        ("rules.py", "warn", "", "a single text"),
    ]


def test_a_rego_rule_names_rule_resource_and_why(judged):
    assert judged(rules__rego=REGO) == [
        ("rules.rego", "deny", "aws_ebs_volume.data", "deletes"),
        ("rules.rego", "approve", "", "store is touched"),
    ]


def test_a_rego_rule_that_finds_nothing_says_nothing(judged):
    quiet = 'package a\ndeny contains "no" if input.component == "other"\n'
    assert judged(rules__rego=quiet) == []


def test_one_file_of_a_folder_can_be_named(judged):
    found = judged(
        sources=("salt://policies/b.py",), a__py="def deny(plan): return 'a'", b__py="def deny(plan): return 'b'"
    )
    assert [each[0] for each in found] == ["b.py"]


def test_a_rule_sees_words_where_a_value_is_unknown_or_sensitive(judged):
    source = "def warn(plan): return [str(plan['changes'][1]['after'][key]) for key in ('id', 'p')]"
    assert [each[3] for each in judged(rules__py=source)] == ["(known after apply)", "(sensitive)"]


def test_a_rule_cant_change_what_another_one_judges(judged):
    greedy = "def deny(plan): plan['changes'].clear()\ndef warn(plan): return str(len(plan['changes']))"
    assert judged(a__py=greedy, b__py="def warn(plan): return str(len(plan['changes']))") == [
        ("a.py", "warn", "", "2"),
        ("b.py", "warn", "", "2"),
    ]


@pytest.mark.parametrize(
    ("name", "source", "why"),
    [
        ("a__py", "def deny(plan): return 1 / 0", "crashed: ZeroDivisionError"),
        ("a__py", "def deny(plan): raise SystemExit(0)", "crashed: SystemExit"),
        ("a__py", "def deny(plan): return 5", "expected a list"),
        ("a__py", "def deny(plan): return [{'reason': 'x'}]", "mapping with `why`"),
        ("a__py", "def warn(plan):\n  yield 'fine'\n  raise ValueError('late')", "crashed: ValueError: late"),
        ("a__py", "def deny(plan) return", "can't be read: SyntaxError"),
        ("a__py", "raise SystemExit(0)", "can't be read: SystemExit"),
        ("a__py", "def forbid(plan): return []", "none of the functions deny, approve, warn"),
        ("a__py", "import no_such_library\ndef deny(plan): pass", "can't be run: No module named"),
        ("a__rego", "package a\ndeny contains", "can't be read: RegoError"),
        ("a__rego", "deny contains 1 if true", "no `package`"),
        ("a__rego", "package a\nallow := true", "none of the rules deny, approve, warn"),
        ("a__rego", 'package a\ndeny contains m if { m := to_number("zz") }', "crashed: NoVerdict: rego:"),
        ("a__rego", "package a\ndeny contains m if { m := 1 / 0 }", "crashed: NoVerdict: rego:"),
        ("a__rego", "package a\ndeny contains 7 if true", "crashed: NoVerdict"),
        ("a__rego", "package a\ndeny := no_such_function(1)", "crashed"),
    ],
)
def test_a_rule_with_anything_wrong_denies(judged, capfd, name, source, why):
    ((rule, level, _, said),) = judged(**{name: source})
    assert (rule, level) == (name.replace("__", "."), "deny")
    assert why in said
    assert capfd.readouterr().out == ""  # where --out=json is


def test_a_rule_that_denies_is_not_made_milder_by_one_that_crashes(judged):
    found = judged(a__py="def deny(plan): return 'no'", b__py="def warn(plan): 1 / 0")
    assert [each[1] for each in found] == ["deny", "deny"]


def test_a_missing_file_denies(judged):
    assert judged(sources=("salt://policies/gone.rego",)) == [("gone.rego", "deny", "", "the policy file is missing")]


def test_an_empty_folder_denies(judged):
    ((rule, level, _, why),) = judged()
    assert (rule, level) == ("salt://policies", "deny")
    assert "no .py or .rego file" in why


def test_a_folder_that_cant_be_fetched_denies():
    def fetch(_):
        raise ModuleError("no folder on the file server")

    (found,) = Judge(Policies(dict.fromkeys(BUILT_IN, "ignore"), ("salt://gone",)), fetch).judge(Plan(), ABOUT)
    assert (found.level, found.rule) == ("deny", "salt://gone")


def test_rules_are_fetched_once_for_a_run(tmp_path):
    (tmp_path / "a.py").write_text("def deny(plan): pass")
    fetched = []
    judge = Judge(Policies(sources=("salt://policies",)), lambda source: fetched.append(source) or tmp_path)
    judge.judge(PLAN, ABOUT)
    judge.judge(PLAN, ABOUT)
    assert fetched == ["salt://policies"]


@pytest.mark.parametrize(
    ("policies", "needed"),
    [
        (Policies(), False),
        (Policies({**BUILT_IN, "data-destroyed": "deny"}), False),
        (Policies({**BUILT_IN, "open-to-world": "ignore"}), False),
        (Policies({**BUILT_IN, "open-to-world": "deny"}), True),
        (Policies({**BUILT_IN, "public-address": "approve"}), True),
        (Policies(sources=("salt://policies",)), True),
    ],
)
def test_values_are_needed_only_by_a_rule_that_can_stop_something_or_is_in_a_file(policies, needed):
    assert Judge(policies, lambda _: None).needs_values is needed


def test_without_values_the_actions_are_judged():
    (found,) = Judge(Policies(), lambda _: None).judge_actions([VOLUME, EIP], {})
    assert (found.rule, found.address) == ("data-destroyed", "aws_ebs_volume.data")


@pytest.mark.parametrize(
    ("change", "level", "found"),
    [
        (VOLUME, "warn", ["warn"]),
        (VOLUME, "deny", ["deny"]),
        (VOLUME, "ignore", []),
        (Change("a.b", "a", "read"), "warn", []),
        (Change("a.b", "a", "replace", reason="replace_by_request"), "warn", []),
        (Change("a.b", "a", "replace", reason="requested"), "warn", []),
    ],
)
def test_what_changes_though_nobody_touched_it_is_said_once(change, level, found):
    policies = Policies({**dict.fromkeys(BUILT_IN, "ignore"), "not-touched": level})
    judge = Judge(policies, lambda _: None)
    assert not judge.needs_values
    about = {"untouched": "changes, although nobody touched it"}
    assert [each.level for each in judge.judge(Plan((change, change)), about)] == found
    assert [each.level for each in judge.judge_actions([change, change], about)] == found
    assert judge.judge(Plan((change,)), {"untouched": ""}) == []


def test_rules_that_stand_in_pillar_judge_and_fail_closed():
    texts = (("a.py", "def deny(plan): return 'no'"), ("b.rego", "package b\nwarn contains x if { x := 1 > 0 }"))
    broken = (("c.py", "def deny(plan: return"), ("d.rego", "nonsense"))
    judge = Judge(Policies(dict.fromkeys(BUILT_IN, "ignore"), (), texts + broken), lambda _: None)
    assert judge.needs_values
    assert judge.can_ask
    found = judge.judge(Plan((VOLUME,)), {})
    assert [(each.rule, each.level) for each in found if each.rule == "a.py"] == [("a.py", "deny")]
    assert [each.level for each in found if each.rule in ("c.py", "d.rego")] == ["deny", "deny"]
