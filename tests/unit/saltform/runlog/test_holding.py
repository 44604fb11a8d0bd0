"""The locks of components with a run log in a file: many processes of one master."""

from __future__ import annotations

import pytest

from tests.support.locks_contract import LocksContract, Master


@pytest.fixture
def where(tmp_path):
    return tmp_path / "runs.sqlite", tmp_path


@pytest.fixture
def master(where):
    context = []

    def make(_number):
        context.append(Master(*where))
        return context[-1]

    yield make
    for each in context:
        each.log.close()


class TestSqlite(LocksContract):
    """All of it."""


def test_a_heartbeat_is_the_runs_own(master):
    one = master(1)
    with one.hold("1"):
        one.log._database.write("UPDATE locks SET heartbeat = 'long ago'")
        one.locks.beat("2")
        assert one.locks.holders("staging")["web"]["heartbeat"] == "long ago"
        one.locks.beat("1")
        assert one.locks.holders("staging")["web"]["heartbeat"] > "2026"
