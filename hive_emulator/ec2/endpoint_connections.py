"""Who may connect to a user's endpoint service, who has asked to, and who is told about it."""

from __future__ import annotations

import re
from typing import Any

from hive_emulator.action import Call, action
from hive_emulator.ec2 import endpoint_services, filters, ids, paging, parameters
from hive_emulator.errors import ApiError

NOTIFICATION = "vpc-endpoint-notification"
_EVENTS = ("Accept", "Connect", "Delete", "Reject")

PERMISSION_FILTERS = filters.table(
    "DescribeVpcEndpointServicePermissions", {"principal": "Principal", "principal-type": "PrincipalType"}
)
FILTERS = filters.table(
    "DescribeVpcEndpointConnections",
    {
        "ip-address-type": "IpAddressType",
        "service-id": "ServiceId",
        "vpc-endpoint-id": "VpcEndpointId",
        "vpc-endpoint-owner": "VpcEndpointOwner",
        "vpc-endpoint-region": "VpcEndpointRegion",
        "vpc-endpoint-state": "VpcEndpointState",
    },
)
NOTIFICATION_FILTERS = filters.table(
    "DescribeVpcEndpointConnectionNotifications",
    {
        "connection-notification-arn": "ConnectionNotificationArn",
        "connection-notification-id": "ConnectionNotificationId",
        "connection-notification-state": "ConnectionNotificationState",
        "connection-notification-type": "ConnectionNotificationType",
        "service-id": "ServiceId",
        "vpc-endpoint-id": "VpcEndpointId",
    },
)


