"""config.load: everything validated at once, each problem with its pillar path."""

from __future__ import annotations

import datetime
from collections import OrderedDict

import pytest

from saltform.config import load
from saltform.config.types import Limits
from saltform.errors import ConfigError, UnknownName


def pillar(components, **rest):
    return {"infrastructure": {"environments": {"staging": {"components": components}}, **rest}}


def problems_of(tree, environment=None):
    with pytest.raises(ConfigError) as caught:
        load(tree, environment)
    return {problem.path.removeprefix("infrastructure:"): problem for problem in caught.value.problems}


HERE = "environments:staging:components"


def test_a_component_gets_the_defaults_that_it_does_not_override():
    tree = pillar(
        {"a": {"module": "m"}, "b": {"module": "m", "timeouts": {"plan": "2m"}, "binary": "tofu"}},
        defaults={"timeouts": {"plan": "1h", "apply": 90}, "binary": "terraform", "parallelism": 7, "targets": "*"},
    )
    staging = load(tree).environment("staging")
    assert staging.parallelism == 7
    a, b = staging.components["a"], staging.components["b"]
    assert (a.binary, a.timeouts.plan, a.timeouts.apply, a.targets) == ("terraform", 3600, 90, "*")
    assert (b.binary, b.timeouts.plan, b.timeouts.apply) == ("tofu", 120, 90)


@pytest.mark.parametrize("version", ["1.11.4", ">=1.10,<2", "~> 1.11", "= 1.6", ">= 1.6.0-beta1, != 1.7.2"])
def test_a_version_is_taken_as_people_write_it_for_terraform(version):
    assert load(pillar({"a": {"module": "m", "version": version}}))


@pytest.mark.parametrize("version", ["banana", "1.x", ">=", "1.2 or 1.3", "=> 1.2"])
def test_what_is_no_version_is_a_problem_in_pillar(version):
    found = problems_of(pillar({"a": {"module": "m", "version": version}}))[f"{HERE}:a:version"]
    assert "'~> 1.11'" in found.expected


def test_limits_and_tiers_of_time_outs_are_read_and_checked():
    limits = {"processes": 2, "starts_per_minute": 60, "parallelism": 5}
    tree = pillar(
        {"a": {"module": "m", "provider": "hive", "timeouts": {"extended": "3h", "quick": "10s"}}},
        providers={"hive": {"kind": "hive", "limits": limits}},
    )
    found = load(tree).environment("staging").components["a"]
    assert found.provider.limits == Limits(2, 60, 5)
    assert (found.timeouts.quick, found.timeouts.extended, found.timeouts.plan) == (10, 10800, 900)
    tree["infrastructure"]["providers"]["hive"]["limits"] = {"processes": 0, "start_per_minute": 5}
    tree["infrastructure"]["defaults"] = {"timeouts": {"aply": "1h"}}
    problems = problems_of(tree)
    assert problems["providers:hive:limits:processes"].expected == "a whole number from 1 to 256"
    assert problems["providers:hive:limits:start_per_minute"].nearest == "starts_per_minute"
    assert problems["defaults:timeouts:aply"].nearest == "apply"


def test_all_problems_are_reported_at_once_with_path_found_expected_and_nearest_name():
    tree = pillar(
        {
            "networking": {"module": "networking", "provider": "hvie"},
            "consul": {
                "modul": "consul",
                "inputs": {"vpc_id": "@netwroking.vpc_id", "plain": "10.0.0.0/8"},
                "stateful": "yes",
            },
            "bad name": {"module": "m"},
        },
        providers={"hive": {"kind": "hive"}},
        defaults={"parallelism": 0},
    )
    found = problems_of(tree)
    assert found[f"{HERE}:networking:provider"].nearest == "hive"
    assert found[f"{HERE}:consul:modul"].nearest == "module"
    assert found[f"{HERE}:consul:inputs:vpc_id"].nearest == "networking"
    assert found[f"{HERE}:consul:inputs:vpc_id"].found == "'@netwroking.vpc_id'"
    assert "variables" in found[f"{HERE}:consul:inputs:plain"].expected
    assert found[f"{HERE}:consul:stateful"].expected == "true or false"
    assert f"{HERE}:consul:module" in found
    assert f"{HERE}:bad name" in found
    assert "1 to 256" in found["defaults:parallelism"].expected
    assert len(found) == 8


def test_the_message_names_each_place_once():
    with pytest.raises(ConfigError) as caught:
        load(pillar({"a": {"module": "m", "needs": ["b"]}, "b": {"module": 3}}))
    text = str(caught.value)
    assert "1 problem" in text
    assert "infrastructure:environments:staging:components:b:module: found 3, expected a string" in text


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (datetime.date(2026, 1, 1), "put dates in quotes"),
        (float("nan"), "a finite number"),
        ({1: "x"}, "a string as key"),
        (b"bytes", "a string, number"),
    ],
)
def test_a_variable_that_terraform_has_no_type_for_is_refused(value, expected):
    found = problems_of(pillar({"a": {"module": "m", "variables": {"x": {"deep": [value]}}}}))
    assert expected in found[f"{HERE}:a:variables:x:deep:0"].expected


