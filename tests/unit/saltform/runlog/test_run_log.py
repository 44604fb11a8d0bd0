"""The run log in a SQLite file: what was written is there, for this process and the next."""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from importlib import resources

import pytest

from saltform.errors import Locked, RunLogError
from saltform.runlog import RunLog, flock, new_run_id
from saltform.runlog.dump import tables
from tests.support.runlog_contract import RunLogContract


class TestSqlite(RunLogContract):
    @pytest.fixture
    def open_log(self, tmp_path):
        context = []

        def make():
            context.append(RunLog(tmp_path / "state" / "runs.sqlite"))
            return context[-1]

        yield make
        for log in context:
            log.close()


def test_the_file_is_private(tmp_path):
    RunLog(tmp_path / "state" / "runs.sqlite").close()
    assert stat.S_IMODE((tmp_path / "state" / "runs.sqlite").stat().st_mode) == 0o600


def test_a_damaged_file_is_one_clear_error(tmp_path):
    path = tmp_path / "runs.sqlite"
    path.write_bytes(b"this is no database" * 100)
    with pytest.raises(RunLogError, match="can't be used"):
        RunLog(path)


def test_run_ids_sort_by_time():
    ids = [new_run_id() for _ in range(3)]
    assert ids == sorted(ids)
    assert all(len(item) == 20 for item in ids)


def test_a_lock_names_its_holder_and_is_free_afterwards(tmp_path):
    path = tmp_path / "locks" / "web.lock"
    with flock.hold(path, {"run": "7", "author": "ada"}, "staging/web"):
        holder = flock.holder_of(path)
        assert (holder["run"], holder["author"], holder["process"]) == ("7", "ada", os.getpid())
        with pytest.raises(Locked, match="staging/web is locked") as caught, flock.hold(path, {}, "staging/web"):
            pass
        assert caught.value.exit_code == 75
        assert "run 7" in caught.value.detail
    assert flock.holder_of(path) is None
    with flock.hold(path, {"run": "8"}, "staging/web"):
        assert flock.holder_of(path)["run"] == "8"


def test_only_one_of_many_gets_the_lock(tmp_path):
    path, got, barrier = tmp_path / "x.lock", [], threading.Barrier(8)

    def attempt(number):
        barrier.wait()
        try:
            with flock.hold(path, {"run": str(number)}, "x"):
                got.append(number)
                barrier.wait()
        except Locked:
            barrier.wait()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(attempt, range(8)))
    assert len(got) == 1


def test_two_first_runs_that_begin_at_once_both_get_a_run_log(tmp_path):
    """SQLite itself doesn't wait for another process when a new file is turned into WAL."""
    path = tmp_path / "runs.sqlite"
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    ending = threading.Timer(0.1, lambda: other.execute("ROLLBACK"))
    ending.start()
    context = RunLog(path)
    assert context.runs() == []
    context.close()
    ending.join()
    other.close()


def test_the_files_of_the_schema_are_numbered_without_a_gap():
    names = sorted(path.name for path in (resources.files("saltform.runlog") / "schema").iterdir())
    assert [name[:3] for name in names] == [f"{number:03}" for number in range(1, len(names) + 1)]


def test_every_table_is_in_a_backup(tmp_path):
    """Whatever later versions add."""
    log = RunLog(tmp_path / "runs.sqlite")
    there = {row["name"] for row in log._database.rows("SELECT name FROM sqlite_master WHERE type = 'table'")}
    log.close()
    assert set(tables()) == {name for name in there if not name.startswith("sqlite_")}
