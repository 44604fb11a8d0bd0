"""`approval:` and `groups:` of the pillar: what is accepted, what is inherited, and every mistake named."""

from __future__ import annotations

import pytest

from saltform.config import load
from saltform.config.approval import Approval
from saltform.errors import ConfigError

GROUPS = {"sre": ["alice", "bob"], "dba": ["carol"]}


def loaded(approval=None, component=None, groups=GROUPS):
    a = {"module": "m"} | ({"approval": component} if component is not None else {})
    staging = {"components": {"a": a, "b": {"module": "m"}}}
    staging |= {"approval": approval} if approval is not None else {}
    return load({"infrastructure": {"groups": groups, "environments": {"staging": staging}}}).environment("staging")


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
        ({"by": {"alice": 1}}, "approval:by: found a mapping, expected a list of strings"),
        ({"count": 0}, "expected a whole number from 1 to 20"),
        ({"count": "2"}, "expected a whole number from 1 to 20"),
        ({"not_author": "yes"}, "expected true or false"),
        ({"expires": "tomorrow"}, "expected a time such as"),
        ({"fresh_for": 0}, "expected a time such as"),
        ("always", "approval: found a value of type str, expected a mapping"),
    ],
)
def test_a_mistake_is_named(approval, said):
    assert any(said in problem for problem in problems(approval))
    assert any(said in problem and ":components:a:" in problem for problem in problems(None, approval))


@pytest.mark.parametrize("groups", [{"sre": []}, {"sre": ["@dba"]}, {"a b": ["alice"]}, {"sre": {"alice": 1}}])
def test_a_group_is_a_list_of_users(groups):
    assert any("infrastructure:groups:" in problem for problem in problems(groups=groups))