@action("ModifyVpcEndpointServicePermissions")
def modify_vpc_endpoint_service_permissions(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    service = ids.find(call, endpoint_services.KIND, params["ServiceId"])
    removed = params.get("RemoveAllowedPrincipals", ())
    kept = [each for each in service["_Principals"] if each["Principal"] not in removed]
    known = {each["Principal"] for each in kept}
    added = [_principal(service, each) for each in params.get("AddAllowedPrincipals", ()) if each not in known]
    call.cloud.put(endpoint_services.KIND, service["ServiceId"], {**service, "_Principals": [*kept, *added]})
    return {"ReturnValue": True, "AddedPrincipals": added}


def _principal(service: dict[str, Any], text: str) -> dict[str, str]:
    match = re.fullmatch(r"arn:[a-z-]+:iam::\d{12}:(root|user/.+|role/.+)", text)
    if text != "*" and not match:
        raise parameters.invalid(text, "principal", "*, or the ARN of an account, a user or a role")
    kind = "All" if text == "*" or match is None else {"r": "Account", "u": "User"}[match[1][0]]
    kind = "Role" if match and match[1].startswith("role/") else kind
    permission = ids.new("vpce-svc-perm")
    return {
        "PrincipalType": kind,
        "Principal": text,
        "ServicePermissionId": permission,
        "ServiceId": service["ServiceId"],
    }


@action("DescribeVpcEndpointServicePermissions")
def describe_vpc_endpoint_service_permissions(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    service = ids.find(call, endpoint_services.KIND, params["ServiceId"])
    chosen = filters.apply(service["_Principals"], params.get("Filters"), PERMISSION_FILTERS)
    return paging.page("AllowedPrincipals", chosen, params, "Principal")


@action("DescribeVpcEndpointConnections")
def describe_vpc_endpoint_connections(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    services = call.cloud.all(endpoint_services.KIND)
    rows = [
        _row(call, service, endpoint)
        for service in services
        for _, endpoint in endpoint_services.connected(call, service)
    ]
    return paging.page(
        "VpcEndpointConnections", filters.apply(rows, params.get("Filters"), FILTERS), params, "VpcEndpointId"
    )


def _row(call: Call, service: dict[str, Any], endpoint: dict[str, Any]) -> dict[str, Any]:
    return {
        "ServiceId": service["ServiceId"],
        "VpcEndpointId": endpoint["VpcEndpointId"],
        "VpcEndpointConnectionId": endpoint["VpcEndpointId"].replace("vpce-", "vpce-con-"),
        "VpcEndpointOwner": endpoint["OwnerId"],
        "VpcEndpointRegion": call.region,
        "VpcEndpointState": endpoint["State"],
        "CreationTimestamp": endpoint["CreationTimestamp"],
        "DnsEntries": endpoint["DnsEntries"],
        "IpAddressType": endpoint["IpAddressType"],
        "NetworkLoadBalancerArns": service["NetworkLoadBalancerArns"],
        "GatewayLoadBalancerArns": service["GatewayLoadBalancerArns"],
        "Tags": [],
    }


@action("AcceptVpcEndpointConnections")
def accept_vpc_endpoint_connections(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    return _decide(call, params, "available")


@action("RejectVpcEndpointConnections")
def reject_vpc_endpoint_connections(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    return _decide(call, params, "rejected")


def _decide(call: Call, params: dict[str, Any], state: str) -> dict[str, Any]:
    service = ids.find(call, endpoint_services.KIND, params["ServiceId"])
    asked = {each["VpcEndpointId"]: (cloud, each) for cloud, each in endpoint_services.connected(call, service)}
    failed = []
    for endpoint_id in params["VpcEndpointIds"]:
        if endpoint_id not in asked:
            error = ids.not_found("vpc-endpoint", endpoint_id)
            failed.append({"ResourceId": endpoint_id, "Error": {"Code": error.code, "Message": error.message}})
            continue
        cloud, endpoint = asked[endpoint_id]
        cloud.put("vpc-endpoint", endpoint_id, {**endpoint, "State": state})
    return {"Unsuccessful": failed}


@action("CreateVpcEndpointConnectionNotification")
def create_vpc_endpoint_connection_notification(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """Nobody is notified: the topic would be another service's."""
    if ("ServiceId" in params) == ("VpcEndpointId" in params):
        raise parameters.combination("Specify either ServiceId or VpcEndpointId")
    if "ServiceId" in params:
        about = {"ServiceId": ids.find(call, endpoint_services.KIND, params["ServiceId"])["ServiceId"]}
    else:
        about = {"VpcEndpointId": ids.find(call, "vpc-endpoint", params["VpcEndpointId"])["VpcEndpointId"]}
    note_id = ids.new("vpce-nfn")
    record = {
        "ConnectionNotificationId": note_id,
        **about,
        "ConnectionNotificationType": "Topic",
        "ConnectionNotificationState": "Enabled",
        "ConnectionNotificationArn": _topic(params["ConnectionNotificationArn"]),
        "ConnectionEvents": _events(params["ConnectionEvents"]),
    }
    answer = {"ConnectionNotification": call.cloud.put(NOTIFICATION, note_id, record)}
    return {**answer, "ClientToken": params["ClientToken"]} if "ClientToken" in params else answer


def _topic(arn: str) -> str:
    if not re.fullmatch(r"arn:[a-z-]+:sns:[a-z0-9-]+:\d{12}:[A-Za-z0-9_.-]+", arn):
        raise parameters.invalid(arn, "ConnectionNotificationArn", "the ARN of an SNS topic")
    return arn


def _events(given: list[str]) -> list[str]:
    for each in given:
        if each not in _EVENTS:
            raise parameters.invalid(each, "ConnectionEvents", ", ".join(_EVENTS))
    return given


def _notification(call: Call, wanted: str) -> dict[str, Any]:
    record = call.cloud.get(NOTIFICATION, wanted)
    if record is None:
        raise ApiError("InvalidConnectionNotification", f"The connection notification '{wanted}' does not exist")
    return record


@action("DescribeVpcEndpointConnectionNotifications")
def describe_vpc_endpoint_connection_notifications(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    wanted = params.get("ConnectionNotificationId")
    found = [_notification(call, wanted)] if wanted else call.cloud.all(NOTIFICATION)
    chosen = filters.apply(found, params.get("Filters"), NOTIFICATION_FILTERS)
    return paging.page("ConnectionNotificationSet", chosen, params, "ConnectionNotificationId")


@action("ModifyVpcEndpointConnectionNotification")
def modify_vpc_endpoint_connection_notification(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    record = _notification(call, params["ConnectionNotificationId"])
    changed = dict(record)
    if "ConnectionNotificationArn" in params:
        changed["ConnectionNotificationArn"] = _topic(params["ConnectionNotificationArn"])
    if "ConnectionEvents" in params:
        changed["ConnectionEvents"] = _events(params["ConnectionEvents"])
    call.cloud.put(NOTIFICATION, record["ConnectionNotificationId"], changed)
    return {"ReturnValue": True}


@action("DeleteVpcEndpointConnectionNotifications")
def delete_vpc_endpoint_connection_notifications(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    failed = []
    for note_id in params["ConnectionNotificationIds"]:
        try:
            call.cloud.delete(NOTIFICATION, _notification(call, note_id)["ConnectionNotificationId"])
        except ApiError as error:
            failed.append({"ResourceId": note_id, "Error": {"Code": error.code, "Message": error.message}})
    return {"Unsuccessful": failed}
