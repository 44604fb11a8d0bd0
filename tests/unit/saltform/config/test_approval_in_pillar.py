"""`approval:` and `groups:` of the pillar: what is accepted, what is inherited, and every mistake named."""

from __future__ import annotations

import pytest

from saltform.config import load
from saltform.config.approval import Approval, person
from saltform.errors import ConfigError

GROUPS = {"sre": ["alice", "bob"], "dba": ["carol"]}


def loaded(approval=None, component=None, groups=GROUPS, roles=None):
    a = {"module": "m"} | ({"approval": component} if component is not None else {})
    staging = {"components": {"a": a, "b": {"module": "m"}}}
    staging |= {"approval": approval} if approval is not None else {}
    tree = {"groups": groups, "environments": {"staging": staging, "production": staging}}
    tree |= {"roles": roles} if roles is not None else {}
    return load({"infrastructure": tree}, "staging").environment("staging")


def problems(*given, **named):
    with pytest.raises(ConfigError) as caught:
        loaded(*given, **named)
    return [str(problem) for problem in caught.value.problems]


def test_without_a_word_only_a_policy_asks():
    assert loaded().approval == loaded().approval_of("a") == Approval()
    assert Approval().when == "policy"


def test_everything_can_be_said():
    found = loaded(
        {"when": "always", "by": ["@sre", "dave"], "count": 2, "not_author": True, "expires": "2d", "fresh_for": "5m"}
    ).approval
    assert found == Approval(
        "always", ("@sre", "dave"), frozenset({"alice", "bob", "dave"}), 2, True, 172800.0, 300.0
    )


def test_a_component_inherits_what_it_does_not_say():
    found = loaded({"when": "always", "by": ["@sre"], "count": 2}, {"by": ["@sre", "@dba"], "count": 3})
    assert found.approval_of("a").when == "always"
    assert (found.approval_of("a").count, found.approval_of("a").users) == (3, {"alice", "bob", "carol"})
    assert found.approval_of("b") == found.approval
    assert found.approval_of("one that left the pillar") == found.approval


@pytest.mark.parametrize(
    ("approval", "said"),
    [
        ({"when": "allways"}, "approval:when: found 'allways', expected one of: never, policy,"),
        ({"wen": "always"}, "did you mean 'when'?"),
        (
            {"by": ["@sra"]},
            "found '@sra', expected a group of infrastructure:groups: @dba, @sre (did you mean 'sre'?)",
        ),
        ({"by": ["@sre"], "count": 3}, "approval:count: found 3, expected at most 2"),
        ({"by": ["alice", "Alice", "sudo_alice"], "count": 2}, "approval:count: found 2, expected at most 1"),
        ({"by": {"alice": 1}}, "approval:by: found a mapping, expected a list of strings"),
        ({"count": 0}, "expected a whole number from 1 to 20"),
        ({"count": "2"}, "expected a whole number from 1 to 20"),
        ({"not_author": "yes"}, "expected true or false"),
        ({"expires": "tomorrow"}, "expected a time such as"),
        ({"fresh_for": 0}, "expected a time above zero: leave `fresh_for` out"),
        ("always", "approval: found a value of type str, expected a mapping"),
    ],
)
def test_a_mistake_is_named(approval, said):
    assert any(said in problem for problem in problems(approval))
    assert any(said in problem and ":components:a:" in problem for problem in problems(None, approval))


@pytest.mark.parametrize("groups", [{"sre": []}, {"sre": ["@dba"]}, {"a b": ["alice"]}, {"sre": {"alice": 1}}])
def test_a_group_is_a_list_of_users(groups):
    assert any("infrastructure:groups:" in problem for problem in problems(groups=groups))


@pytest.mark.parametrize("rule", [{"count": 2}, {"not_author": True}, {"by": [], "count": 2}])
@pytest.mark.parametrize(
    "roles",
    [
        None,
        {"approver": {"staging": ["*"]}},
        {"approver": {"staging": ["alice", "bob"]}, "admin": {"stag*": ["*"]}},
    ],
)
def test_where_people_are_counted_or_told_apart_somebody_names_them(rule, roles):
    """Whoever Salt lets in may have two accounts, or two spellings of one."""
    key = "count" if "count" in rule else "not_author"
    for given in ((rule, None), (None, rule)):
        [problem] = problems(*given, roles=roles)
        assert f"approval:{key}: found {rule[key]}, expected who may approve, by name" in problem


@pytest.mark.parametrize("rule", [{"count": 2}, {"not_author": True}])
@pytest.mark.parametrize(
    "roles", [{"approver": {"staging": ["@sre"]}, "viewer": {"*": ["*"]}}, {"admin": {"production": ["*"]}}]
)
def test_roles_that_name_everybody_who_may_approve_are_enough(rule, roles):
    assert loaded(rule, roles=roles).approval == Approval(**rule)


@pytest.mark.parametrize("spelling", ["Alice", "ALICE", "alice ", " alice", "sudo_alice", "sudo_Alice", "\uff41lice"])
def test_one_person_is_one_however_the_name_is_spelt(spelling):
    assert person(spelling) == person("alice")
    assert person("alice2") != person("alice")
