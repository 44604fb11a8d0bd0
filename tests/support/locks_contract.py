"""What the locks of components must do, wherever the run log is kept.

A fixture `master` opens the run log and the locks as another process would: with PostgreSQL, as another master with
its own state folder. `where` is what such a process needs to be told: the run log and the folder.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from saltform.errors import Cancelled, Locked, LostLock
from saltform.layout import Layout
from saltform.runlog import RunLog
from saltform.runlog.locks import Patience
from tests.support.runlog_contract import component, run

ROOT = Path(__file__).parents[2]
LONG = 120.0
DEAD_AFTER = 8.0  # seconds: long enough for a machine that has much to do
# A master in a process of its own: it holds staging/web until it is killed; with CHILD, a process inherits the lock.
HOLDER = """
import subprocess, sys
from pathlib import Path
from saltform.layout import Layout
from saltform.runlog import RunLog
where, folder, child = sys.argv[1:]
log = RunLog(where if "://" in where else Path(where), DEAD_AFTER)
locks = log.locks(Layout(Path(folder)))
with locks.hold_run("dead"), locks.hold("staging", "web", "dead", "eve") as held:
    if child:
        with held.lease.inherited() as (_, sockets):
            heir = subprocess.Popen(
                ["sleep", "1000"], pass_fds=(*held.descriptors, *sockets), stdout=subprocess.DEVNULL
            )
        print(heir.pid, flush=True)
    print("held", flush=True)
    sys.stdin.read()
