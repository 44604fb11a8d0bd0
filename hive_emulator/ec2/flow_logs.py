"""Flow logs of VPCs, subnets, interfaces and transit gateways. They are kept and answered; nothing is logged.

Buckets, log groups, streams and roles are other services': any well-formed ARN will do.
"""

from __future__ import annotations

import re
from typing import Any

from hive_emulator.action import Call, action
from hive_emulator.ec2 import filters, ids, paging, parameters, partitions, tagging
from hive_emulator.errors import ApiError

KIND = "vpc-flow-log"
FORMAT = (
    "${version} ${account-id} ${interface-id} ${srcaddr} ${dstaddr} ${srcport} ${dstport} ${protocol} ${packets} "
    "${bytes} ${start} ${end} ${action} ${log-status}"
)
_RESOURCES = {
    "VPC": "vpc",
    "Subnet": "subnet",
    "NetworkInterface": "network-interface",
    "TransitGateway": "transit-gateway",
    "TransitGatewayAttachment": "transit-gateway-attachment",
}
_DESTINATIONS = {
    "s3": r"arn:[a-z-]+:s3:::[a-z0-9][a-z0-9.-]+(/.*)?",
    "cloud-watch-logs": r"arn:[a-z-]+:logs:[a-z0-9-]+:\d{12}:log-group:[^:]+(:\*)?",
    "kinesis-data-firehose": r"arn:[a-z-]+:firehose:[a-z0-9-]+:\d{12}:deliverystream/.+",
}
_ROLE = r"arn:[a-z-]+:iam::\d{12}:role/.+"

FILTERS = filters.table(
    "DescribeFlowLogs",
    {
        "deliver-log-status": "DeliverLogsStatus",
        "flow-log-id": "FlowLogId",
        "log-destination-type": "LogDestinationType",
        "log-group-name": "LogGroupName",
        "resource-id": "ResourceId",
        "traffic-type": "TrafficType",
    },
)


@action("CreateFlowLogs")
def create_flow_logs(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    kind = _RESOURCES.get(params["ResourceType"])
    if kind is None:
        raise parameters.invalid(params["ResourceType"], "resourceType", ", ".join(_RESOURCES))
    shared = {**_destination(call, params), **_form(params, kind)}
    tags, made, failed = tagging.on_create(params, KIND), [], []
    for resource in params["ResourceIds"]:
        try:
            ids.find(call, kind, resource)
            made.append(_create(call, {"ResourceId": resource, **shared}, tags))
        except ApiError as error:
            failed.append({"ResourceId": resource, "Error": {"Code": error.code, "Message": error.message}})
    answer = {"FlowLogIds": made, "Unsuccessful": failed}
    return {**answer, "ClientToken": params["ClientToken"]} if "ClientToken" in params else answer


def _create(call: Call, wanted: dict[str, Any], tags: tagging.Tags) -> str:
    same = ("LogDestination", "LogDestinationType", "TrafficType", "LogFormat")
    for other in call.cloud.by(KIND, "ResourceId", wanted["ResourceId"]):
        if all(other.get(member) == wanted.get(member) for member in same):
            raise ApiError(
                "FlowLogAlreadyExists",
                "Error. There is an existing Flow Log with the same configuration and log destination.",
            )
    log_id = ids.new("fl")
    state = {"FlowLogStatus": "ACTIVE", "DeliverLogsStatus": "SUCCESS", "CreationTime": call.timestamp()}
    call.cloud.put(KIND, log_id, {"FlowLogId": log_id, **wanted, **state, "Tags": tags})
    return log_id


def _destination(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """Where the logs would go to, checked by its form."""
    kind = params.get("LogDestinationType", "cloud-watch-logs")
    where, group, role = (
        params.get("LogDestination"),
        params.get("LogGroupName"),
        params.get("DeliverLogsPermissionArn"),
    )
    if where and group:
        raise ApiError("InvalidParameter", "Please only provide LogGroupName or only provide LogDestination.")
    if kind == "cloud-watch-logs":
        if not role:
            raise ApiError(
                "InvalidParameter",
                "DeliverLogsPermissionArn can't be empty if LogDestinationType is cloud-watch-logs.",
            )
        if group:
            where = partitions.arn(call, f"log-group:{group}", service="logs")
    elif role and kind == "s3":
        raise ApiError("InvalidParameter", f"DeliverLogsPermissionArn can't be given with LogDestinationType {kind}.")
    if not where:
        raise ApiError("InvalidParameter", "LogDestination can't be empty.")
    _check(where, _DESTINATIONS[kind], "LogDestination")
    found = {"LogDestinationType": kind, "LogDestination": where}
    if kind == "cloud-watch-logs":
        found["LogGroupName"] = where.split(":log-group:")[1].removesuffix(":*")
    if role:
        _check(role, _ROLE, "DeliverLogsPermissionArn")
        found["DeliverLogsPermissionArn"] = role
    return found


def _check(arn: str, form: str, parameter: str) -> None:
    if not re.fullmatch(form, arn):
        raise ApiError("InvalidParameter", f"{parameter}: '{arn}' is not an ARN of the right form")


def _form(params: dict[str, Any], kind: str) -> dict[str, Any]:
    gateway = kind.startswith("transit-gateway")
    interval = params.get("MaxAggregationInterval", 60 if gateway else 600)
    if interval not in (60, 600):
        raise parameters.invalid(interval, "MaxAggregationInterval", "60 or 600")
    if "TrafficType" not in params and not gateway:
        raise parameters.missing("TrafficType")
    found = {"LogFormat": params.get("LogFormat", FORMAT), "MaxAggregationInterval": interval}
    return found | {name: params[name] for name in ("TrafficType", "DestinationOptions") if name in params}


@action("DescribeFlowLogs")
def describe_flow_logs(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """AWS leaves ids that it doesn't know out of the answer here, and the providers count on it."""
    known = [call.cloud.get(KIND, each) for each in dict.fromkeys(params.get("FlowLogIds", ()))]
    found = [each for each in known if each] if params.get("FlowLogIds") else call.cloud.all(KIND)
    chosen = filters.apply(found, params.get("Filter"), FILTERS)
    return paging.page("FlowLogs", chosen, params, "FlowLogId", lowest=1)


@action("DeleteFlowLogs")
def delete_flow_logs(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    failed = []
    for log_id in params["FlowLogIds"]:
        if call.cloud.get(KIND, log_id) is None:
            error = ids.not_found(KIND, log_id)
            failed.append({"ResourceId": log_id, "Error": {"Code": error.code, "Message": error.message}})
        else:
            call.cloud.delete(KIND, log_id)
    return {"Unsuccessful": failed}


def forget(call: Call, resource_id: str) -> None:
    """Ends the flow logs of a resource that goes away."""
    for log in call.cloud.by(KIND, "ResourceId", resource_id):
        call.cloud.delete(KIND, log["FlowLogId"])
