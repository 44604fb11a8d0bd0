"""ModifyVpcEndpoint: other route tables, subnets, groups, names and another policy for an endpoint."""

from __future__ import annotations

from typing import Any

from hive_emulator.action import Call, action
from hive_emulator.ec2 import ids, network_interfaces, vpc_endpoints
from hive_emulator.errors import ApiError

Endpoint = dict[str, Any]

_OF_KIND = {
    "Gateway": ("AddRouteTableIds", "RemoveRouteTableIds"),
    "Interface": ("AddSubnetIds", "RemoveSubnetIds", "AddSecurityGroupIds", "RemoveSecurityGroupIds"),
    "GatewayLoadBalancer": ("AddSubnetIds", "RemoveSubnetIds"),
}


@action("ModifyVpcEndpoint")
def modify_vpc_endpoint(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    endpoint = ids.find(call, vpc_endpoints.KIND, params["VpcEndpointId"])
    kind = endpoint["VpcEndpointType"]
    for member in {name for names in _OF_KIND.values() for name in names} - set(_OF_KIND[kind]):
        if params.get(member):
            raise ApiError("InvalidParameter", f"{member} can't be given for an endpoint of the type {kind}.")
    changed = _with_policy(endpoint, params)
    if kind == "Gateway":
        lists = (params.get(member, ()) for member in _OF_KIND[kind])
        changed = vpc_endpoints.with_routes(call, changed, *lists)
    else:
        changed = _with_interfaces(call, changed, params)
    call.cloud.put(vpc_endpoints.KIND, endpoint["VpcEndpointId"], changed)
    return {"Return": True}


def _with_policy(endpoint: Endpoint, params: dict[str, Any]) -> Endpoint:
    wanted = vpc_endpoints.EVERYTHING if params.get("ResetPolicy") else params.get("PolicyDocument")
    if wanted is None:
        return endpoint
    if "PolicyDocument" not in endpoint:
        raise ApiError(
            "InvalidParameter", f"Endpoint policies are not supported by the service {endpoint['ServiceName']}."
        )
    return {**endpoint, "PolicyDocument": vpc_endpoints.checked_policy(wanted)}


def _with_interfaces(call: Call, endpoint: Endpoint, params: dict[str, Any]) -> Endpoint:
    service = vpc_endpoints.service_of(call, endpoint)
    changed = _with_groups(call, endpoint, params)
    changed = vpc_endpoints.with_interfaces(
        call, changed, params.get("AddSubnetIds", ()), params.get("RemoveSubnetIds", ())
    )
    if "PrivateDnsEnabled" in params:
        vpc = ids.find(call, "vpc", endpoint["VpcId"])
        changed["PrivateDnsEnabled"] = vpc_endpoints.private_dns(vpc, service, params["PrivateDnsEnabled"])
    if "IpAddressType" in params:
        changed["IpAddressType"] = params["IpAddressType"]
    if "DnsOptions" in params:
        changed["DnsOptions"] = {**endpoint.get("DnsOptions", {}), **params["DnsOptions"]}
    return vpc_endpoints.named(call, service, changed)


def _with_groups(call: Call, endpoint: Endpoint, params: dict[str, Any]) -> Endpoint:
    added, removed = params.get("AddSecurityGroupIds", []), params.get("RemoveSecurityGroupIds", [])
    if not added and not removed:
        return endpoint
    wanted = [*(each["GroupId"] for each in endpoint["Groups"]), *added]
    wanted = [each for each in wanted if each not in removed or each in added]
    if not wanted:
        raise ApiError("InvalidParameter", "An interface endpoint has at least one security group.")
    groups = network_interfaces.chosen_groups(call, endpoint["VpcId"], wanted)
    for interface_id in endpoint["NetworkInterfaceIds"]:
        interface = ids.find(call, "network-interface", interface_id)
        call.cloud.put("network-interface", interface_id, {**interface, "Groups": groups})
    return {**endpoint, "Groups": groups}
