"""Cancel and time-out of a real apply: one SIGINT, its state kept, nothing left running."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from saltform import tfstate
from saltform.config.types import Timeouts
from saltform.errors import Cancelled, TerraformError, Timeout
from saltform.terraform import apply, init, planning
from saltform.terraform.binary import Binary

# `first` is quick, `slow` writes its process id and works on (terraform ends it when it is interrupted itself),
# `last` must never be begun.
COMMAND = "echo $$ > pid; while [ ! -e go ]; do sleep 0.05; done"


def root(command: str) -> dict:
    return {
        "resource": {
            "terraform_data": {
                "first": {"input": 1},
                "slow": {
                    "depends_on": ["terraform_data.first"],
                    "provisioner": [{"local-exec": {"command": command}}],
                },
                "last": {"depends_on": ["terraform_data.slow"]},
            }
        }
    }


def wait_for(path: Path, seconds: float = 120.0) -> None:
    deadline = time.monotonic() + seconds
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} didn't come"
        time.sleep(0.02)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.fixture
def prepare(make_session, binary):
    def prepare(command=COMMAND, **more):
        session = make_session(binary, root(command), **more)
        init.run(session)
        planning.run(session, session.workspace / "plan")
        return session

    return prepare


def resources(session) -> list[str]:
    return tfstate.read(session.workspace / "terraform.tfstate").resources


def in_thread(session):
    """Apply in the background; what it ended with comes out of `join`."""
    ended = []

    def work():
        try:
            ended.append(apply.run(session, session.workspace / "plan"))
        except Exception as error:
            ended.append(error)

    thread = threading.Thread(target=work)
    thread.start()

    def join():
        thread.join(60)
        return ended[0]

    return join


def test_a_cancel_is_one_interrupt_after_which_the_state_is_stored_and_nothing_new_begun(prepare, tmp_path):
    session = prepare()
    join = in_thread(session)
    wait_for(session.workspace / "pid")
    session.cancel.set()
    error = join()
    assert isinstance(error, Cancelled)
    assert not error.data["killed"]
    log = (tmp_path / "session.log").read_text()
    assert log.count("Interrupt received") == 1
    assert "Two interrupts received" not in log
    assert "terraform_data.first" in resources(session)
    assert "terraform_data.last" not in resources(session)


def test_the_state_is_free_and_planned_again_after_a_cancel(prepare):
    session = prepare()
    join = in_thread(session)
    wait_for(session.workspace / "pid")
    session.cancel.set()
    join()
    session.cancel.clear()
    (session.workspace / "go").touch()
    plan = planning.run(session, session.workspace / "plan")
    assert {change["address"] for change in plan.changes} >= {"terraform_data.last"}
    apply.run(session, session.workspace / "plan")
    assert not planning.run(session, None).changed


def test_a_time_out_is_said_with_its_seconds(prepare):
    session = prepare(timeouts=Timeouts(init=600, plan=600, apply=10))
    error = in_thread(session)()
    assert isinstance(error, Timeout)
    assert "took longer than 10 s" in error.summary
    assert "terraform_data.first" in resources(session)


def test_what_ignores_the_interrupt_is_killed_after_the_grace_with_its_children(make_session, tmp_path):
    script = tmp_path / "stubborn"
    script.write_text("#!/bin/sh\ntrap '' INT\nsleep 60 & echo $! > pid\nwhile :; do sleep 0.1; done\n")
    script.chmod(0o755)
    stubborn = Binary((str(script),), "terraform", "1.11.4")
    session = make_session(stubborn, {}, timeouts=Timeouts(apply=3))
    with pytest.raises(Timeout, match="didn't stop within 3 s after the interrupt and was killed") as caught:
        apply.run(session, session.workspace / "plan")
    assert caught.value.data["killed"]
    pid = int((session.workspace / "pid").read_text())
    deadline = time.monotonic() + 120
    while alive(pid):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_plan_that_had_to_be_killed_says_that_it_created_nothing(make_session, tmp_path, monkeypatch):
    monkeypatch.setattr("saltform.terraform.session.GRACE", 0.5)
    script = tmp_path / "stubborn"
    script.write_text("#!/bin/sh\ntrap '' INT\nwhile :; do sleep 0.1; done\n")
    script.chmod(0o755)
    session = make_session(Binary((str(script),), "terraform", "1.11.4"), {}, timeouts=Timeouts(plan=3))
    with pytest.raises(Timeout) as caught:
        planning.run(session, session.workspace / "plan")
    assert caught.value.detail.endswith("and was killed: it had created nothing; a state lock may be left")


def test_a_terraform_killed_by_others_is_an_error_that_names_the_signal(prepare):
    session = prepare()
    join = in_thread(session)
    wait_for(session.workspace / "pid")
    child = int((session.workspace / "pid").read_text())
    os.kill(int(Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[1]), signal.SIGKILL)
    error = join()
    assert isinstance(error, TerraformError)
    assert "was ended by SIGKILL" in error.summary
    assert "terraform_data.first" in error.data["applied"]


RUNNER = """
import pickle, sys, threading
from pathlib import Path
from saltform.process import RealProcesses
from saltform.terraform import apply
from saltform.terraform.session import Session

binary, workspace, env = pickle.loads(Path(sys.argv[1]).read_bytes())
session = Session(binary, workspace, env, RealProcesses(), lambda line: None, threading.Event(), "net")
apply.run(session, workspace / "plan")
"""


def test_a_killed_runner_leaves_a_state_that_is_stored_and_free(prepare, tmp_path):
    """What terraform had done is in its state, nothing of it runs on, and the next run just goes on."""
    session = prepare()
    (tmp_path / "session").write_bytes(pickle.dumps((session.binary, session.workspace, dict(session.env))))
    repository = Path(__file__).parents[4]
    runner = subprocess.Popen([sys.executable, "-c", RUNNER, str(tmp_path / "session")], cwd=repository)
    wait_for(session.workspace / "pid")
    provisioner = int((session.workspace / "pid").read_text())
    terraform = int(Path(f"/proc/{provisioner}/stat").read_text().rpartition(")")[2].split()[1])
    runner.kill()
    runner.wait()
    deadline = time.monotonic() + 120
    while alive(terraform) or alive(provisioner):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert "terraform_data.first" in resources(session)
    assert "terraform_data.last" not in resources(session)
    (session.workspace / "go").touch()
    planning.run(session, session.workspace / "plan")
    apply.run(session, session.workspace / "plan")
    assert "terraform_data.last" in resources(session)


@pytest.mark.parametrize("delay", [0.0, 0.02, 0.05, 0.1])
def test_an_interrupt_at_any_moment_of_the_start_is_never_lost(prepare, delay):
    """The embedded launcher has a moment before Terraform listens: then it must end, not go on."""
    session = prepare()
    threading.Timer(delay, session.cancel.set).start()
    began = time.monotonic()
    join = in_thread(session)
    (session.workspace / "go").touch()
    ended = join()
    assert time.monotonic() - began < 120
    if isinstance(ended, Exception):
        assert isinstance(ended, Cancelled)
    state = session.workspace / "terraform.tfstate"
    assert not state.exists() or not state.read_bytes() or json.loads(state.read_text())["version"] == 4
