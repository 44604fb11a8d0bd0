"""Two masters whose connections to the run log break: never two applies of one component at one time.

Each apply writes its master's name into a ledger for as long as it runs. The states are on a server without a lock of
its own (`http`) and on one with (`pg`): what is between the masters is our lock alone, or comes first.
"""

from __future__ import annotations

import itertools
import json
import signal
import time

import pytest

from saltform.runlog import RunLog
from tests.support import masters
from tests.support.postgres import postgres
from tests.support.runner_process import ended, start, until
from tests.support.world import statuses

CUT = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'saltform';"


@pytest.fixture(scope="module")
def database():
    with postgres() as server:
        yield server


@pytest.fixture
def http():
    with masters.states() as server:
        yield server


@pytest.fixture(scope="module")
def pg():
    with postgres() as server:
        yield server


@pytest.fixture(params=["http", "pg"])
def two(request, tmp_path, database, monkeypatch):
    """A function that makes them: `first` works until a file is there; `second` comes after it."""
    for name, value in masters.LOGIN.items():
        monkeypatch.setenv(name, value)
    name, server = request.node.name, request.getfixturevalue(request.param)
    address = masters.schema(database, name)

    def make(dead_after):
        made = []
        for who in ("one", "other"):
            world = masters.master(tmp_path / who, address, server, dead_after=dead_after)
            if request.param == "pg":
                schema = f"{''.join(filter(str.isalnum, name))[-30:]}.{{environment}}.{{component}}"
                world.infrastructure["defaults"]["backend"]["schema_name"] = schema
            world.gate, world.ledger = tmp_path / "gate", tmp_path / "ledger"
            world.database = address
            said = f"echo {who} >> {world.ledger}"
            command = f"{said}; while ! test -e {world.gate}; do {said}; sleep 0.1; done"
            world.components |= {
                "first": {"module": "shell", "variables": {"command": command}},
                "second": {"module": "shell", "variables": {"command": said}, "needs": ["first"]},
            }
            made.append(world)
        return made

    yield make
    (tmp_path / "gate").touch()  # nothing of a test that failed waits for ever


def lines(world):
    return world.ledger.read_text().split() if world.ledger.exists() else []


def turns(world):
    """Who was at work, one after another."""
    return [who for who, _ in itertools.groupby(lines(world))]


def begun(world):
    process = start(world, "deploy", {"parallelism": 1, "wait": "2m"})
    until(lambda: world.home.name in lines(world), f"an apply by {world.home.name}")
    return process


def refused(world):
    returned = world.deploy()
    assert returned["retcode"] == 75, returned
    return returned["steps"]["first"]["error"]["detail"]


def test_a_cut_connection_lets_nobody_in_and_costs_the_holder_nothing(two, database):
    one, other = two("20s")
    process = begun(one)
    for _ in range(3):
        database.sql(CUT)
        assert f"process {process.pid}" in refused(other)
        time.sleep(0.5)
    one.gate.touch()
    returned = ended(process)
    assert statuses(returned) == {"first": "applied", "second": "applied"}, returned
    assert turns(one) == ["one"]
    assert other.call("locks", "staging")["locks"] == {}
    assert other.call("history", "staging", 9)["runs"][-1]["status"] == "done"


def test_a_server_that_restarts_costs_the_holder_nothing(two, database):
    one, other = two("60s")
    process = begun(one)
    database.kill()
    database.start_again()
    assert f"process {process.pid}" in refused(other)
    one.gate.touch()
    returned = ended(process)
    assert statuses(returned) == {"first": "applied", "second": "applied"}, returned
    assert turns(one) == ["one"]


def test_a_server_that_is_gone_for_too_long_stops_the_holder_before_another_begins(two, database):
    one, other = two("12s")
    process = begun(one)
    database.kill()
    began = time.monotonic()
    returned = ended(process)
    assert time.monotonic() - began < 120
    assert returned["retcode"] == 1
    assert returned["error"]["type"] == "LostLock"
    assert "interrupted" in returned["steps"]["first"]["error"]["summary"]
    assert returned["steps"]["second"]["reason"].startswith("not started: ")
    wrote = len(lines(one))
    database.start_again()
    one.gate.touch()
    assert len(lines(one)) == wrote  # its terraform has ended, too
    taken = other.deploy(wait="2m")
    assert taken["retcode"] == 0, taken
    assert turns(one) == ["one", "other"]


def test_a_holder_frozen_with_its_connection_cut_starts_and_writes_nothing_after_the_take_over(two, database):
    one, other = two("12s")
    process = begun(one)
    process.send_signal(signal.SIGSTOP)
    try:
        database.sql(CUT)
        taking = begun(other)  # waits until that one is dead
        assert turns(one) == ["one", "other"]  # the guard has ended the frozen one's terraform
        before = record(one)
        process.send_signal(signal.SIGCONT)
        returned = ended(process)
    finally:
        process.send_signal(signal.SIGCONT)
    assert record(one) == before
    assert returned["retcode"] == 1
    assert returned["error"]["type"] == "LostLock"
    assert any("not on record" in note for note in returned["notes"])
    assert returned["steps"]["second"]["status"] == "skipped"
    one.gate.touch()
    taken = ended(taking)
    assert taken["retcode"] == 0, taken
    assert any("first: took its lock over from run" in note for note in taken["notes"])
    assert turns(one) == ["one", "other"]


def record(world):
    """All that is on record, but for signs of life."""
    log = RunLog(world.database)
    try:
        rows = [json.loads(line) for line in log.whole.lines()]
    finally:
        log.close()
    for _, row in rows:
        row.pop("heartbeat", None)
        row.pop("expires", None)
    return rows


def test_a_terraform_that_outlives_its_killed_runner_after_a_reconnect_has_ended_before_another_begins(two, database):
    one, other = two("12s")
    process = begun(one)
    database.sql(CUT)
    until(lambda: other.call("locks", "staging")["locks"]["first"]["run_alive"], "a new connection")
    time.sleep(1)
    process.kill()
    process.communicate()
    taking = begun(other)
    assert turns(one) == ["one", "other"]
    one.gate.touch()
    assert ended(taking)["retcode"] == 0
    assert turns(one) == ["one", "other"]
