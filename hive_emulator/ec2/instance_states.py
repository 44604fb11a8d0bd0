"""States of an instance, and the changes between them.

A change is made at once: the call that asks for it answers with the state on the way (pending, stopping, …), and
whoever asks next finds the state it leads to. Only where a hook puts something real behind the instance does it stay
on the way until the hook's command has ended; ``_OnTheWay`` then says which event it is, and since when.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hive_emulator import hooks
from hive_emulator.action import Call
from hive_emulator.errors import ApiError

CODES = {"pending": 0, "running": 16, "shutting-down": 32, "terminated": 48, "stopping": 64, "stopped": 80}

# event: (state on the way, state it leads to, state it leads to when its hook fails)
CHANGES = {
    "launch": ("pending", "running", "terminated"),
    "start": ("pending", "running", "stopped"),
    "stop": ("stopping", "stopped", "stopped"),
    "terminate": ("shutting-down", "terminated", "terminated"),
}

Instance = dict[str, Any]


def state(name: str) -> dict[str, Any]:
    return {"Code": CODES[name], "Name": name}


def begin(call: Call, event: str, instance: Instance, failed: Callable[[Call, Instance], None] | None = None) -> None:
    """Stores ``instance`` in the state that ``event`` leads to, or on the way there while its hook runs.

    ``failed`` cleans up after a hook that failed, before the instance is stored in the state for that.
    """
    on_the_way, done, _ = CHANGES[event]
    instance_id = instance["InstanceId"]
    if not hooks.hooked(call, event):
        call.cloud.put("instance", instance_id, _arrived(instance, done))
        return
    waiting = {"Event": event, "Since": call.timestamp()}
    stored = call.cloud.put("instance", instance_id, {**instance, "State": state(on_the_way), "_OnTheWay": waiting})
    hooks.fire(
        call,
        event,
        for_hook(stored),
        lambda later, reason: _failed(later, event, instance_id, reason, failed),
        lambda later: _succeeded(later, event, instance_id),
    )


def _arrived(instance: Instance, name: str) -> Instance:
    """``instance`` in the state ``name``, and no longer on the way."""
    settled = {key: value for key, value in instance.items() if key != "_OnTheWay"}
    return {**settled, "State": state(name)}


def change(instance: Instance, event: str) -> dict[str, Any]:
    """The InstanceStateChange that the call which begins an event answers with."""
    return {
        "InstanceId": instance["InstanceId"],
        "PreviousState": instance["State"],
        "CurrentState": state(CHANGES[event][0]),
    }


def unchanged(instance: Instance) -> dict[str, Any]:
    return {
        "InstanceId": instance["InstanceId"],
        "PreviousState": instance["State"],
        "CurrentState": instance["State"],
    }


def wrong_state(instance: Instance, verb: str) -> ApiError:
    return ApiError(
        "IncorrectInstanceState",
        f"The instance '{instance['InstanceId']}' is '{instance['State']['Name']}': "
        f"not in a state from which it can be {verb}.",
    )


def user_initiated(call: Call) -> dict[str, Any]:
    """Why an instance was stopped or terminated, when somebody asked for it."""
    return {
        "StateTransitionReason": f"User initiated ({call.now:%Y-%m-%d %H:%M:%S} GMT)",
        "StateReason": {
            "Code": "Client.UserInitiatedShutdown",
            "Message": "Client.UserInitiatedShutdown: User initiated shutdown",
        },
    }


def internal_error(message: str) -> dict[str, Any]:
    """Why an instance is where it is, when what stands behind it failed."""
    return {
        "StateTransitionReason": "Server.InternalError",
        "StateReason": {"Code": "Server.InternalError", "Message": f"Server.InternalError: {message}"},
    }


def for_hook(instance: Instance) -> Instance:
    """What a hook's command reads: the instance as DescribeInstances shows it, and its user data in base64."""
    shown = {key: value for key, value in instance.items() if not key.startswith("_")}
    return {**shown, "UserData": instance.get("_UserData", ""), "OwnerId": instance["_OwnerId"]}


def _succeeded(call: Call, event: str, instance_id: str) -> None:
    instance = call.cloud.get("instance", instance_id)
    on_the_way, done, _ = CHANGES[event]
    # It may have been terminated while its launch hook was still running: then that counts.
    if instance is not None and instance["State"]["Name"] == on_the_way:
        call.cloud.put("instance", instance_id, _arrived(instance, done))


def _failed(
    call: Call, event: str, instance_id: str, reason: str, clean_up: Callable[[Call, Instance], None] | None
) -> None:
    instance = call.cloud.get("instance", instance_id)
    on_the_way, _, end = CHANGES[event]
    if instance is None or instance["State"]["Name"] != on_the_way:
        return
    if clean_up is not None:
        clean_up(call, instance)
        instance = call.cloud.get("instance", instance_id) or instance
    ended = {**_arrived(instance, end), **internal_error(f"the {event} hook failed: {reason}")}
    call.cloud.put("instance", instance_id, ended)
