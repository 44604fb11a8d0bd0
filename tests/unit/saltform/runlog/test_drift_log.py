"""Findings and checks on record."""

from __future__ import annotations

import dataclasses

import pytest

from saltform.runlog import RunLog
from saltform.runlog.drift import Check, Finding

FINDING = Finding("staging", "net", "aws_vpc.a", "tags.Name", "a", ["b", {"c": None}], "t0", "t1", "run-1")


@pytest.fixture
def log(tmp_path):
    runlog = RunLog(tmp_path / "runs.sqlite")
    yield runlog.drift
    runlog.close()


def test_a_finding_comes_back_as_it_was_kept(log):
    log.keep([FINDING])
    assert log.findings("staging") == log.findings("staging", "net") == [FINDING]
    assert log.findings("staging", "other") == log.findings("production") == []


def test_a_resolved_finding_is_gone_until_it_is_seen_again(log):
    log.keep([FINDING])
    log.keep([dataclasses.replace(FINDING, resolved="t2", known_until="t9")])
    assert log.findings("staging") == []
    again = dataclasses.replace(FINDING, first_seen="t3")
    log.keep([again])
    assert log.findings("staging") == [again]


def test_all_findings_of_a_check_are_kept_or_none(log):
    broken = dataclasses.replace(FINDING, address="aws_vpc.b", before_value=object())
    with pytest.raises(TypeError):
        log.keep([FINDING, broken])
    assert log.findings("staging") == []


def test_the_last_check_of_each_component_is_kept(log):
    first = Check("staging", "net", "clean", "t0", "t0", "run-1")
    log.keep_check(first)
    log.keep_check(dataclasses.replace(first, status="drifted", since="t1", checked="t1"))
    assert {name: check.status for name, check in log.checks("staging").items()} == {"net": "drifted"}


def test_of_several_masters_one_gets_the_check_until_it_is_due_again(tmp_path):
    one, other = RunLog(tmp_path / "runs.sqlite"), RunLog(tmp_path / "runs.sqlite")
    try:
        assert one.drift.claim("staging", "net", "t0", "t5", "run-1")
        assert not other.drift.claim("staging", "net", "t5", "t5", "run-2")
        one.drift.keep_check(Check("staging", "net", "drifted", "t5", "t5", "run-1"))
        assert other.drift.claim("staging", "net", "t6", "t9", "run-3")
        check = one.drift.checks("staging")["net"]
        assert (check.status, check.since, check.checked, check.run) == ("drifted", "t5", "t9", "run-3")
    finally:
        one.close()
        other.close()
