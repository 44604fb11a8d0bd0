"""Every filter that AWS documents for a Describe call is there: botocore's own documentation is the list."""

from __future__ import annotations

import re

import botocore.session
import pytest

from hive_emulator.action import registry
from hive_emulator.ec2 import filters
from hive_emulator.emulator import load_actions

load_actions()
MODEL = botocore.session.get_session().get_service_model("ec2")
EVERYWHERE = {"tag", "tag-key", "tag-value"}  # filters.apply knows these for every record


def documented(action: str) -> set[str]:
    shape = MODEL.operation_model(action).input_shape
    members = [shape.members[name] for name in ("Filters", "Filter") if shape and name in shape.members]
    text = "".join(member.documentation for member in members)
    return _outer_items(text) - EVERYWHERE


def _outer_items(text: str) -> set[str]:
    """The first code word of each item of a list; lists inside an item hold the values of one filter."""
    found, depth = set(), 0
    for mark in re.finditer(r"<ul>|</ul>|<li>\s*<p>\s*<code>([a-zA-Z0-9.-]+)(?::[^<]*)?</code>", text):
        depth += {"<ul>": 1, "</ul>": -1}.get(mark[0], 0)
        if mark[1] and depth == 1:
            found.add(mark[1])
    return found


FILTERED = sorted(
    action
    for service, action in registry()
    if service == "ec2" and documented(action) and action != "DescribeVpcClassicLink"  # never gets to its filters
)


@pytest.mark.parametrize("action", FILTERED)
def test_every_documented_filter_is_known(action):
    missing = documented(action) - set(filters.TABLES.get(action, ()))
    assert not missing, f"{action} lacks {', '.join(sorted(missing))}"


# Kept with an instance to be found by, and shown with its interfaces. What begins with _ is shown nowhere.
NOT_SHOWN = "network-interface."


@pytest.mark.parametrize("action", sorted(filters.TABLES))
def test_every_filter_reads_a_member_that_the_answer_has(action):
    shape = MODEL.operation_model(action).output_shape
    lists = [member.member for member in shape.members.values() if member.type_name == "list"]
    lists += [each.members["Instances"].member for each in lists if each.name == "Reservation"]
    wrong = [
        f"{name}: {'.'.join(getter.steps)}"
        for name, getter in filters.TABLES[action].items()
        if isinstance(getter, filters.Path)
        and not any(_has(each, getter.steps) for each in lists)
        and not any(step.startswith("_") for step in getter.steps)
        and not (action == "DescribeInstances" and name.startswith(NOT_SHOWN))
    ]
    assert not wrong, f"{action}: {wrong}"


def _has(shape, steps) -> bool:
    for step in steps:
        while shape.type_name == "list":
            shape = shape.member
        if shape.type_name != "structure" or step not in shape.members:
            return False
        shape = shape.members[step]
    return True
