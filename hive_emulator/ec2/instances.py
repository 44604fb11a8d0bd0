"""Instances after their launch: describe, start, stop, reboot, terminate."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from functools import partial
from typing import Any

from hive_emulator import hooks
from hive_emulator.action import Call, action
from hive_emulator.ec2 import capacity, filters, ids, instance_network, paging, volume_attachments
from hive_emulator.ec2.instance_filters import FILTERS
from hive_emulator.ec2.instance_states import (
    begin,
    change,
    for_hook,
    internal_error,
    unchanged,
    user_initiated,
    wrong_state,
)
from hive_emulator.errors import ApiError

TERMINATED_STAYS = timedelta(hours=1)  # visible after its termination
_GONE_WITH_IT = (
    "PrivateIpAddress",
    "PublicIpAddress",
    "Ipv6Address",
    "SubnetId",
    "VpcId",
    "SourceDestCheck",
    "IamInstanceProfile",
)


@action("DescribeInstances")
def describe_instances(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    paging.refuse_with_ids(params, "InstanceIds")
    found = filters.apply(visible(call, params.get("InstanceIds")), params.get("Filters"), FILTERS)
    answer = paging.page("Reservations", found, params, "InstanceId")
    return {**answer, "Reservations": _reservations(answer["Reservations"])}


def _reservations(instances: list[dict[str, Any]]) -> list[dict[str, Any]]:
    grouped: dict[str, dict[str, Any]] = {}
    for instance in instances:
        reservation = grouped.get(instance["_ReservationId"])
        if reservation is None:
            reservation = grouped[instance["_ReservationId"]] = {
                "ReservationId": instance["_ReservationId"],
                "OwnerId": instance["_OwnerId"],
                "Groups": [],
                "Instances": [],
            }
        reservation["Instances"].append(instance)
    return list(grouped.values())


def visible(call: Call, wanted: list[str] | None = None) -> list[dict[str, Any]]:
    """The instances with these ids, or all: those terminated long ago are gone."""
    if wanted:
        return ids.each(wanted, lambda one: find(call, one))
    return [one for one in call.cloud.all("instance") if not _expired(call, one)]


def find(call: Call, instance_id: str) -> dict[str, Any]:
    """The instance with this id, or AWS's error."""
    instance = ids.find(call, "instance", instance_id)
    if _expired(call, instance):
        raise ids.not_found("instance", instance_id)
    return instance


def named(call: Call, params: dict[str, Any]) -> list[dict[str, Any]]:
    """The instances that a call must name."""
    if not params.get("InstanceIds"):
        raise ApiError("InvalidParameterCombination", "No instances specified")
    return visible(call, params["InstanceIds"])


def _expired(call: Call, instance: dict[str, Any]) -> bool:
    ended = instance.get("_TerminatedAt")
    if ended is None:
        return False
    when = datetime.strptime(ended, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=timezone.utc)
    return call.now - when > TERMINATED_STAYS