""".replace("DEAD_AFTER", str(DEAD_AFTER))


class Master:
    def __init__(self, where: Path | str, folder: Path) -> None:
        self.log = RunLog(where, DEAD_AFTER)
        self.locks = self.log.locks(Layout(folder))

    def hold(self, run="1", author="ada", wait=0.0, **patience):
        return self.locks.hold("staging", "web", run, author, Patience(wait, **patience))


def start_holder(where: Path | str, folder: Path, child: bool = False) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(where), str(folder), "child" if child else ""],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()
    process.stdin.close()
    process.stdout.close()


class LocksContract:
    """Each database's tests are this class plus what is its own."""

    def test_a_lock_names_its_holder_and_is_free_afterwards(self, master):
        one, other = master(1), master(2)
        with one.hold("7", "ada") as held:
            assert held.descriptors
            held.check()
            for asking in (one, other):
                holder = asking.locks.holders("staging")["web"]
                assert (holder["run"], holder["author"], holder["process"]) == ("7", "ada", os.getpid())
                assert holder["host"] and holder["since"] and holder["heartbeat"]
                assert asking.locks.holder("staging", "web")["run"] == "7"
            with pytest.raises(Locked, match="staging/web is locked") as caught, other.hold("8"):
                pass
            assert caught.value.exit_code == 75
            assert "run 7, author ada" in caught.value.detail
        assert other.locks.holders("staging") == {}
        assert other.locks.holder("staging", "web") is None
        with other.hold("8") as held:
            assert held.taken_over == ""

    def test_only_one_of_many_gets_the_lock_and_the_number_only_grows(self, master):
        masters = [master(number) for number in range(4)]
        numbers, barrier = [], threading.Barrier(4)

        def attempt(each):
            barrier.wait(LONG)
            try:
                with each.hold(str(id(each))) as held:
                    numbers.append(held.number)
                    barrier.wait(LONG)
            except Locked:
                barrier.wait(LONG)

        for round_ in range(1, 4):
            with ThreadPoolExecutor(4) as pool:
                list(pool.map(attempt, masters))
            assert numbers == list(range(1, round_ + 1))

    def test_a_dead_holders_lock_is_taken_over_and_a_living_ones_never(self, master, where):
        process = start_holder(*where)
        try:
            assert process.stdout.readline() == "held\n"
            one = master(2)
            assert one.locks.run_alive("dead")
            with pytest.raises(Locked, match="web"), one.hold("2"):
                pass
        finally:
            end(process)
        with one.hold("2", wait=LONG) as held:  # across masters, when its lease is over
            assert "run dead (eve" in held.taken_over
            assert "last heartbeat 20" in held.taken_over
            assert held.number == 2
        assert not one.locks.run_alive("dead")

    def test_nobody_takes_over_while_a_process_of_the_dead_holder_lives(self, master, where):
        process = start_holder(*where, child=True)
        heir = int(process.stdout.readline())
        try:
            assert process.stdout.readline() == "held\n"
            end(process)
            one = master(2)
            with pytest.raises(Locked, match="web"), one.hold("2", wait=DEAD_AFTER + 1):
                pass
            assert one.locks.holder("staging", "web")["run"] == "dead"
        finally:
            os.kill(heir, 9)
        with one.hold("2", wait=LONG) as held:
            assert "run dead" in held.taken_over

    def test_a_holder_that_lost_its_lock_finds_out_and_what_it_writes_is_refused(self, master):
        one, other = master(1), master(2)
        with one.hold("1") as held:
            one.log.keep_component(component(run="1"), held.number)
            other.log._database.write("UPDATE locks SET number = number + 1, run = '2', author = 'bob', expires = ''")
            with pytest.raises(LostLock, match="the lock of staging/web was lost") as caught:
                held.check()
            assert "run 2 (bob" in caught.value.detail
            assert "resume 1" in caught.value.fix
            with pytest.raises(LostLock, match="not recorded"):
                one.log.keep_component(component(run="1", serial=9), held.number)
            with pytest.raises(LostLock, match="not recorded"):
                one.log.forget_component("staging", "web", held.number)
            other.log.keep_component(component(run="2", serial=5), held.number + 1)
        assert other.log.component("staging", "web").serial == 5
        assert other.locks._row("staging", "web")["run"] == "2"  # it did not let go of what wasn't its own
        with other.hold("3") as held:
            other.log.forget_component("staging", "web", held.number)
            other.log.forget_component("staging", "web", held.number)  # nothing there is no loss
        assert other.log.component("staging", "web") is None

    def test_what_an_earlier_turn_of_a_run_still_wants_to_write_is_refused(self, master):
        one, other = master(1), master(2)
        record = run("1")
        one.log.begin(record)
        step = one.log.begin_step("1", "web")
        resumed = other.log.run("1")
        other.log.go_on(resumed)
        again = other.log.begin_step("1", "web")
        with pytest.raises(LostLock, match="run 1 goes on elsewhere"):
            one.log.end_step("1", step)
        with pytest.raises(LostLock, match="run 1 goes on elsewhere"):
            one.log.end(record)
        again.status = "applied"
        other.log.end_step("1", again)
        assert other.log.steps("1")[0].status == "applied"
        assert other.log.run("1").status == "running"

    def test_who_waits_is_served_in_the_order_of_asking_and_says_for_whom(self, master):
        one, got, told = master(1), [], []
        waiters = {name: master(number) for number, name in enumerate("bcd", start=2)}
        threads = []

        def wait(name):
            each = waiters[name]
            with each.locks.hold_run(name), each.hold(name, wait=LONG, tell=told.append) as held:
                assert held.waited
                got.append(name)

        with one.locks.hold_run("a"), one.hold("a"):
            for name in "bcd":
                threads.append(threading.Thread(target=wait, args=(name,)))
                threads[-1].start()
                self.until(lambda name=name: one.locks.waiting("staging").get("web", [])[-1:] == [name])
            assert one.locks.waiting("staging") == {"web": ["b", "c", "d"]}
        for thread in threads:
            thread.join(LONG)
        assert got == ["b", "c", "d"]
        assert any("run a" in text for text in told)
        assert any("before this one in line" in text for text in told)
        assert one.locks.waiting("staging") == {}

    def test_who_can_not_wait_does_not_push_in_and_the_tickets_of_the_dead_are_void(self, master):
        one, other = master(1), master(2)
        ticket = "INSERT INTO lock_queue VALUES ('staging', 'web', 1, 'b', 'bob', 'h', 's')"
        one.log._database.write(ticket)
        with one.locks.hold_run("b"):
            with pytest.raises(Locked, match="web") as caught, other.hold("c"):
                pass
            assert "run b is before this one in line" in caught.value.detail
        with other.hold("c") as held:  # b is dead now
            assert held.number == 1
        assert other.log._database.rows("SELECT * FROM lock_queue") == []

    def test_a_wait_ends_with_its_time_or_with_a_cancel(self, master):
        one, other = master(1), master(2)
        cancel = threading.Event()
        with one.locks.hold_run("a"), one.hold("a"):
            with pytest.raises(Locked, match="web") as caught, other.hold("b", wait=0.3):
                pass
            assert "waited for it for 0.3 s" in caught.value.detail
            with pytest.raises(Cancelled), other.hold("b", wait=LONG, tell=lambda _: cancel.set(), cancel=cancel):
                pass
            assert one.locks.waiting("staging") == {}

    def test_a_run_is_alive_for_all_as_long_as_it_is_held(self, master):
        one, other = master(1), master(2)
        assert not other.locks.run_alive("1")
        with one.locks.hold_run("1") as check:
            check()
            assert one.locks.is_here("1")
            assert other.locks.run_alive("1")
            with pytest.raises(Locked, match="run 1"), other.locks.hold_run("1"):
                pass
        assert not other.locks.run_alive("1")

    def test_a_cancel_can_be_asked_for_through_the_run_log(self, master):
        one, other = master(1), master(2)
        one.log.begin(run("1"))
        assert one.log.asked_to_cancel("1") == ""
        other.log.ask_to_cancel("1", "now\ncancelled by bob")
        assert one.log.asked_to_cancel("1") == "now\ncancelled by bob"
        one.log.go_on(one.log.run("1"))
        assert one.log.asked_to_cancel("1") == ""

    @staticmethod
    def until(condition):
        done = threading.Event()
        for _ in range(int(LONG / 0.02)):
            if condition():
                return
            done.wait(0.02)
        raise AssertionError("it did not happen")
