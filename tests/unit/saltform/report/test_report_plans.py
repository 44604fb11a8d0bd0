"""A plan as people read it: the dangerous first, then what changes, before and after."""

from __future__ import annotations

import pytest

from saltform.report import markdown, text


def step(name, action="update", verdicts=(), attributes=()):
    change = {"address": f"aws_thing.{name}", "action": action, "attributes": list(attributes)}
    return {
        "status": "planned",
        "reason": "",
        "change": 1,
        "changes": [change],
        "verdicts": [dict(zip(("level", "rule", "address", "why"), each, strict=True)) for each in verdicts],
    }


def plan(**steps):
    return {"verb": "plan", "environment": "staging", "summary": "plan staging", "steps": steps, "retcode": 2}


def attribute(path, before, after, **more):
    return {"path": path, "before": before, "after": after, **more}


@pytest.fixture
def dangerous():
    warned = ("warn", "public-address", "aws_eip.b", "is a public address")
    denied = ("deny", "tags.rego", "aws_thing.c", "has no owner")
    return plan(a=step("a"), b=step("b", verdicts=[warned]), c=step("c", verdicts=[warned, denied]))


@pytest.mark.parametrize("render", [text.render, markdown.render])
def test_the_most_dangerous_component_comes_first(dangerous, render):
    said = render(dangerous)
    assert said.index("aws_thing.c") < said.index("aws_thing.b") < said.index("aws_thing.a")
    assert "2 dangers" in said


@pytest.mark.parametrize("render", [text.render, markdown.render])
def test_a_verdict_names_resource_why_and_rule(dangerous, render):
    said = render(dangerous)
    assert "! aws_eip.b is a public address  (public-address)" in said
    assert "! aws_thing.c has no owner  (deny: tags.rego)" in said


def test_what_is_dangerous_is_open_in_markdown_and_the_rest_is_folded(dangerous):
    said = markdown.render(dangerous)
    assert said.count("<details open>") == 2
    assert said.count("<details>") == 1


def test_values_are_short_and_a_block_is_shown_without_what_it_leaves_empty():
    rule = {"from_port": 22, "description": "", "cidr_blocks": ["0.0.0.0/0"], "prefix_list_ids": []}
    found = [attribute("ingress", None, rule), attribute("long", "a", "b" * 1000)]
    said = text.render(plan(a=step("a", attributes=found)))
    assert 'ingress: nothing → {"from_port": 22, "cidr_blocks": ["0.0.0.0/0"]}' in said
    assert "b" * 101 not in said and "…" in said


def test_what_a_new_resource_will_get_is_one_line():
    found = [attribute("cidr", None, "10.0.0.0/8")]
    found += [attribute(f"x{number}", None, "(known after apply)", unknown=True) for number in range(9)]
    said = text.render(plan(a=step("a", "create", attributes=found)))
    assert 'cidr: "10.0.0.0/8"' in said and "→" not in said
    assert "known after apply: x0, x1, x2, x3, x4, x5 and 3 more" in said


@pytest.mark.parametrize("render", [text.render, markdown.render])
def test_a_value_cant_break_out_of_the_report(render):
    nasty = "\x1b[31m\n```\n# owned"
    said = render(plan(a=step("a", attributes=[attribute("a\x1b[2J", nasty, "x")])))
    assert "\x1b" not in said
    assert "\n# owned" not in said