@action("StartInstances")
def start_instances(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    changes = []
    for instance in named(call, params):
        name = instance["State"]["Name"]
        if name in ("running", "pending"):
            changes.append(unchanged(instance))
        elif name == "stopped":
            changes.append(change(instance, "start"))
            _start(call, instance)
        else:
            raise wrong_state(instance, "started")
    return {"StartingInstances": changes}


def _start(call: Call, instance: dict[str, Any]) -> None:
    root = instance["RootDeviceName"]
    if not any(mapping["DeviceName"] == root for mapping in instance["BlockDeviceMappings"]):
        raise ApiError(
            "InvalidParameterValue",
            f"Invalid value '{instance['InstanceId']}' for instanceId. "
            f"Instance does not have a volume attached at root ({root})",
        )
    capacity.room_for(call, instance["InstanceType"], 1, 1, instance["Placement"]["AvailabilityZone"])
    instance_network.started(call, instance["InstanceId"])
    awake = {key: value for key, value in find(call, instance["InstanceId"]).items() if key != "StateReason"}
    begin(call, "start", {**awake, "LaunchTime": call.timestamp(), "StateTransitionReason": ""})


@action("StopInstances")
def stop_instances(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    changes = []
    for instance in named(call, params):
        name = instance["State"]["Name"]
        if name in ("stopped", "stopping"):
            changes.append(unchanged(instance))
        elif name == "running":
            changes.append(change(instance, "stop"))
            _stop(call, instance, params)
        else:
            raise wrong_state(instance, "stopped")
    return {"StoppingInstances": changes}


def _stop(call: Call, instance: dict[str, Any], params: dict[str, Any]) -> None:
    if instance["RootDeviceType"] != "ebs":
        raise ApiError(
            "UnsupportedOperation",
            f"The instance '{instance['InstanceId']}' does not have an 'ebs' root device type and cannot be stopped",
        )
    if instance["_DisableApiStop"]:
        raise _protected(instance, "stopped", "disableApiStop")
    if params.get("Hibernate") and not instance["HibernationOptions"]["Configured"]:
        raise ApiError(
            "UnsupportedHibernationConfiguration",
            f"The instance '{instance['InstanceId']}' is not configured for hibernation.",
        )
    instance_network.stopped(call, instance["InstanceId"])
    begin(call, "stop", {**find(call, instance["InstanceId"]), **user_initiated(call)})


@action("RebootInstances")
def reboot_instances(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    for instance in named(call, params):
        if instance["State"]["Name"] not in ("running", "pending"):
            raise wrong_state(instance, "rebooted")
        hooks.fire(call, "reboot", for_hook(instance), partial(_reboot_failed, instance["InstanceId"]))
    return {}


def _reboot_failed(instance_id: str, call: Call, reason: str) -> None:
    instance = call.cloud.get("instance", instance_id)
    if instance is not None:
        call.cloud.put("instance", instance_id, {**instance, **internal_error(f"the reboot hook failed: {reason}")})


@action("TerminateInstances")
def terminate_instances(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    changes = []
    for instance in named(call, params):
        if instance["State"]["Name"] in ("terminated", "shutting-down"):
            changes.append(unchanged(instance))
            continue
        if instance["_DisableApiTermination"]:
            raise _protected(instance, "terminated", "disableApiTermination")
        changes.append(change(instance, "terminate"))
        release(call, instance)
        begin(call, "terminate", {**find(call, instance["InstanceId"]), **user_initiated(call)})
    _forget_expired(call)
    return {"TerminatingInstances": changes}


def release(call: Call, instance: dict[str, Any]) -> None:
    """Lets go of all that an instance holds: disks and interfaces that go with it are deleted, the others freed."""
    instance_id = instance["InstanceId"]
    for volume in call.cloud.by("volume", "InstanceId", instance_id):
        attachment = next(one for one in volume["Attachments"] if one["InstanceId"] == instance_id)
        if attachment["DeleteOnTermination"] and len(volume["Attachments"]) == 1:
            call.cloud.delete("volume", volume["VolumeId"])
        else:
            volume_attachments.release(call, volume, instance_id)
    instance_network.terminated(call, instance_id)
    bare = {key: value for key, value in find(call, instance_id).items() if key not in _GONE_WITH_IT}
    bare |= {"PrivateDnsName": "", "PublicDnsName": "", "BlockDeviceMappings": [], "NetworkInterfaces": []}
    call.cloud.put("instance", instance_id, {**bare, "SecurityGroups": [], "_TerminatedAt": call.timestamp()})


def _forget_expired(call: Call) -> None:
    for instance in call.cloud.by("instance", "Terminated", True):
        if _expired(call, instance):
            call.cloud.delete("instance", instance["InstanceId"])


def _protected(instance: dict[str, Any], verb: str, attribute: str) -> ApiError:
    return ApiError(
        "OperationNotPermitted",
        f"The instance '{instance['InstanceId']}' may not be {verb}. "
        f"Modify its '{attribute}' instance attribute and try again.",
    )
