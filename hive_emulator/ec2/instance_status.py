"""DescribeInstanceStatus: the checks that AWS makes on a running instance. Here they pass."""

from __future__ import annotations

from typing import Any

from hive_emulator.action import Call, action
from hive_emulator.ec2 import filters, instances, paging

FILTERS = filters.table(
    "DescribeInstanceStatus",
    {
        "application-status.status": "ApplicationStatus.Status",
        "attached-ebs-status.status": "AttachedEbsStatus.Status",
        "availability-zone": "AvailabilityZone",
        "availability-zone-id": "AvailabilityZoneId",
        "event.code": "Events.Code",
        "event.description": "Events.Description",
        "event.instance-event-id": "Events.InstanceEventId",
        "event.not-after": "Events.NotAfter",
        "event.not-before": "Events.NotBefore",
        "event.not-before-deadline": "Events.NotBeforeDeadline",
        "instance-state-code": "InstanceState.Code",
        "instance-state-name": "InstanceState.Name",
        "instance-status.reachability": "InstanceStatus.Details.Status",
        "instance-status.status": "InstanceStatus.Status",
        "operator.managed": lambda status: False,
        "operator.principal": lambda status: None,
        "system-status.reachability": "SystemStatus.Details.Status",
        "system-status.status": "SystemStatus.Status",
    },
)


@action("DescribeInstanceStatus")
def describe_instance_status(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    paging.refuse_with_ids(params, "InstanceIds")
    found = instances.visible(call, params.get("InstanceIds"))
    if not params.get("IncludeAllInstances"):
        found = [one for one in found if one["State"]["Name"] == "running"]
    statuses = filters.apply([_status(one) for one in found], params.get("Filters"), FILTERS)
    return paging.page("InstanceStatuses", statuses, params, "InstanceId")


def _status(instance: dict[str, Any]) -> dict[str, Any]:
    running = instance["State"]["Name"] == "running"
    check: dict[str, Any] = {"Status": "ok" if running else "not-applicable"}
    if running:
        check["Details"] = [{"Name": "reachability", "Status": "passed"}]
    return {
        "InstanceId": instance["InstanceId"],
        "AvailabilityZone": instance["Placement"]["AvailabilityZone"],
        "AvailabilityZoneId": instance["Placement"]["AvailabilityZoneId"],
        "InstanceState": instance["State"],
        "InstanceStatus": check,
        "SystemStatus": check,
        "AttachedEbsStatus": check,
        "Events": [],
    }
