from __future__ import annotations

import pytest

from saltform.report.activity import Doing


def event(kind, address="aws_instance.a", action="create", seconds=None):
    hook = {"resource": {"addr": address}, "action": action}
    return {"type": kind, "hook": hook | ({"elapsed_seconds": seconds} if seconds else {})}


@pytest.fixture
def told():
    return []


@pytest.fixture
def doing(told):
    return Doing(told.append, lambda address: address.removeprefix("module.main."))


def test_it_names_what_has_taken_longest_and_counts_the_rest(doing, told):
    doing(event("apply_start", "module.main.aws_instance.a"))
    doing(event("apply_start", "module.main.aws_vpc.b", "delete"))
    doing(event("apply_progress", "module.main.aws_vpc.b", "delete", 20))
    doing(event("apply_complete", "module.main.aws_vpc.b", "delete"))
    doing(event("apply_complete", "module.main.aws_instance.a"))
    assert told == [
        "creating aws_instance.a",
        "creating aws_instance.a and 1 more",
        "deleting aws_vpc.b (20 s) and 1 more",
        "creating aws_instance.a, 1 done",
        "2 done",
    ]


def test_the_same_note_is_told_once(doing, told):
    doing(event("apply_start"))
    doing(event("apply_start"))
    assert told == ["creating aws_instance.a"]


def test_a_resource_that_failed_is_not_done(doing, told):
    doing(event("apply_start"))
    doing(event("apply_errored"))
    assert told == ["creating aws_instance.a", ""]


OTHERS = [
    {},
    {"type": "version"},
    {"type": "planned_change"},
    {"type": "apply_start", "hook": None},
    event("refresh_start"),
]


@pytest.mark.parametrize("other", OTHERS)
def test_other_events_say_nothing(doing, told, other):
    doing(other)
    assert told == []
