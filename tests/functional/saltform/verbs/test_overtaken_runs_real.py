"""A run that changed nothing overtakes nobody: whoever stopped before it can still go on. Terraform is real."""

from __future__ import annotations

import json
import os
import signal

import pytest

from saltform.layout import Layout
from saltform.runlog import RunLog
from tests.support.cluster import wait_for
from tests.support.runner_process import start
from tests.support.world import statuses


@pytest.fixture
def slow(world, tmp_path):
    """`first`, then `second` that works until a file is there."""
    world.gate, world.begun = tmp_path / "gate", tmp_path / "begun"
    command = f"touch {world.begun}; while ! test -e {world.gate}; do sleep 0.1; done"
    world.components = {
        "first": {"module": "base", "variables": {"name": "one"}},
        "second": {"module": "shell", "variables": {"command": command}, "needs": ["first"]},
    }
    return world


def newest(world):
    log = RunLog(Layout(world.state_dir).runlog)
    try:
        return log.run("last").id
    finally:
        log.close()


def begun(world):
    """A deploy that is at `second`: its process and its run."""
    process = start(world, "deploy")
    wait_for(world.begun.exists, 60)
    return process, newest(world)


def kill(process):
    process.kill()
    process.communicate()


def refused(world):
    """A deploy that another run's lock keeps from doing anything."""
    returned = world.deploy()
    assert returned["retcode"] == 75
    return returned["run"]


def cancelled_in_line(world):
    """A deploy that waits for another run's lock, and is cancelled there."""
    before = newest(world)
    process = start(world, "deploy", {"wait": "10m"})
    run = wait_for(lambda: newest(world) != before and newest(world), 60)
    wait_for(lambda: world.call("show", run)["steps"].get("second", {}).get("status") == "running", 60)
    os.kill(process.pid, signal.SIGINT)
    assert json.loads(process.communicate(timeout=120)[0])["retcode"] == 130
    return run


@pytest.mark.parametrize("came_for_nothing", [refused, cancelled_in_line])
def test_a_run_that_did_nothing_leaves_the_one_before_it_resumable(slow, came_for_nothing):
    process, run = begun(slow)
    later = came_for_nothing(slow)
    kill(process)
    slow.gate.touch()
    assert any(f"infrastructure.resume {run}" in note for note in slow.call("status", "staging")["notes"])
    resumed = slow.call("resume", run)
    assert (resumed["retcode"], resumed["run"]) == (0, run), resumed
    assert statuses(resumed) == {"first": "applied", "second": "applied"}
    # The other way round it holds as before: what the first one did is not gone back on.
    assert f"run {run} " not in str(slow.call("resume", later))
    assert slow.call("show", run)["run"]["status"] == "done"


def test_a_run_killed_while_it_waited_in_line_did_nothing_either(slow):
    process, run = begun(slow)
    waiting = start(slow, "deploy", {"wait": "10m"})
    later = wait_for(lambda: newest(slow) != run and newest(slow), 60)
    wait_for(lambda: slow.call("show", later)["steps"].get("second", {}).get("status") == "running", 60)
    kill(waiting)
    kill(process)
    slow.gate.touch()
    assert slow.call("resume", run)["retcode"] == 0


def test_status_offers_no_resume_that_would_be_refused_and_resume_picks_one_that_can_go_on(slow):
    process, dead = begun(slow)
    kill(process)
    slow.components["second"]["variables"]["command"] = "exit 3"
    slow.gate.touch()
    failed = slow.deploy()["run"]
    slow.gate.unlink()
    said = [note for note in slow.call("status", "staging")["notes"] if dead in note]
    assert len(said) == 1
    assert f"it can't be resumed, run {failed} (deploy by ada) came after it" in said[0]
    assert f"infrastructure.abandon {dead}" in said[0]
    assert "infrastructure.resume" not in said[0]
    # The newest one can't go on: what it was told to do is gone. So none can, and the newest one's reason is said.
    (Layout(slow.state_dir).run(failed) / "configuration.json").unlink()
    nobody = slow.call("resume", None)["error"]
    assert nobody["summary"] == "a run can't go on"


def test_resume_without_an_id_passes_over_a_newer_run_that_cannot_go_on(slow):
    process, run = begun(slow)
    later = refused(slow)
    kill(process)
    slow.gate.touch()
    (Layout(slow.state_dir).run(later) / "configuration.json").unlink()
    assert slow.call("resume", None)["run"] == run


def test_a_refused_run_is_no_reason_against_a_promotion(slow):
    slow.gate.touch()
    assert slow.deploy()["retcode"] == 0
    slow.gate.unlink()
    slow.begun.unlink()
    slow.components["second"]["variables"]["command"] += "; true"
    slow.module("shell", (slow.home / "modules/shell/main.tf").read_text().replace("input =", "triggers_replace ="))
    process, run = begun(slow)
    assert refused(slow) != run
    slow.gate.touch()
    assert json.loads(process.communicate(timeout=120)[0])["retcode"] == 0
    slow.infrastructure["environments"] = {"production": {"promoted_from": "staging"}}
    promoted = slow.call("promote", "staging", "production", {"dry_run": True})
    last = next(gate for gate in promoted["promotion"]["gates"] if gate["gate"] == "last run")
    assert (last["ok"], run in last["said"]) == (True, True), last
