"""The run log: what was written is there, for this process and the next."""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from saltform.errors import Locked, RunLogError, UnknownName
from saltform.runlog import ComponentRecord, RunLog, RunRecord, StepRecord, locks, new_run_id


@pytest.fixture
def log(tmp_path):
    opened = RunLog(tmp_path / "state" / "runs.sqlite")
    yield opened
    opened.close()


def run(id_="1", environment="staging"):
    return RunRecord(id_, environment, "deploy", "ada", {"only": True}, graph={"a": []})


def component(name="web", **members):
    base = {"environment": "staging", "component": name, "release": "r", "fingerprint": "f", "lineage": "l"}
    base |= {"serial": 3, "run": "1", "born": "1", "applied": "now", "binary_path": "embedded"}
    return ComponentRecord(**(base | members))


def test_a_run_and_its_steps_are_read_back_as_written(log):
    record = run()
    log.begin(record)
    step = log.begin_step("1", "web")
    assert log.steps("1")[0].status == "running"
    step.status, step.details, step.serial = "applied", {"counts": {"add": 2}}, 7
    log.end_step("1", step)
    log.add_steps("1", [StepRecord("db", "skipped", "needs web")])
    record.status, record.exit_code, record.notes = "done", 0, ["said"]
    log.end(record)
    read = log.run("1")
    assert (read.author, read.options, read.exit_code, read.notes, read.graph) == (
        "ada",
        {"only": True},
        0,
        ["said"],
        {"a": []},
    )
    assert [(item.component, item.status, item.serial) for item in log.steps("1")] == [
        ("web", "applied", 7),
        ("db", "skipped", None),
    ]
    assert log.steps("1")[0].details == {"counts": {"add": 2}}


def test_the_newest_run_is_first_and_last_names_it(log):
    for number, environment in enumerate(["staging", "production", "staging"]):
        log.begin(run(str(number), environment))
    assert [item.id for item in log.runs()] == ["2", "1", "0"]
    assert [item.id for item in log.runs("staging", limit=1)] == ["2"]
    assert log.run("last").id == "2"


def test_an_unknown_run_is_named_with_the_known_ones(log):
    log.begin(run("20260101"))
    with pytest.raises(UnknownName, match="'20260102'") as caught:
        log.run("20260102")
    assert "20260101" in caught.value.detail


def test_components_are_kept_renamed_and_forgotten(log):
    log.keep_component(component())
    log.keep_component(component(serial=4))
    assert log.components("staging")["web"].serial == 4
    log.rename_component("staging", "web", "shop")
    assert list(log.components("staging")) == ["shop"]
    log.forget_component("staging", "shop")
    assert log.components("staging") == {}


def test_a_release_is_kept_once_and_found_by_its_digest(log):
    log.keep_release("d", {"module": 1}, "1")
    log.keep_release("d", {"module": 1}, "2")
    assert log.release("d") == {"module": 1}
    with pytest.raises(UnknownName):
        log.release("e")


def test_leases_are_on_record_until_removed(log):
    log.add_lease("database/creds/x/1", "1", "web")
    assert [row["id"] for row in log.leases()] == ["database/creds/x/1"]
    log.remove_lease("database/creds/x/1")
    assert log.leases() == []


def test_many_threads_and_a_second_process_share_one_file(log, tmp_path):
    other = RunLog(tmp_path / "state" / "runs.sqlite")
    for number in range(2):
        (log, other)[number].begin(run(str(number)))

    def work(number):
        owner = (log, other)[number % 2]
        step = owner.begin_step(str(number % 2), f"c{number}")
        step.status = "applied"
        owner.end_step(str(number % 2), step)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(40)))
    assert len(log.steps("0")) == len(other.steps("1")) == 20
    assert {step.status for step in other.steps("0")} == {"applied"}
    other.close()


def test_the_file_is_private(log, tmp_path):
    assert stat.S_IMODE((tmp_path / "state" / "runs.sqlite").stat().st_mode) == 0o600


def test_a_damaged_file_is_one_clear_error(tmp_path):
    path = tmp_path / "runs.sqlite"
    path.write_bytes(b"this is no database" * 100)
    with pytest.raises(RunLogError, match="can't be used"):
        RunLog(path)


def test_a_file_of_a_newer_version_is_refused(tmp_path):
    path = tmp_path / "runs.sqlite"
    log = RunLog(path)
    log._database.write("PRAGMA user_version = 999")
    log.close()
    with pytest.raises(RunLogError, match="newer version"):
        RunLog(path)


def test_run_ids_sort_by_time():
    ids = [new_run_id() for _ in range(3)]
    assert ids == sorted(ids)
    assert all(len(item) == 20 for item in ids)


def test_a_lock_names_its_holder_and_is_free_afterwards(tmp_path):
    path = tmp_path / "locks" / "web.lock"
    with locks.hold(path, {"run": "7", "author": "ada"}, "staging/web"):
        holder = locks.holder_of(path)
        assert (holder["run"], holder["author"], holder["process"]) == ("7", "ada", os.getpid())
        with pytest.raises(Locked, match="staging/web is locked") as caught, locks.hold(path, {}, "staging/web"):
            pass
        assert caught.value.exit_code == 75
        assert "run 7" in caught.value.detail
    assert locks.holder_of(path) is None
    with locks.hold(path, {"run": "8"}, "staging/web"):
        assert locks.holder_of(path)["run"] == "8"


def test_only_one_of_many_gets_the_lock(tmp_path):
    path, got, barrier = tmp_path / "x.lock", [], threading.Barrier(8)

    def attempt(number):
        barrier.wait()
        try:
            with locks.hold(path, {"run": str(number)}, "x"):
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
    opened = RunLog(path)
    assert opened.runs() == []
    opened.close()
    ending.join()
    other.close()
