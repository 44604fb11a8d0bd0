"""`drift: {ignore: […]}` of an environment and of a component."""

from __future__ import annotations

import pytest

from saltform.config import load
from saltform.errors import ConfigError


def pillar(environment_rules, rules):
    component = {"module": "m", "drift": {"ignore": rules}}
    staging = {"components": {"net": component, "other": {"module": "m"}}, "drift": {"ignore": environment_rules}}
    return {"infrastructure": {"environments": {"staging": staging}}}


def test_a_component_has_its_environments_rules_and_its_own():
    components = load(pillar(["*.*.tags.Scan"], "aws_vpc.this.arn")).environment("staging").components
    assert components["net"].ignore_drift == ("*.*.tags.Scan", "aws_vpc.this.arn")
    assert components["other"].ignore_drift == ("*.*.tags.Scan",)


@pytest.mark.parametrize("rules", [["tags"], [7], {"a": 1}, ["aws_vpc. this"], [""]])
def test_a_rule_that_can_never_match_is_a_problem_with_its_path(rules):
    with pytest.raises(ConfigError) as caught:
        load(pillar([], rules))
    assert caught.value.problems[0].path == "infrastructure:environments:staging:components:net:drift:ignore"


def test_an_unknown_key_is_a_problem():
    tree = pillar([], [])
    tree["infrastructure"]["environments"]["staging"]["drift"] = {"ignored": []}
    with pytest.raises(ConfigError) as caught:
        load(tree)
    assert caught.value.problems[0].nearest == "ignore"
