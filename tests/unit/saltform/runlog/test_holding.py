"""The locks of components with a run log in a file: many processes of one master."""

from __future__ import annotations

import pytest

from tests.support.locks_contract import LocksContract, Master


@pytest.fixture
def where(tmp_path):
    return tmp_path / "runs.sqlite", tmp_path


@pytest.fixture
def master(where):
    opened = []

    def make(_number):
        opened.append(Master(*where))
        return opened[-1]

    yield make
    for each in opened:
        each.log.close()


class TestSqlite(LocksContract):
    """All of it."""
