"""Commands behind instances: they get the instance, in order, and their failure is seen where AWS shows it."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hive_emulator.testing import RunningHive, running_emulator, running_nats

HOOK = """
import json, os, sys, time
event = json.load(sys.stdin)
folder = sys.argv[1]
if os.path.exists(folder + "/fail"):
    print("a line before")
    sys.exit("no room for " + event["InstanceId"])
time.sleep(0.2 if os.environ["HIVE_EVENT"] == "launch" else 0)
with open(folder + "/events", "a") as file:
    file.write(json.dumps([os.environ["HIVE_EVENT"], event]) + chr(10))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "hook.py").write_text(HOOK)
    return tmp_path


@pytest.fixture
def hive(folder: Path) -> Iterator[RunningHive]:
    command = f"{sys.executable} {folder / 'hook.py'} {folder}"
    events = ("launch", "terminate", "stop", "start", "reboot")
    options = [word for event in events for word in (f"--on-{event}", command)]
    with running_emulator(folder, options=options) as running:
        yield running


def launch(hive: RunningHive, count: int = 1) -> list[str]:
    ec2 = hive.client("ec2")
    images = ec2.describe_images(Filters=[{"Name": "name", "Values": ["*debian-12*amd64*"]}])["Images"]
    wanted = {"ImageId": images[0]["ImageId"], "InstanceType": "t3.micro", "UserData": "#!/bin/sh\necho hi"}
    made = ec2.run_instances(**wanted, MinCount=count, MaxCount=count)["Instances"]
    return [instance["InstanceId"] for instance in made]


