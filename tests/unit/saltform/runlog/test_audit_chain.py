"""The audit chain: what was written is proven, and whatever is changed, taken out or cut off is found."""

from __future__ import annotations

import dataclasses
import sqlite3

import pytest

from saltform.runlog import RunLog
from saltform.runlog.audit import broken

HOST = "master1"


def about(action="deploy"):
    return {"action": action, "author": "ada", "origin": "shell", "host": HOST, "run": "1"}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "state" / "runs.sqlite"


@pytest.fixture
def log(path):
    context = RunLog(path)
    yield context.audit
    context.close()


@pytest.fixture
def anchor(log):
    """Four entries of staging, and how far its chain goes."""
    for number in range(4):
        found = log.append("staging", f"2026-11-16T0{number}:00:00.000Z", about(), {"number": number, "ö": None})
    return found


def problems(log, anchor, host=HOST):
    return list(broken(log.entries("staging"), log.head("staging"), anchor, host))


def meddle(path, sql):
    with sqlite3.connect(path) as connection:
        connection.execute(sql)
    connection.close()


def test_a_chain_is_as_it_was_written(log, anchor):
    assert problems(log, anchor) == []
    assert [entry.number for entry in log.entries("staging")] == [1, 2, 3, 4]
    assert [entry.number for entry in log.entries("staging", "2026-11-16T02")] == [3, 4]


def test_each_environment_has_a_chain_of_its_own(log, anchor):
    assert log.append("production", "2026-11-16T00:00:00.000Z", about(), {}).number == 1
    assert log.environments() == ["production", "staging"]


@pytest.mark.parametrize("column", ["moment", "action", "author", "origin", "host", "run"])
def test_a_changed_entry_is_found(log, anchor, path, column):
    meddle(path, f"UPDATE audit SET {column} = 'forged' WHERE number = 2")
    assert problems(log, anchor)[0].startswith("entry 2 was changed")


def test_changed_content_is_found(log, anchor, path):
    meddle(path, """UPDATE audit SET content = '{"number": 7}' WHERE number = 2""")
    assert problems(log, anchor)[0].startswith("entry 2 was changed")


def test_an_entry_that_was_changed_with_its_hash_is_found_by_the_next_one(log, anchor, path):
    entry = dataclasses.replace(log.entries("staging")[1], author="forged")
    meddle(path, f"UPDATE audit SET author = 'forged', hash = '{entry.computed()}' WHERE number = 2")
    assert problems(log, anchor) == ["entry 3 doesn't follow the one before it"]


def test_a_missing_entry_is_found(log, anchor, path):
    meddle(path, "DELETE FROM audit WHERE number = 2")
    assert problems(log, anchor) == ["missing: entry 2"]


def test_a_missing_beginning_is_found(log, anchor, path):
    meddle(path, "DELETE FROM audit WHERE number < 3")
    assert problems(log, anchor) == ["missing: entries 1 to 2"]


def test_a_cut_tail_is_found_by_the_head(log, anchor, path):
    meddle(path, "DELETE FROM audit WHERE number > 2")
    assert problems(log, None, "another") == ["missing at the end: entries 3 to 4 (the head says 4)"]


def test_a_cut_tail_with_the_head_cut_to_match_is_found_by_the_anchor(log, anchor, path):
    kept = log.entries("staging")[1]
    meddle(path, "DELETE FROM audit WHERE number > 2")
    meddle(path, f"UPDATE audit_heads SET number = 2, hash = '{kept.hash}'")
    assert problems(log, anchor) == ["missing at the end: entries 3 to 4 (this host's anchor says 4)"]


def test_a_chain_that_is_gone_as_a_whole_is_found(log, anchor, path):
    meddle(path, "DELETE FROM audit")
    meddle(path, "DELETE FROM audit_heads")
    assert problems(log, anchor) == ["missing at the end: entries 1 to 4 (this host's anchor says 4)"]


def test_a_tail_that_was_written_anew_is_found_by_the_anchor(log, anchor, path):
    kept = log.entries("staging")[2]
    meddle(path, "DELETE FROM audit WHERE number > 3")
    meddle(path, f"UPDATE audit_heads SET number = 3, hash = '{kept.hash}'")
    log.append("staging", "2026-11-16T09:00:00.000Z", about("forged"), {})
    assert problems(log, anchor) == ["entry 4 is not the one that this host's anchor names"]


def test_an_anchor_that_is_gone_is_found_where_this_host_wrote(log, anchor):
    assert problems(log, None) == ["this host's anchor is gone, and with it the proof that nothing was cut off"]
    assert problems(log, None, "a second master that never wrote") == []


def test_others_may_have_written_after_the_anchor(log, anchor):
    log.append("staging", "2026-11-16T09:00:00.000Z", {**about(), "host": "another"}, {})
    assert problems(log, anchor) == []


def test_an_entry_beyond_the_head_is_found(log, anchor, path):
    meddle(path, "UPDATE audit_heads SET number = 3")
    assert "the head says 3, but there are entries up to 4" in problems(log, anchor)
