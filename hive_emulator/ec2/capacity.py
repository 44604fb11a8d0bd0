"""How many instances there is room for: capacity by type, and the account's quotas. Both come from CloudConfig.

Only instances that run (or are about to) take room: a stopped one has to find room again when it starts.

| quota          | counts                                             | error                 |
|----------------|----------------------------------------------------|-----------------------|
| instances      | instances                                          | InstanceLimitExceeded |
| vcpus          | vCPUs of all types                                 | VcpuLimitExceeded     |
| vcpus-standard | vCPUs of the A, C, D, H, I, M, R, T and Z families | VcpuLimitExceeded     |
| vcpus-g        | vCPUs of the G families                            | VcpuLimitExceeded     |
"""

from __future__ import annotations

from typing import Any

from hive_emulator.action import Call
from hive_emulator.ec2 import catalog
from hive_emulator.errors import ApiError

_TAKES_ROOM = ("pending", "running", "stopping", "shutting-down")


def room_for(call: Call, instance_type: str, least: int, most: int, zone: str) -> int:
    """How many of ``most`` can be launched; AWS's error when that is fewer than ``least``."""
    count = most
    limit = call.config.capacity.get(instance_type)
    if limit is not None:
        taken = sum(map(_takes_room, call.cloud.by("instance", "InstanceType", instance_type)))
        count = min(most, max(0, limit - taken))
        if count < least:
            raise ApiError(
                "InsufficientInstanceCapacity",
                f"We currently do not have sufficient {instance_type} capacity in the Availability Zone you "
                f"requested ({zone}). Our system will be working on provisioning additional capacity.",
            )
    return _within_quotas(call, instance_type, least, count)


def _within_quotas(call: Call, instance_type: str, least: int, most: int) -> int:
    quotas = call.config.quotas
    bucket = f"vcpus-{catalog.quota(instance_type)}"
    if not {"instances", "vcpus", bucket} & quotas.keys():
        return most
    running = [one for one in call.cloud.all("instance") if _takes_room(one)]
    count = most
    if "instances" in quotas:
        count = min(count, quotas["instances"] - len(running))
        if count < least:
            raise _too_many_instances(len(running) + least, quotas["instances"])
    for name in ("vcpus", bucket):
        if name in quotas:
            used = sum(_vcpus(one) for one in running if name in ("vcpus", f"vcpus-{_bucket(one)}"))
            count = min(count, (quotas[name] - used) // catalog.vcpus(instance_type))
            if count < least:
                raise _too_many_vcpus(quotas[name])
    return count


def _takes_room(instance: dict[str, Any]) -> bool:
    return instance["State"]["Name"] in _TAKES_ROOM


def _vcpus(instance: dict[str, Any]) -> int:
    options = instance["CpuOptions"]
    return options["CoreCount"] * options["ThreadsPerCore"]


def _bucket(instance: dict[str, Any]) -> str:
    return catalog.quota(instance["InstanceType"])


def _too_many_instances(wanted: int, limit: int) -> ApiError:
    return ApiError(
        "InstanceLimitExceeded",
        f"You have requested more instances ({wanted}) than your current instance limit of {limit} allows.",
    )


def _too_many_vcpus(limit: int) -> ApiError:
    return ApiError(
        "VcpuLimitExceeded",
        f"You have requested more vCPU capacity than your current vCPU limit of {limit} allows for the "
        "instance bucket that the specified instance type belongs to.",
    )
