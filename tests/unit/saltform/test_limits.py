"""All runs of a master share what they may ask of a provider, and ask less when it says so."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import pytest

from saltform.config.types import Limits
from saltform.errors import Cancelled
from saltform.limits import RECOVERY, TOGETHER, Gate


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock():
    return Clock()


def gate(tmp_path, clock, **limits) -> Gate:
    """A new object each time, as another process has one."""
    return Gate(tmp_path / "hive", "hive", Limits(**limits), clock)


def refused(a_gate) -> str:
    """What is said to someone who has to wait; the wait itself is cancelled."""
    cancel, said = threading.Event(), []

    def tell(text):
        said.append(text)
        cancel.set()

    with pytest.raises(Cancelled), a_gate.place(cancel, tell):
        pass
    return said[0]


def free(a_gate) -> bool:
    with a_gate.place(threading.Event(), lambda text: pytest.fail(text)):
        return True


def test_no_more_places_than_pillar_says(tmp_path, clock):
    never = threading.Event()
    with (
        gate(tmp_path, clock, processes=2).place(never, print),
        gate(tmp_path, clock, processes=2).place(never, print),
    ):
        said = refused(gate(tmp_path, clock, processes=2))
        assert said.startswith("waiting for hive: 2 processes at once")
        assert free(gate(tmp_path, clock, processes=3))
        assert refused(gate(tmp_path, clock, processes=1))  # pillar has fewer by now: those two still count
    assert free(gate(tmp_path, clock, processes=1))


def test_without_limits_nobody_waits_and_nothing_is_written(tmp_path, clock):
    assert free(gate(tmp_path, clock))
    assert not (tmp_path / "hive").exists()


def test_the_place_of_a_killed_process_is_free(tmp_path, clock):
    program = (
        "import sys, threading; from pathlib import Path; from saltform.limits import Gate, Limits\n"
        "with Gate(Path(sys.argv[1]), 'hive', Limits(processes=1)).place(threading.Event(), print):\n"
        "    print('held', flush=True); sys.stdin.read()\n"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path / "hive")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with holder:
        assert holder.stdout.readline() == "held\n"
        assert refused(gate(tmp_path, clock, processes=1))
        os.kill(holder.pid, signal.SIGKILL)
        holder.wait()
    assert free(gate(tmp_path, clock, processes=1))


def test_starts_are_apart(tmp_path, clock):
    assert free(gate(tmp_path, clock, starts_per_minute=60))
    clock.now += 0.5
    assert "60 starts a minute" in refused(gate(tmp_path, clock, starts_per_minute=60))
    clock.now += 0.6
    assert free(gate(tmp_path, clock, starts_per_minute=60))
    clock.now -= 3600  # a clock that was set back
    assert free(gate(tmp_path, clock, starts_per_minute=60))


def test_throttling_halves_once_for_all_and_grows_back(tmp_path, clock):
    limits = {"processes": 8, "starts_per_minute": 60, "parallelism": 20}
    first = gate(tmp_path, clock, **limits).slow_down()
    assert (first.processes, first.starts_per_minute, first.parallelism) == (4, 30, 10)
    assert gate(tmp_path, clock, **limits).slow_down() is None  # the others of the same moment
    clock.now += TOGETHER
    second = gate(tmp_path, clock, **limits).slow_down()
    assert second.processes == 2
    assert str(second).startswith("2 processes at once, 5 requests at once for each process, 1")
    clock.now += RECOVERY / 2
    assert 2 < gate(tmp_path, clock, **limits).pace().processes < 8
    clock.now += RECOVERY / 2
    assert gate(tmp_path, clock, **limits).pace().share == 1.0


def test_it_never_comes_to_a_standstill(tmp_path, clock):
    for _ in range(20):
        clock.now += TOGETHER
        gate(tmp_path, clock, processes=2, starts_per_minute=2).slow_down()
    pace = gate(tmp_path, clock, processes=2, starts_per_minute=2).pace()
    assert (pace.processes, pace.starts_per_minute, pace.parallelism) == (1, 1, 1)


def test_without_limits_terraforms_own_parallelism_is_halved(tmp_path, clock):
    assert gate(tmp_path, clock).pace().parallelism == 10
    assert str(gate(tmp_path, clock).slow_down()) == "5 requests at once for each process"


def test_retries_are_a_budget_for_all(tmp_path, clock):
    taken = [gate(tmp_path, clock, retries_per_minute=3).may_retry() for _ in range(5)]
    assert taken == [True, True, True, False, False]
    clock.now += 61
    assert gate(tmp_path, clock, retries_per_minute=3).may_retry()
    assert not gate(tmp_path, clock, retries_per_minute=0).may_retry()


@pytest.mark.parametrize("content", [b"", b"{", b"[]"])
def test_what_a_killed_writer_left_is_nothing(tmp_path, clock, content):
    (tmp_path / "hive").mkdir()
    for name in ("throttled", "started", "retries"):
        (tmp_path / "hive" / name).write_bytes(content)
    assert gate(tmp_path, clock, processes=2).pace().share == 1.0
    assert free(gate(tmp_path, clock, starts_per_minute=1))
    assert gate(tmp_path, clock).may_retry()
