"""Instances with something real behind them: what a hook's end does to their state."""

from __future__ import annotations

import base64
import json

import pytest

from hive_emulator.hooks import Hooks


@pytest.fixture
def hooks(desk, tmp_path):
    """``hooks(launch="exit 1")``: a shell line for each event; {log} is a file that it may write to."""
    log = tmp_path / "log"

    def set_up(**lines):
        commands = {event: ["sh", "-c", line.format(log=log)] for event, line in lines.items()}
        desk.emulator.config.hooks = Hooks(commands)
        return log

    return set_up


def state(instance):
    return instance["State"]["Name"]


def test_a_launch_hook_gets_the_instance_and_its_user_data(desk, launch, hooks, instance):
    log = hooks(launch="cat > {log}")
    script = base64.b64encode(b"#!/bin/sh\n").decode()
    made = launch(UserData=script)["InstanceId"]
    told = json.loads(log.read_text())
    assert (told["InstanceId"], told["UserData"], told["OwnerId"]) == (made, script, desk.account)
    assert told["State"]["Name"] == "pending"
    assert told["PrivateIpAddress"] == instance(made)["PrivateIpAddress"]
    assert not [key for key in told if key.startswith("_")]
    assert state(instance(made)) == "running"


def test_an_instance_whose_launch_hook_fails_is_terminated_with_the_reason(desk, launch, hooks, instance):
    hooks(launch="echo no disk left; exit 3")
    made = instance(launch()["InstanceId"])
    assert state(made) == "terminated"
    assert made["StateReason"]["Code"] == "Server.InternalError"
    assert "no disk left" in made["StateReason"]["Message"]
    assert desk("DescribeVolumes")["Volumes"] == []
    assert desk("DescribeNetworkInterfaces")["NetworkInterfaces"] == []


def test_stop_start_reboot_and_terminate_have_their_own(desk, launch, hooks, instance):
    log = hooks(
        **dict.fromkeys(("stop", "start", "reboot", "terminate"), "echo $HIVE_EVENT >> {log}; cat > /dev/null")
    )
    made = launch()["InstanceId"]
    for action, after in (
        ("StopInstances", "stopped"),
        ("StartInstances", "running"),
        ("RebootInstances", "running"),
        ("TerminateInstances", "terminated"),
    ):
        desk(action, InstanceIds=[made])
        assert state(instance(made)) == after
    assert log.read_text().split() == ["stop", "start", "reboot", "terminate"]


@pytest.mark.parametrize(
    ("event", "action", "after"),
    [
        ("start", "StartInstances", "stopped"),
        ("stop", "StopInstances", "stopped"),
        ("reboot", "RebootInstances", "running"),
        ("terminate", "TerminateInstances", "terminated"),
    ],
)
def test_a_hook_that_fails_shows_as_the_state_reason(desk, launch, hooks, instance, event, action, after):
    made = launch()["InstanceId"]
    if event == "start":
        desk("StopInstances", InstanceIds=[made])
    hooks(**{event: "echo out of order; exit 1"})
    desk(action, InstanceIds=[made])
    shown = instance(made)
    assert state(shown) == after
    assert "out of order" in shown["StateReason"]["Message"]
    assert f"the {event} hook failed" in shown["StateReason"]["Message"]
