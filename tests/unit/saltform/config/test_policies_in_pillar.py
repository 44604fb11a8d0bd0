"""`policies:` of the pillar, checked as a whole."""

from __future__ import annotations

import pytest

from saltform.config import load
from saltform.errors import ConfigError


def pillar(shared=None, own=None):
    environment = {"components": {"a": {"module": "m"}}} | ({"policies": own} if own is not None else {})
    tree = {"environments": {"staging": environment}} | ({"policies": shared} if shared is not None else {})
    return {"infrastructure": tree}


def read(**given):
    return load(pillar(**given)).environment("staging").policies


def problem(**given):
    with pytest.raises(ConfigError) as caught:
        read(**given)
    (found,) = caught.value.problems
    return found


def test_without_any_the_built_in_rules_warn():
    assert set(read().levels.values()) == {"warn"}
    assert read().sources == ()


def test_an_environment_adds_to_what_all_have():
    found = read(
        shared=["salt://policies/", {"rule": "open-to-world", "level": "approve"}],
        own=["salt://policies/strict.rego", {"rule": "open-to-world", "level": "deny"}],
    )
    assert found.sources == ("salt://policies", "salt://policies/strict.rego")
    assert found.levels["open-to-world"] == "deny"
    assert found.levels["data-destroyed"] == "warn"


@pytest.mark.parametrize(
    "wrong",
    ["/etc/policies", "salt://", "salt://rules.rego", "salt://policies/rules.txt", "salt://../x", 5, ["a"], None],
)
def test_a_source_that_is_none_is_a_problem_at_its_place(wrong):
    found = problem(own=["salt://policies", wrong])
    assert found.path == "infrastructure:environments:staging:policies:1"


def test_an_unknown_rule_is_a_problem_with_the_nearest_name():
    found = problem(shared=[{"rule": "open-to-word", "level": "deny"}])
    assert found.path == "infrastructure:policies:0:rule"
    assert found.nearest == "open-to-world"


@pytest.mark.parametrize("level", ["forbid", None, 3])
def test_a_level_that_is_none_is_a_problem(level):
    assert problem(shared=[{"rule": "open-to-world", "level": level}]).path == "infrastructure:policies:0:level"


def test_no_list_is_a_problem():
    assert problem(shared={"rule": "open-to-world"}).path == "infrastructure:policies"


def test_a_rule_can_stand_in_pillar_itself():
    found = read(shared=[{"name": "owners", "rego": "package owners"}], own=[{"name": "hours", "python": "x = 1"}])
    assert found.texts == (("owners.rego", "package owners"), ("hours.py", "x = 1"))
    assert found.custom


@pytest.mark.parametrize(
    "item",
    [
        {"name": "a"},
        {"name": "a", "rego": "x", "python": "y"},
        {"name": "a", "rego": ""},
        {"name": "a b", "rego": "x"},
        {"rego": "x"},
        {"name": "a", "perl": "x", "rego": "x"},
    ],
)
def test_a_rule_in_pillar_has_a_name_and_one_text(item):
    assert "policies:0" in problem(shared=[item]).path
