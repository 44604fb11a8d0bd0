"""What drift means: leaves that differ, what the module sets, rules, and the comparison with what was known."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saltform.features.drift.differences import Difference, compare, differences, matching, split_ignored

T0, T1 = "2026-11-16T03:00:00.000Z", "2026-11-17T03:00:00.000Z"


def computes(kind, attribute):
    return attribute.split(".")[0] in ("arn", "public_ip", "ingress", "block")


def plan(before, after, expressions=None, marks=(None, None), address="aws_instance.a", actions=("update",)):
    hidden, hidden_after = (mark or {} for mark in marks)
    change = {"actions": list(actions), "before": before, "after": after}
    change |= {"before_sensitive": hidden, "after_sensitive": hidden_after}
    kind, _, name = address.partition("[")[0].partition(".")
    resource = {"address": f"module.main.{address}", "module_address": "module.main", "type": kind, "name": name}
    module = {"resources": [{"address": f"{kind}.{name}", "expressions": expressions or {}}]}
    return {
        "resource_drift": [resource | {"change": change}],
        "configuration": {"root_module": {"module_calls": {"main": {"module": module}}}},
    }


def found(*arguments, dynamic=(), **given):
    return [
        (item.attribute, item.before, item.after, item.kind)
        for item in differences(plan(*arguments, **given), computes, dynamic)
    ]


def test_maps_are_compared_key_by_key_and_blocks_that_are_there_once_attribute_by_attribute():
    before = {"tags": {"a": "1", "b": "2"}, "disk": [{"size": 8, "kind": "x"}]}
    after = {"tags": {"a": "1", "c": "3"}, "disk": [{"size": 9, "kind": "x"}]}
    assert found(before, after) == [
        ("disk[0].size", 8, 9, "drift"),
        ("tags.b", "2", None, "drift"),
        ("tags.c", None, "3", "drift"),
    ]


def test_other_lists_say_what_left_and_what_came():
    assert found({"x": ["a", "b", "b"]}, {"x": ["b", "c", "a"]}) == [("x", ["b"], ["c"], "drift")]


def test_a_list_in_another_order_is_told_apart():
    assert found({"x": ["a", "b"]}, {"x": ["b", "a"]}) == [("x", ["a", "b"], ["b", "a"], "reordered")]


@pytest.mark.parametrize("empty", [None, "", [], {}, False, 0])
@pytest.mark.parametrize("other", [None, "", [], {}])
def test_nothing_and_empty_are_the_same(empty, other):
    assert found({"x": empty}, {"x": other}) == []


def test_a_resource_that_is_gone_is_one_difference():
    assert found({"tags": {"a": "1"}}, None, actions=("delete",)) == [("", "there", "gone", "drift")]


def test_computed_is_what_nobody_set_and_the_provider_computes():
    before, after = {"arn": "a", "ingress": [1], "size": 1}, {"arn": "b", "ingress": [2], "size": 2}
    kinds = {name: kind for name, *_, kind in found(before, after)}
    assert kinds == {"arn": "computed", "ingress": "computed", "size": "drift"}
    kinds = {name: kind for name, *_, kind in found(before, after, {"ingress": {"constant_value": [1]}})}
    assert kinds["ingress"] == "drift"
    kinds = {name: kind for name, *_, kind in found(before, after, dynamic={"aws_instance.a.ingress"})}
    assert kinds["ingress"] == "drift"
    kinds = {name: kind for name, *_, kind in found(before, after, dynamic={"aws_instance.b.ingress"})}
    assert kinds["ingress"] == "computed"


def test_in_a_block_only_the_attributes_that_are_set_count():
    before, after = {"block": [{"size": 1, "id": "a"}]}, {"block": [{"size": 2, "id": "b"}]}
    written = {"block": [{"size": {"references": ["var.size"]}}]}
    assert {name: kind for name, *_, kind in found(before, after, written)} == {
        "block[0].size": "drift",
        "block[0].id": "computed",
    }


def test_tags_all_says_only_what_tags_does_not():
    before = {"tags": {"a": "1"}, "tags_all": {"a": "1", "ours": "x"}}
    after = {"tags": {"a": "2"}, "tags_all": {"a": "2"}}
    assert [item[0] for item in found(before, after)] == ["tags.a", "tags_all.ours"]


@pytest.mark.parametrize("marks", [({"x": True}, {}), ({}, {"x": True}), ({"x": [True]}, {"x": [False]})])
def test_sensitive_values_are_never_in_a_difference(marks):
    assert found({"x": ["old"]}, {"x": ["new", "b"]}, marks=marks) == [("x", "(sensitive)", "(sensitive)", "drift")]


def test_a_resource_in_a_module_of_the_module_is_found_in_the_configuration():
    document = plan({"arn": "a"}, {"arn": "b"}, {"arn": {"constant_value": "a"}})
    inner = document["configuration"]["root_module"]["module_calls"]["main"]["module"]
    document["configuration"]["root_module"]["module_calls"]["main"]["module"] = {
        "module_calls": {"sub": {"module": inner}}
    }
    where = 'module.main.module.sub["a.b[0]"]'
    document["resource_drift"][0] |= {"module_address": where, "address": f"{where}.aws_instance.a[1]"}
    (difference,) = differences(document, computes)
    assert difference.kind == "drift"
    assert difference.address == 'module.sub["a.b[0]"].aws_instance.a[1]'


@pytest.mark.parametrize(
    ("rule", "hides"),
    [
        ("aws_instance.*.tags.LastScan", True),
        ("aws_instance.a[0].tags", True),
        ("aws_instance.a[0]", True),
        ("*.tags.*", True),
        ("aws_instance.a[1].tags", False),
        ("aws_instance.a[0].tag", False),
        ("aws_instance.a0.tags", False),
    ],
)
def test_ignore_rules_match_an_address_with_its_attribute_and_all_below(rule, hides):
    difference = Difference("aws_instance.a[0]", "tags.LastScan", "1", "2")
    left, hidden = split_ignored([difference], [rule])
    assert (left, hidden) == (([], {rule: 1}) if hides else ([difference], {}))


def one(after="b"):
    return [Difference("aws_vpc.a", "tags.Name", "a", after)]


def test_a_finding_keeps_when_it_was_first_seen_until_it_is_resolved():
    first, _ = compare([], one(), ("staging", "net"), T0, "1")
    second, _ = compare(first, one(), ("staging", "net"), T1, "2")
    assert [(item.first_seen, item.last_seen, item.run) for item in second] == [(T0, T1, "2")]
    now, resolved = compare(second, [], ("staging", "net"), T1, "3")
    assert now == []
    assert [(item.name, item.resolved) for item in resolved] == [("aws_vpc.a.tags.Name", T1)]


def test_an_acknowledged_finding_that_drifts_further_is_news():
    (finding,), _ = compare([], one(), ("staging", "net"), T0, "1")
    known = dataclasses.replace(finding, known_until=T1, known_by="ada", known_reason="why")
    (same,), _ = compare([known], one(), ("staging", "net"), T0, "2")
    assert same.known(T0)
    assert not same.known("2026-11-18T03:00:00.000Z")
    (other,), _ = compare([known], one("c"), ("staging", "net"), T0, "2")
    assert not other.known(T0)


def test_findings_are_named_by_address_attribute_or_glob():
    findings, _ = compare([], one(), ("staging", "net"), T0, "1")
    assert matching(findings, "aws_vpc.a") == matching(findings, "*.Name") == findings
    assert matching(findings, "aws_vpc.b") == []


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text("ab", max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("xyz"), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.sampled_from(["arn", "tags", "block", "size"]), VALUES, max_size=4)


@given(OBJECTS)
def test_nothing_differs_from_itself(values):
    assert found(values, values) == []


@given(OBJECTS, OBJECTS)
def test_what_differs_one_way_differs_the_other_way_too(before, after):
    there, back = found(before, after), found(after, before)
    assert sorted(item[0] for item in there) == sorted(item[0] for item in back)


@given(OBJECTS, OBJECTS)
def test_nothing_of_a_sensitive_value_is_in_a_difference(before, after):
    marks = dict.fromkeys({*before, *after}, True)
    assert all(item[1:3] == ("(sensitive)", "(sensitive)") for item in found(before, after, marks=(marks, marks)))