def until(hive: RunningHive, id: str, good: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    deadline = time.monotonic() + 120
    while True:
        found = hive.client("ec2").describe_instances(InstanceIds=[id])["Reservations"][0]["Instances"][0]
        if good(found):
            return found
        assert time.monotonic() < deadline, found
        time.sleep(0.05)


def in_state(name: str) -> Callable[[dict[str, Any]], bool]:
    return lambda instance: instance["State"]["Name"] == name


def events(folder: Path) -> list[tuple[str, dict[str, Any]]]:
    return [tuple(json.loads(line)) for line in (folder / "events").read_text().splitlines()]


def test_each_change_of_an_instance_runs_its_command_with_the_instance(hive: RunningHive, folder: Path) -> None:
    [id] = launch(hive)
    ec2 = hive.client("ec2")
    until(hive, id, in_state("running"))
    ec2.reboot_instances(InstanceIds=[id])
    ec2.stop_instances(InstanceIds=[id])
    until(hive, id, in_state("stopped"))
    ec2.start_instances(InstanceIds=[id])
    until(hive, id, in_state("running"))
    ec2.terminate_instances(InstanceIds=[id])
    until(hive, id, in_state("terminated"))
    seen = events(folder)
    assert [event for event, _ in seen] == ["launch", "reboot", "stop", "start", "terminate"]
    assert {instance["InstanceId"] for _, instance in seen} == {id}
    told = seen[0][1]
    assert told["InstanceType"] == "t3.micro"
    assert told["PrivateIpAddress"].startswith("172.31.")
    assert base64.b64decode(told["UserData"]) == b"#!/bin/sh\necho hi"


def test_a_terminate_right_after_the_launch_waits_for_its_turn(hive: RunningHive, folder: Path) -> None:
    ids = launch(hive, 3)
    hive.client("ec2").terminate_instances(InstanceIds=ids)
    for id in ids:
        until(hive, id, in_state("terminated"))
    order = {id: [event for event, told in events(folder) if told["InstanceId"] == id] for id in ids}
    assert all(seen[-1] == "terminate" for seen in order.values()), order


def test_a_launch_that_fails_shows_as_the_state_reason(hive: RunningHive, folder: Path) -> None:
    (folder / "fail").touch()
    [id] = launch(hive)
    instance = until(hive, id, in_state("terminated"))
    assert f"no room for {id}" in instance["StateReason"]["Message"]


def test_a_command_that_does_not_exist_shows_too(tmp_path: Path) -> None:
    with running_emulator(tmp_path, options=["--on-launch", "/no/such/command --now"]) as hive:
        [id] = launch(hive)
        instance = until(hive, id, in_state("terminated"))
        assert "/no/such/command can't be started" in instance["StateReason"]["Message"]


WAIT = """
import os, sys, time
folder, event = sys.argv[1], os.environ["HIVE_EVENT"]
with open(folder + "/begun", "a") as file:
    file.write(event + chr(10))
while os.path.exists(folder + "/wait"):
    time.sleep(0.05)
if os.path.exists(folder + "/fail"):
    sys.exit("not this time")
"""


def begun(folder: Path, count: int) -> list[str]:
    """The events whose commands have begun, once there are ``count`` of them."""
    deadline = time.monotonic() + 120
    while True:
        found = (folder / "begun").read_text().split() if (folder / "begun").exists() else []
        if len(found) >= count:
            return found
        assert time.monotonic() < deadline, found
        time.sleep(0.05)


@pytest.fixture
def waiting(tmp_path: Path) -> list[str]:
    """Options for hooks that wait while the folder has a file named wait, and fail when it has one named fail."""
    (tmp_path / "wait.py").write_text(WAIT)
    (tmp_path / "wait").touch()
    command = f"{sys.executable} {tmp_path / 'wait.py'} {tmp_path}"
    return ["--on-launch", command, "--on-terminate", command, "--on-start", command]


@pytest.mark.parametrize("hook_fails", [False, True])
def test_a_launch_that_kill_9_interrupted_is_begun_again(
    tmp_path: Path, waiting: list[str], hook_fails: bool
) -> None:
    with running_emulator(tmp_path, store="embedded", options=waiting) as hive:
        [id] = launch(hive)
        begun(tmp_path, 1)
        hive.kill()
    with running_emulator(tmp_path, store="embedded", options=waiting) as hive:
        assert begun(tmp_path, 2) == ["launch", "launch"]
        assert until(hive, id, in_state("pending"))
        if hook_fails:
            (tmp_path / "fail").touch()
        (tmp_path / "wait").unlink()
        ended = until(hive, id, in_state("terminated" if hook_fails else "running"))
        assert ("not this time" in ended.get("StateReason", {}).get("Message", "")) == hook_fails
        left = hive.client("ec2").describe_volumes()["Volumes"]
        assert len(left) == (0 if hook_fails else 1)


def test_a_termination_and_a_start_that_were_interrupted_are_begun_again(tmp_path: Path, waiting: list[str]) -> None:
    (tmp_path / "wait").unlink()
    with running_emulator(tmp_path, store="embedded", options=waiting) as hive:
        ec2, [first, second] = hive.client("ec2"), launch(hive, 2)
        for id in (first, second):
            until(hive, id, in_state("running"))
        ec2.stop_instances(InstanceIds=[second])
        (tmp_path / "wait").touch()
        ec2.terminate_instances(InstanceIds=[first])
        ec2.start_instances(InstanceIds=[second])
        begun(tmp_path, 4)
        hive.kill()
    with running_emulator(tmp_path, store="embedded", options=waiting) as hive:
        assert sorted(begun(tmp_path, 6)[4:]) == ["start", "terminate"]
        (tmp_path / "wait").unlink()
        until(hive, first, in_state("terminated"))
        until(hive, second, in_state("running"))


def test_without_a_command_at_the_next_start_an_interrupted_launch_runs(tmp_path: Path, waiting: list[str]) -> None:
    with running_emulator(tmp_path, store="embedded", options=waiting) as hive:
        [id] = launch(hive)
        begun(tmp_path, 1)
        hive.kill()
    (tmp_path / "wait").unlink()
    with running_emulator(tmp_path, store="embedded") as hive:
        until(hive, id, in_state("running"))


def test_a_launch_that_was_under_way_in_a_snapshot_is_begun_again_when_it_is_loaded(
    tmp_path: Path, waiting: list[str]
) -> None:
    def hive_emulator(*words: str) -> None:
        subprocess.run([sys.executable, "-m", "hive_emulator", *words, "--data-dir", str(tmp_path)], check=True)

    with running_emulator(tmp_path, options=waiting) as hive:
        [id] = launch(hive)
        begun(tmp_path, 1)
        hive_emulator("snapshot", "save", str(tmp_path / "saved"))
        hive_emulator("reset")
        (tmp_path / "wait").unlink()
        hive_emulator("snapshot", "load", str(tmp_path / "saved"))
        assert begun(tmp_path, 2) == ["launch", "launch"]
        until(hive, id, in_state("running"))


def test_a_second_emulator_on_one_store_leaves_a_launch_of_the_first_alone(
    tmp_path: Path, waiting: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = tmp_path_factory.mktemp("other")
    with running_nats() as store, running_emulator(tmp_path, store=store, options=waiting) as hive:
        [id] = launch(hive)
        begun(tmp_path, 1)
        with running_emulator(other, store=store, options=waiting, environ=_same_keys(hive)) as second:
            assert until(second, id, in_state("pending"))
            (tmp_path / "wait").unlink()
            until(second, id, in_state("running"))
            assert begun(tmp_path, 1) == ["launch"]


def _same_keys(hive: RunningHive) -> dict[str, str]:
    return {"HIVE_ACCESS_KEY_ID": hive.access_key, "HIVE_SECRET_ACCESS_KEY": hive.secret_key}
