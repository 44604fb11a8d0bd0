"""A run whose record, disk or locks go away under it: what runs ends, nothing new starts, all of it is said, and
`resume` puts the record right from the states."""

from __future__ import annotations

import json
import os
import resource
import signal
import time

import pytest

from saltform.layout import Layout
from tests.support.runner_process import start
from tests.support.world import statuses

LONG = 120.0


def until(condition, what: str):
    deadline = time.monotonic() + LONG
    while not (found := condition()):
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.02)
    return found


@pytest.fixture
def slow(world, tmp_path):
    """`first` works until a file is there; `second` needs nothing, and its turn comes afterwards."""
    world.gate, world.begun = tmp_path / "gate", tmp_path / "begun"
    command = f"touch {world.begun}; while ! test -e {world.gate}; do sleep 0.1; done"
    world.components = {
        "first": {"module": "shell", "variables": {"command": command}},
        "second": {"module": "base", "variables": {"name": "two"}},
    }
    return world


def ended(process):
    stdout, _ = process.communicate(timeout=LONG)
    return json.loads(stdout)


def test_a_run_log_that_takes_nothing_any_more(slow):
    """As on a full disk: the runner's files can't grow beyond what the run log has already."""
    process = start(slow, "deploy", {"parallelism": 1, "on_error": "continue"})
    until(slow.begun.exists, "the first component")
    log = Layout(slow.state_dir).runlog
    written = log.with_name(f"{log.name}-wal").stat().st_size
    assert written > 65536  # the schema; terraform's log has room below that
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (65536, 65536))
    slow.gate.touch()
    returned = ended(process)
    assert returned["retcode"] == 1
    assert returned["error"]["type"] == "RunLogError"
    assert returned["steps"]["second"]["reason"].startswith("not started: ")
    assert any(note.startswith("not on record: first (") for note in returned["notes"])
    assert any("is not on record" in note and "the end of run" in note for note in returned["notes"])

    status = slow.call("status", "staging")
    assert any("is dead since" in note for note in status["notes"])
    resumed = slow.call("resume", returned["run"])
    assert resumed["retcode"] == 0, resumed
    assert statuses(resumed) == {"first": "unchanged", "second": "applied"}
    assert set(statuses(slow.deploy()).values()) == {"unchanged"}
    assert slow.processes.started == []


def test_a_disk_that_takes_nothing_any_more(slow):
    process = start(slow, "deploy", {"parallelism": 1, "on_error": "continue"})
    until(slow.begun.exists, "the first component")
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (0, 0))
    slow.gate.touch()
    returned = ended(process)
    assert returned["retcode"] == 1
    assert returned["error"]["type"] in ("NoRoom", "RunLogError")
    assert returned["steps"]["second"]["reason"].startswith("not started: ")
    resumed = slow.call("resume", returned["run"])
    assert resumed["retcode"] == 0, resumed
    assert set(statuses(slow.deploy()).values()) == {"unchanged"}


def test_a_component_whose_lock_was_lost_stops_before_its_next_process(slow):
    process = start(slow, "deploy", {"parallelism": 1, "on_error": "continue"})
    until(slow.begun.exists, "the first component")
    services = slow.services()
    try:
        services.runlog._database.write("UPDATE locks SET number = number + 1, run = 'another'")
    finally:
        services.close()
    slow.gate.touch()
    returned = ended(process)
    assert returned["retcode"] == 1
    assert returned["steps"]["first"]["error"]["type"] == "LostLock"
    assert returned["steps"]["second"]["reason"].startswith("not started: the lock of staging/first was lost")
    assert slow.call("resume", returned["run"])["retcode"] == 0


def kill_all(world, process):
    """The runner, and every terraform of this world: not even interrupted, which a runner's end would do to them."""
    process.send_signal(signal.SIGSTOP)
    workspaces = world.state_dir / "workspaces"
    for entry in os.scandir("/proc"):
        if entry.name.isdecimal():
            try:
                if os.readlink(f"/proc/{entry.name}/cwd").startswith(str(workspaces)):
                    os.kill(int(entry.name), signal.SIGKILL)
            except OSError:
                pass
    process.kill()
    process.communicate()


def test_the_state_lock_of_a_dead_run_is_cleared_and_a_strangers_never(slow):
    process = start(slow, "deploy")
    until(slow.begun.exists, "the first component")
    note = Layout(slow.state_dir).states("staging", "first") / ".terraform.tfstate.lock.info"
    ours = json.loads(note.read_text())
    kill_all(slow, process)
    assert note.exists()

    for wrong in (
        {"Who": "root@elsewhere"},
        {"Created": "2020-01-01T00:00:00Z"},
        {"Created": "2099-01-01T00:00:00Z"},
    ):
        note.write_text(json.dumps({**ours, **wrong}))
        refused = slow.call("unlock", "staging", "first", "it is in the way")
        assert refused["retcode"] == 75
        assert "not a dead run of ours" in refused["steps"]["first"]["error"]["detail"]
        assert note.exists()
    first = slow.call("history", "staging", 9)["runs"][2]
    assert any("first: took its lock over from run" in each for each in first["notes"])

    note.write_text(json.dumps(ours))
    cleared = slow.call("unlock", "staging", "first", "the machine was reset")
    assert statuses(cleared) == {"first": "applied"}
    assert "a killed terraform of run" in cleared["steps"]["first"]["reason"]
    assert not note.exists()
    slow.gate.touch()
    assert slow.call("resume", None)["retcode"] == 0
