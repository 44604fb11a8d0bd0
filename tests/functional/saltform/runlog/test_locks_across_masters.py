"""The locks of components across masters, on a real PostgreSQL whose connections break."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time

import pytest

from saltform.errors import Locked, LostLock
from saltform.runlog.locks import _key
from tests.support.between import between
from tests.support.locks_contract import DEAD_AFTER, LONG, LocksContract, Master, end, start_holder
from tests.support.runlog_contract import component, run

CUT = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'saltform';"


@pytest.fixture
def where(address, tmp_path):
    return address, tmp_path / "holder"


@pytest.fixture
def master(address, tmp_path):
    context = []

    def make(number):
        context.append(Master(address, tmp_path / str(number)))
        return context[-1]

    yield make
    for each in context:
        each.log.close()


class TestPostgresql(LocksContract):
    """All of it."""


def row(master):
    return master.locks._row("staging", "web")


def advisory(master):
    return set(master.log._database.locked([_key("staging", "web"), _key("run", "1")]))


def test_a_cut_connection_costs_a_living_holder_nothing(master, server):
    one, other = master(1), master(2)
    one.log.begin(run("1"))
    with one.locks.hold_run("1") as check_run, one.hold("1") as held:
        for _ in range(3):
            server.sql(CUT)
            assert other.locks.run_alive("1")
            assert other.locks.holder("staging", "web")["run"] == "1"
            with pytest.raises(Locked, match="run 1"), other.hold("2"):
                pass
            held.check()
            check_run()
        LocksContract.until(lambda: len(advisory(other)) == 2)
        one.log.keep_component(component(run="1"), held.number)
        assert held.number == 1
    assert other.locks.holders("staging") == {}
    with other.hold("2") as held:
        assert (held.taken_over, held.number) == ("", 2)


def test_a_holder_that_asks_nothing_takes_its_locks_again_by_itself(master, server):
    one, other = master(1), master(2)
    with one.hold("1") as held:
        server.sql(CUT)
        assert advisory(other) == set()
        LocksContract.until(lambda: advisory(other) == {_key("staging", "web")})
        time.sleep(DEAD_AFTER)
        with pytest.raises(Locked), other.hold("2"):
            pass
        assert not held.lease.expired


def test_a_lock_that_our_former_connection_still_has_is_taken_from_it(master, server):
    """The network was cut and the server hasn't noticed; and terraform has inherited that connection's socket."""
    one, other = master(1), master(2)
    with one.hold("1") as held, held.lease.inherited() as (session, sockets):
        heir = subprocess.Popen(["sleep", "1000"], pass_fds=sockets)
        try:
            one.log._database._hang_up()
            held.check()
            assert one.log._database.session == session + 1
            with pytest.raises(Locked), other.hold("2", wait=DEAD_AFTER + 1):
                pass
            held.check()
        finally:
            heir.kill()
            heir.wait()


def test_free_advisory_lock_and_old_lease_together_mean_dead_one_alone_does_not(master, server):
    one, other = master(1), master(2)
    with one.hold("1"):
        one.log._keeper._end()  # no beat any more
        one.log._database.write("UPDATE locks SET expires = ''")
        with pytest.raises(Locked), other.hold("2"):  # old, but the advisory lock is there
            pass
        one.log._database.write(f"UPDATE locks SET expires = {one.log._database.after}", (60.0,))
        one.log._database.close()
        LocksContract.until(lambda: advisory(other) == set())
        with pytest.raises(Locked), other.hold("2"):  # free, but not old
            pass
        other.log._database.write("UPDATE locks SET expires = ''")
        with other.hold("2") as held:
            assert "run 1" in held.taken_over


def test_the_age_of_a_heartbeat_is_by_the_databases_clock(master, monkeypatch):
    """A master whose own clock is an hour off neither dies early nor lives for ever."""
    one, other = master(1), master(2)
    monkeypatch.setattr("saltform.runlog.keeper.now", lambda: "2001-01-01T00:00:00.000Z")
    monkeypatch.setattr("saltform.runlog.locks.now", lambda: "2001-01-01T00:00:00.000Z")
    with one.hold("1"):
        one.log._database.close()
        assert row(other)["heartbeat"].startswith("2001")
        with pytest.raises(Locked), other.hold("2"):
            pass


def test_on_one_host_the_flock_decides_alone(master, where):
    """A holder that was killed here is dead at once, however young its heartbeat is."""
    process = start_holder(*where)
    assert process.stdout.readline() == "held\n"
    end(process)
    same = Master(*where)
    began = time.monotonic()
    with same.hold("2", wait=LONG) as held:
        assert "run dead" in held.taken_over
        assert time.monotonic() - began < DEAD_AFTER / 2
    assert not same.locks.run_alive("dead")
    same.log.close()


def test_a_holder_frozen_with_its_connection_cut_is_dead_when_its_lease_is_over_and_then_writes_nothing(
    master, server, where
):
    process = start_holder(*where)
    assert process.stdout.readline() == "held\n"
    other = master(2)
    process.send_signal(signal.SIGSTOP)
    try:
        server.sql(CUT)
        with pytest.raises(Locked), other.hold("2"):
            pass
        began = time.monotonic()
        with other.hold("2", wait=LONG) as held:
            assert "run dead" in held.taken_over
            assert time.monotonic() - began < 2 * DEAD_AFTER
            before = row(other)
            process.send_signal(signal.SIGCONT)
            process.stdin.write("x")
            process.stdin.close()  # it lets go of what it has
            process.wait(LONG)
            after = row(other)
            assert {name: before[name] for name in ("run", "number")} == {
                name: after[name] for name in ("run", "number")
            }
            held.check()
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGCONT)
        process.kill()
        process.wait()
        process.stdout.close()


def test_who_lost_a_lock_to_another_writes_nothing_any_more(master, server):
    one, other = master(1), master(2)
    one.log.begin(run("1"))
    step = one.log.begin_step("1", "web")
    with one.locks.hold_run("1") as check_run, one.hold("1") as held:
        one.log._keeper._ended.set()  # as if it were stopped
        one.log._keeper._thread.join()
        server.sql(CUT)
        with other.hold("2", wait=LONG):
            for write in (
                lambda: one.log.end_step("1", step),
                lambda: one.log.begin_step("1", "other"),
                lambda: one.log.keep_component(component(run="1"), held.number),
                lambda: one.log.end(run("1")),
                lambda: one.log.audit.append("staging", "now", {}, {}),
            ):
                with pytest.raises(LostLock):
                    write()
            with pytest.raises(LostLock, match="the lock of staging/web was lost"):
                held.check()
            with pytest.raises(LostLock, match="starts nothing new"):
                check_run()
            assert held.lease.expired
            assert one.log.component("staging", "web") is None  # reading is no harm
            assert [item.status for item in other.log.steps("1")] == ["running"]
    assert row(other)["number"] == 2


def test_a_holder_that_is_back_after_half_the_time_is_stopping_and_alive_until_it_lets_go(
    server, address, tmp_path, master
):
    there = str(server.folder / ".s.PGSQL.5432")
    here = tmp_path / "s"
    here.mkdir()
    with between(str(here / ".s.PGSQL.5432"), there) as wire:
        one = Master(address.replace(str(server.folder), str(here)), tmp_path / "1")
        other = master(2)
        with one.hold("1") as held:
            held.check()
            wire.mode = "gone"
            wire.drop()
            began = time.monotonic()
            with pytest.raises(LostLock, match="was lost"):
                held.check()
            assert DEAD_AFTER / 4 < time.monotonic() - began < DEAD_AFTER
            assert held.lease.expired
            wire.mode = "open"
            LocksContract.until(lambda: row(other)["state"] == "stopping")
            time.sleep(DEAD_AFTER)
            with pytest.raises(Locked, match="web") as caught, other.hold("2"):
                pass
            assert "state stopping" in caught.value.detail
            assert other.locks.holders("staging")["web"]["state"] == "stopping"
            with pytest.raises(LostLock, match="could not be reached for"):
                held.check()
            one.log.keep_component(component(run="1"), held.number)  # what its terraform did is its own to tell
        assert other.locks.holders("staging") == {}
        with other.hold("2") as held:
            assert held.taken_over == ""
        one.log.close()


def test_what_a_process_inherits_is_the_connection_of_this_moment(master, server):
    one = master(1)
    with one.hold("1") as held:
        with held.lease.inherited() as (before, (first,)):
            server.sql(CUT)
            held.check()
            with held.lease.inherited() as (_, (second,)):
                assert os.fstat(first).st_ino != os.fstat(second).st_ino
        assert held.lease.terms(before, 3600.0)[0] == DEAD_AFTER / 2  # an orphan from before has little time
        assert held.lease.terms(held.lease.session, 3600.0)[0] == 3600.0


def test_many_threads_share_a_connection_that_breaks(master, server):
    one = master(1)
    ended = threading.Event()
    errors = []

    def work(name):
        with one.locks.hold("staging", name, "1", "ada") as held:
            while not ended.wait(0.01):
                try:
                    held.check()
                except Exception as error:
                    errors.append(error)
                    return

    threads = [threading.Thread(target=work, args=(f"c{number}",)) for number in range(6)]
    with one.locks.hold_run("1"):
        for thread in threads:
            thread.start()
        for _ in range(5):
            time.sleep(0.3)
            server.sql(CUT)
        time.sleep(0.5)
        ended.set()
        for thread in threads:
            thread.join()
    assert errors == []
