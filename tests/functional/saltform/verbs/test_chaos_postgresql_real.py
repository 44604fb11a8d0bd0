"""Whatever happens to PostgreSQL and to the connections to it: no two applies at once, and the record is mended.

`make chaos ROUNDS=1000 SEED=7` does more of the same.
"""

from __future__ import annotations

import contextlib
import json
import random
import signal
import time

import pytest

from tests.support import masters
from tests.support.chaos import MODULE, ROUNDS, SEED, expected, graph, nothing_is_left, started, wait_until
from tests.support.postgres import postgres
from tests.support.runner_process import start

ON_POSTGRESQL = max(4, ROUNDS // 20)


def test_after_a_kill_of_postgresql_a_resume_ends_as_an_undisturbed_run(tmp_path, monkeypatch):
    """Runner and terraform live on: what runs is finished, nothing new is begun, and the record is mended."""
    chance = random.Random(f"{SEED} postgresql")
    print(f"seed {SEED}, {ON_POSTGRESQL} rounds under PostgreSQL")
    for name, value in masters.LOGIN.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "reality").mkdir()
    (tmp_path / "ledger").touch()
    went_on, length = 0, 1.0
    with postgres() as database, masters.states() as states:
        world = masters.master(tmp_path / "master", masters.schema(database, "chaos"), states, lock=True)
        world.module("chaos", MODULE)
        for number in range(ON_POSTGRESQL):
            world.components = graph(chance, tmp_path)
            before, share = started(world), chance.uniform(0, 1.1)
            process = start(world, "deploy", {"parallelism": 2})
            wait_until(lambda n=before: started(world) > n)
            began = time.monotonic()
            if number:
                wait_until(lambda end=began + share * length: time.monotonic() >= end)
            else:  # in the middle of an apply, so that it is never too late
                wait_until(lambda: (tmp_path / "ledger").stat().st_size)
            database.kill()
            process.communicate(timeout=300)
            length = 0.7 * length + 0.3 * max(0.3, time.monotonic() - began)
            database.start_again()
            runs = world.call("history", "staging", 1)["runs"]
            where = f"seed {SEED}, round {number}: {runs}"
            print(where)
            if runs and runs[0]["verb"] == "deploy" and runs[0]["status"] != "done":
                returned = world.call("resume", runs[0]["id"])
                assert returned["retcode"] == 0, f"{where}: {json.dumps(returned, indent=1)}"
                went_on += 1
            again = world.deploy()  # the first time, if it was killed before it was on record
            assert again["retcode"] == 0, f"{where}: {json.dumps(again, indent=1)}"
            reality = {path.name: path.read_text().strip() for path in (tmp_path / "reality").iterdir()}
            assert reality == expected(world.components, set(world.components)), where
            assert {step["status"] for step in world.deploy()["steps"].values()} == {"unchanged"}, where
            nothing_is_left(world)
            assert world.destroy()["retcode"] == 0, where
    assert went_on  # otherwise every kill came too late to show anything
    assert "twice" not in (tmp_path / "ledger").read_text()


# --- cut connections ----------------------------------------------------------------------------------------

SESSIONS = "pg_stat_activity WHERE application_name = 'saltform'"
CUT_ALL = f"SELECT pg_terminate_backend(pid) FROM {SESSIONS};"
CUT_ONE = f"SELECT pg_terminate_backend(pid) FROM (SELECT pid FROM {SESSIONS} ORDER BY random() LIMIT 1) AS one;"
DEAD_AFTER = 8.0
SLOW = MODULE.replace('echo "${local.value}" >', 'sleep 0.5; echo "${local.value}" >')


@pytest.mark.parametrize("freeze", [False, True], ids=["cut", "cut and frozen"])
def test_two_masters_whose_connections_are_cut_never_apply_one_component_at_once(tmp_path, monkeypatch, freeze):
    """Both deploy the same at once; with `freeze` one of them is stopped for longer than its locks last."""
    chance = random.Random(f"{SEED} cut {freeze}")
    rounds = max(1, ON_POSTGRESQL // 4) if freeze else ON_POSTGRESQL
    print(f"seed {SEED}, {rounds} rounds with cut connections")
    for name, value in masters.LOGIN.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "reality").mkdir()
    (tmp_path / "ledger").touch()
    with postgres() as database, masters.states() as states:
        address = masters.schema(database, "chaos")
        both = [
            masters.master(tmp_path / name, address, states, dead_after=f"{DEAD_AFTER:g}s")
            for name in ("one", "other")
        ]
        for world in both:
            world.module("chaos", SLOW)
        for number in range(rounds):
            components = graph(chance, tmp_path)
            for world in both:
                world.components = components
            before = (tmp_path / "ledger").stat().st_size
            processes = [start(world, "deploy", {"parallelism": 2, "wait": "2m"}) for world in both]
            wait_until(lambda size=before: (tmp_path / "ledger").stat().st_size > size)  # an apply has begun
            cuts = disturb(database, chance, processes, freeze)
            codes = [json.loads(process.communicate(timeout=300)[0])["retcode"] for process in processes]
            where = f"seed {SEED}, round {number}: {cuts} cuts, exit codes {codes}"
            print(where)
            assert "twice" not in (tmp_path / "ledger").read_text(), where
            for world in both:
                again = world.deploy(wait="2m")
                assert again["retcode"] == 0, f"{where}: {json.dumps(again, indent=1)}"
            reality = {path.name: path.read_text().strip() for path in (tmp_path / "reality").iterdir()}
            assert reality == expected(components, set(components)), where
            assert {step["status"] for step in again["steps"].values()} == {"unchanged"}, where
            assert both[0].call("locks", "staging")["locks"] == {}
            assert both[0].destroy()["retcode"] == 0, where


def disturb(database, chance, processes, freeze):
    """Cut connections as long as both are at it; how many times."""
    cuts = 0
    frozen = chance.choice(processes) if freeze else None
    while all(process.poll() is None for process in processes):
        time.sleep(chance.uniform(0.1, 1.0))
        if frozen is not None:
            frozen.send_signal(signal.SIGSTOP)
            database.sql(CUT_ALL)
            ends = time.monotonic() + DEAD_AFTER + chance.uniform(0, 4)
            wait_until(lambda end=ends: time.monotonic() > end)
            with contextlib.suppress(ProcessLookupError):
                frozen.send_signal(signal.SIGCONT)
            frozen = None
        else:
            database.sql(chance.choice((CUT_ONE, CUT_ALL)))
        cuts += 1
    return cuts
