"""The locks of components across masters, on a real PostgreSQL."""

from __future__ import annotations

import pytest

from saltform.errors import LostLock
from tests.support.locks_contract import LONG, LocksContract, Master


@pytest.fixture
def where(address, tmp_path):
    return address, tmp_path / "holder"


@pytest.fixture
def master(address, tmp_path):
    opened = []

    def make(number):
        opened.append(Master(address, tmp_path / str(number)))
        return opened[-1]

    yield make
    for each in opened:
        each.log.close()


class TestPostgresql(LocksContract):
    """All of it."""


def test_a_holder_whose_connection_broke_has_lost_its_locks_and_its_run(master, server):
    one = master(1)
    with one.locks.hold_run("1") as check_run, one.hold("1") as held:
        server.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'saltform';")
        other = master(2)
        with other.hold("2", wait=LONG) as taken:
            assert "run 1" in taken.taken_over
        assert not other.locks.run_alive("1")
        for _ in range(2):  # first as a connection that breaks, then as another one
            with pytest.raises(LostLock):
                held.check()
        with pytest.raises(LostLock, match="starts nothing new"):
            check_run()
    with other.hold("3"):  # what was lost is not released a second time
        pass
