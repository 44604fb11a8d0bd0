"""A process that a provisioner left behind keeps its component's lock: it is named, and `unlock` frees the lock."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import time
from pathlib import Path

import pytest

from saltform.process import RealProcesses
from saltform.terraform import binary
from tests.support import masters
from tests.support.cluster import wait_for
from tests.support.postgres import postgres
from tests.support.runner_process import start
from tests.support.world import World, statuses

LEAVE = "{program} 1000 >/dev/null 2>&1 & echo $! > {pid}"


@pytest.fixture
def left(tmp_path):
    """Makes a component that leaves a process behind; gives its id, and ends it at last."""
    pid = tmp_path / "pid"

    def make(program="sleep"):
        return {"module": "shell", "variables": {"command": LEAVE.format(program=program, pid=pid)}}

    yield make, lambda: int(pid.read_text())
    if pid.exists():
        os.kill(int(pid.read_text()), signal.SIGKILL)


def change(*worlds):
    for world in worlds:
        world.components["web"]["variables"]["command"] += " "


def check_freed(world, pid, others=()):
    """The lock is named as kept, unlock frees it without ending the process, and the next deploy works."""
    kept = world.call("locks", "staging")["locks"]["web"]
    assert not kept["run_alive"]
    assert kept["kept_by"] == [{"process": pid, "program": "sleep", "terraform": False}]
    change(world, *others)
    for each in (world, *others):
        refused = each.deploy()
        assert refused["retcode"] == 75, refused
    error = world.deploy()["steps"]["web"]["error"]
    assert f"that run has ended, but process {pid} (sleep) still has its lock" in error["detail"]
    assert error["fix"].startswith("salt-run infrastructure.unlock staging web reason=")
    assert "1000" not in str(error)  # arguments may be secrets
    assert world.call("unlock", "staging", "web", "")["retcode"] == 1
    preview = world.call("unlock", "staging", "web", "why", True)
    assert f"process {pid} (sleep) keeps it" in preview["summary"]
    freed = world.call("unlock", "staging", "web", "the daemon may stay")
    assert (freed["retcode"], freed["steps"]["web"]["status"]) == (0, "applied"), freed
    assert f"took its lock from process {pid} (sleep)" in freed["steps"]["web"]["reason"]
    assert world.call("show", freed["run"])["run"]["options"]["reason"] == "the daemon may stay"
    os.kill(pid, 0)
    assert world.call("locks", "staging")["locks"] == {}


def test_what_a_provisioner_left_behind_is_named_and_unlock_frees_its_lock(tmp_path, left):
    make, pid = left
    world = World(tmp_path / "world")
    world.home.mkdir(exist_ok=True)
    world.components["web"] = make()
    assert statuses(world.deploy()) == {"web": "applied"}
    check_freed(world, pid())
    assert world.deploy()["retcode"] == 0
    again = world.call("unlock", "staging", "web", "again")
    assert again["steps"]["web"]["reason"] == "nobody held it"


def test_a_provider_that_still_has_the_lock_keeps_it(tmp_path, left):
    make, pid = left
    provider = tmp_path / "terraform-provider-slow"
    shutil.copy("/bin/sleep", provider)
    world = World(tmp_path / "world")
    world.components["web"] = make(str(provider))
    assert statuses(world.deploy()) == {"web": "applied"}
    refused = world.call("unlock", "staging", "web", "it is in the way")
    assert refused["retcode"] == 75, refused
    error = refused["steps"]["web"]["error"]
    assert f"process {pid()} (terraform-provi" in error["detail"]
    assert "may still be at work" in error["detail"]
    assert world.call("locks", "staging")["locks"]["web"]["kept_by"][0]["terraform"]
    os.kill(pid(), signal.SIGKILL)
    wait_for(lambda: not Path(f"/proc/{pid()}/exe").exists())  # a zombie has none
    assert world.call("unlock", "staging", "web", "now")["retcode"] == 0
    (tmp_path / "pid").unlink()


def test_a_wrapper_around_terraform_that_still_has_the_lock_keeps_it(tmp_path, left):
    """Its name says nothing: it is known as the component's binary."""
    make, pid = left
    wrapper = tmp_path / "run-it"
    terraform = shlex.join(binary.find("auto", cache_dir=tmp_path, processes=RealProcesses()).path)
    wrapper.write_text(f'#!/bin/sh\n[ "$1" = 1000 ] && while :; do sleep 1; done\nexec {terraform} "$@"\n')
    wrapper.chmod(0o700)
    world = World(tmp_path / "world")
    world.components["web"] = {**make(str(wrapper)), "binary": str(wrapper)}
    assert statuses(world.deploy()) == {"web": "applied"}
    refused = world.call("unlock", "staging", "web", "it is in the way")
    assert refused["retcode"] == 75, refused
    assert "may still be at work" in refused["steps"]["web"]["error"]["detail"]


def test_with_several_masters_the_session_that_it_inherited_is_ended_too(tmp_path, left, monkeypatch):
    """The runner was killed, so nobody gave the advisory lock back: what was left behind has its connection."""
    make, pid = left
    for name, value in masters.LOGIN.items():
        monkeypatch.setenv(name, value)
    with postgres() as database, masters.states() as states:
        address = masters.schema(database, "left_behind")
        one, other = (
            masters.master(tmp_path / name, address, states, lock=True, dead_after="8s") for name in ("one", "other")
        )
        for world in (one, other):
            world.components["web"] = make("setsid sleep")
            world.components["web"]["variables"]["command"] += (
                f"; while ! test -e {tmp_path / 'gate'}; do sleep 0.1; done"
            )
        process = start(one, "deploy")
        wait_for(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text())
        process.kill()
        process.communicate()
        (tmp_path / "gate").touch()
        wait_for(
            lambda: [item["program"] for item in one.call("locks", "staging")["locks"]["web"]["kept_by"]] == ["sleep"]
        )
        time.sleep(8.5)  # its lease is over: what keeps others out is the session that was inherited
        elsewhere = other.call("unlock", "staging", "web", "from elsewhere")
        assert elsewhere["retcode"] == 75, elsewhere
        check_freed(one, pid(), [other])
        assert other.deploy()["retcode"] == 0