def test_yaml_types_of_variables_survive():
    given = OrderedDict(n=1, f=1.5, b=False, none=None, text="${x} %{y} ü", deep={"l": [1, "1", True]})
    component = load(pillar({"a": {"module": "m", "variables": given}})).environment("staging").components["a"]
    assert dict(component.variables) == dict(given)
    assert [type(value) for value in component.variables.values()] == [int, float, bool, type(None), str, dict]


def test_a_variable_is_set_in_one_place_only():
    tree = pillar({"b": {"module": "m"}, "a": {"module": "m", "variables": {"x": 1}, "inputs": {"x": "@b.y"}}})
    assert "set under variables too" in problems_of(tree)[f"{HERE}:a:inputs:x"].expected


def test_star_means_every_component_that_does_not_say_star():
    tree = pillar(
        {
            "a": {"module": "m"},
            "b": {"module": "m", "inputs": {"x": "@a.y"}},
            "backups": {"module": "m", "needs": ["*"]},
            "audit": {"module": "m", "needs": "*"},
        }
    )
    components = load(tree).environment("staging").components
    assert components["backups"].needs == ("a", "b")
    assert components["audit"].needs == ("a", "b")
    assert components["b"].needs == ("a",)


def test_a_cycle_is_shown_as_its_path():
    tree = pillar({"a": {"module": "m", "needs": ["b"]}, "b": {"module": "m", "inputs": {"x": "@a.y"}}})
    assert "a → b → a" in problems_of(tree)[HERE].found


def test_only_the_named_environment_is_read():
    tree = pillar({"a": {"module": "m"}})
    tree["infrastructure"]["environments"]["broken"] = {"components": {"x": {}}}
    assert load(tree, "staging").environment("staging").components["a"].module == "m"
    assert "environments:broken:components:x:module" in problems_of(tree)


def test_an_unknown_environment_names_the_nearest():
    with pytest.raises(UnknownName, match="unknown environment 'stagin'") as caught:
        load(pillar({"a": {"module": "m"}}), "stagin")
    assert "Did you mean 'staging'?" in caught.value.detail


def test_an_environment_without_components_is_a_problem():
    assert "at least one component" in problems_of(pillar({}))["environments:staging:components"].expected


def test_a_pillar_that_is_not_targeted_to_this_id_says_so():
    with pytest.raises(ConfigError, match="targeted"):
        load({})


def test_a_rename_must_come_from_a_name_that_is_free():
    tree = pillar({"a": {"module": "m"}, "b": {"module": "m", "renamed_from": "a"}})
    assert f"{HERE}:b:renamed_from" in problems_of(tree)


def test_problems_of_the_modules_join_the_others():
    from saltform.errors import Problem

    extra = Problem("infrastructure:x", "this", "that")
    with pytest.raises(ConfigError) as caught:
        load(pillar({"a": {}}), inspect=lambda _: [extra])
    assert extra in caught.value.problems
    assert len(caught.value.problems) == 2


def test_credentials_of_an_unknown_source_are_a_problem_at_their_place():
    tree = pillar({"a": {"module": "m"}}, providers={"hive": {"credentials": {"valt": {"path": "x"}}}})
    assert any(path.startswith("providers:hive:credentials") for path in problems_of(tree))


def test_sources_may_be_a_list_merged_in_order():
    tree = pillar(
        {"a": {"module": "m", "provider": "hive"}},
        providers={"hive": {"credentials": [{"environment": {}}, {"vault": {"path": "secret/hive"}}]}},
    )
    provider = load(tree).environment("staging").components["a"].provider
    assert [source.kind for source in provider.credentials] == ["environment", "vault"]


@pytest.mark.parametrize("targets", ["vault-*", "vault-1 or vault-2", ["vault-1", "vault-?"]])
def test_who_sees_a_sensitive_output_is_an_id_in_full_and_never_a_glob_that_would_match_nobody(targets):
    tree = pillar({"a": {"module": "m", "outputs": {"secret": {"targets": targets}}}})
    problem = problems_of(tree)[f"{HERE}:a:outputs:secret:targets"]
    assert "whole minion ids" in problem.expected
    assert "E@vault-.*" in problem.expected


@pytest.mark.parametrize("targets", ["vault-1", ["vault-1", "vault-2.example.com"], "E@vault-.*", "I@role:vault"])
def test_ids_and_expressions_may_see_a_sensitive_output(targets):
    load(pillar({"a": {"module": "m", "outputs": {"secret": {"targets": targets}}}}))


def test_an_environment_named_by_a_number_is_told_to_be_quoted():
    """YAML reads `2024:` as a number, and whoever names it says a string."""
    named = {2024: {"components": {"a": {"module": "m"}}}, "staging": {"components": {"a": {"module": "m"}}}}
    tree = {"infrastructure": {"environments": named}}
    for asked in (None, "2024"):
        (found,) = problems_of(tree, asked).values()
        assert (found.path, found.found) == ("infrastructure:environments:2024", "2024")
        assert "in quotes: '2024':" in found.expected
    assert load(tree, "staging").environment("staging").components
    with pytest.raises(UnknownName, match="known: 2024, staging") as caught:
        load(tree, "stagign")
    assert "Did you mean 'staging'?" in caught.value.detail
