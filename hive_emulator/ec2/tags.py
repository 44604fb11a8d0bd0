"""Tags afterwards: create, delete and describe them on resources of every kind."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hive_emulator.action import Call, action
from hive_emulator.ec2 import filters, ids, instance_view, paging, tagging
from hive_emulator.errors import ApiError

MAX_RESOURCES = 1000

_KINDS = {kind.prefix: name for name, kind in ids.KINDS.items()}

FILTERS = filters.table(
    "DescribeTags",
    {"key": "Key", "resource-id": "ResourceId", "resource-type": "ResourceType", "value": "Value"},
)


@action("CreateTags")
def create_tags(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    resources = _resources(params)
    if "Tags" not in params:
        raise ApiError("MissingParameter", "The request must contain the parameter Tag")
    new = tagging.checked(params["Tags"])
    for resource in resources:
        kind, record = _find(call, resource)
        _keep(call, kind, resource, {**record, "Tags": tagging.merged(record.get("Tags", []), new)})
    return {}


@action("DeleteTags")
def delete_tags(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """Removes tags by key, or by key and value; all of them when none is named."""
    for resource in _resources(params):
        kind, record = _find(call, resource)
        kept = [tag for tag in record.get("Tags", ()) if not _named(tag, params.get("Tags"))]
        _keep(call, kind, resource, {**record, "Tags": kept})
    return {}


def _keep(call: Call, kind: str, resource: str, record: dict[str, Any]) -> None:
    if kind == "network-interface":  # instances can be found by the tags of their interfaces
        instance_view.keep(call, record)
    else:
        call.cloud.put(kind, resource, record)


def _named(tag: dict[str, str], wanted: list[dict[str, str]] | None) -> bool:
    if wanted is None:
        return True
    return any(each.get("Key") == tag["Key"] and each.get("Value", tag["Value"]) == tag["Value"] for each in wanted)


def _resources(params: dict[str, Any]) -> list[str]:
    resources = list(dict.fromkeys(params.get("Resources", ())))
    if not resources:
        raise ApiError("MissingParameter", "The request must contain the parameter ResourceId")
    if len(resources) > MAX_RESOURCES:
        raise ApiError(
            "InvalidParameterValue", f"At most {MAX_RESOURCES} resources at a time, found {len(resources)}"
        )
    return resources


def _find(call: Call, resource: str) -> tuple[str, dict[str, Any]]:
    kind = _KINDS.get(resource.rpartition("-")[0])
    if kind is None or not ids.is_well_formed(kind, resource):
        raise ApiError("InvalidID", f"The ID '{resource}' is not valid")
    return kind, ids.find(call, kind, resource)


@action("DescribeTags")
def describe_tags(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    rows = [row for kind, resource, record in _tagged(call, params) for row in _rows(kind, resource, record)]
    chosen = filters.apply(rows, params.get("Filters"), FILTERS)
    return paging.page("Tags", chosen, params, "_id")


def _rows(kind: str, resource: str, record: dict[str, Any]) -> Iterable[dict[str, Any]]:
    for tag in record.get("Tags", ()):
        # "Tags" is there for the filter tag:KEY, which here means this one tag.
        own = {"Tags": [tag], "_id": f"{resource} {tag['Key']}"}
        yield {**tag, "ResourceId": resource, "ResourceType": kind, **own}


def _tagged(call: Call, params: dict[str, Any]) -> Iterable[tuple[str, str, dict[str, Any]]]:
    """Resources that may have tags: all, or only those that a plain ``resource-id`` filter names."""
    wanted = _plain_resource_ids(params.get("Filters", ()))
    if wanted is None:
        for kind in ids.KINDS:
            for record in call.cloud.all(kind):
                yield kind, record[_ID_MEMBERS[kind]], record
        return
    for resource in wanted:
        kind = _KINDS.get(resource.rpartition("-")[0], "")
        record_or_none = call.cloud.get(kind, resource) if kind else None
        if record_or_none is not None:
            yield kind, resource, record_or_none


def _plain_resource_ids(wanted: Iterable[dict[str, Any]]) -> list[str] | None:
    for each in wanted:
        values = each.get("Values", [])
        if each.get("Name") == "resource-id" and values and not any(mark in v for v in values for mark in "*?\\"):
            return list(dict.fromkeys(values))
    return None


_ID_MEMBERS = {
    "vpc": "VpcId",
    "subnet": "SubnetId",
    "security-group": "GroupId",
    "security-group-rule": "SecurityGroupRuleId",
    "internet-gateway": "InternetGatewayId",
    "egress-only-internet-gateway": "EgressOnlyInternetGatewayId",
    "route-table": "RouteTableId",
    "network-interface": "NetworkInterfaceId",
    "network-acl": "NetworkAclId",
    "elastic-ip": "AllocationId",
    "natgateway": "NatGatewayId",
    "dhcp-options": "DhcpOptionsId",
    "instance": "InstanceId",
    "volume": "VolumeId",
    "snapshot": "SnapshotId",
    "image": "ImageId",
    "key-pair": "KeyPairId",
    "placement-group": "GroupId",
    "prefix-list": "PrefixListId",
    "vpc-endpoint": "VpcEndpointId",
    "vpc-endpoint-service": "ServiceId",
    "vpc-peering-connection": "VpcPeeringConnectionId",
    "vpn-gateway": "VpnGatewayId",
    "customer-gateway": "CustomerGatewayId",
    "vpc-flow-log": "FlowLogId",
    "transit-gateway": "TransitGatewayId",
    "transit-gateway-attachment": "TransitGatewayAttachmentId",
    "transit-gateway-route-table": "TransitGatewayRouteTableId",
}
