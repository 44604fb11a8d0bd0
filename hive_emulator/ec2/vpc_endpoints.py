"""VPC endpoints: ways from a VPC to a service. They are kept and answered; nothing is carried.

A gateway endpoint is a route to the service's prefix list in each of its route tables. An interface endpoint is a
network interface in each of its subnets, under security groups. A gateway load balancer endpoint is one interface,
and routes can lead to it.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from hive_emulator.action import Call, action
from hive_emulator.ec2 import (
    endpoint_services,
    filters,
    ids,
    managed_interfaces,
    network_interfaces,
    paging,
    parameters,
    prefix_lists,
    tagging,
)
from hive_emulator.errors import ApiError

Endpoint = dict[str, Any]

KIND = "vpc-endpoint"
EVERYTHING = '{"Version":"2008-10-17","Statement":[{"Effect":"Allow","Principal":"*","Action":"*","Resource":"*"}]}'
_ELSEWHERE = ("ServiceNetworkArn", "ResourceConfigurationArn")
_INTERFACES = {"Interface": "vpc_endpoint", "GatewayLoadBalancer": "gateway_load_balancer_endpoint"}

FILTERS = filters.table(
    "DescribeVpcEndpoints",
    {
        "ip-address-type": "IpAddressType",
        "service-name": "ServiceName",
        "service-region": "ServiceRegion",
        "vpc-endpoint-id": "VpcEndpointId",
        "vpc-endpoint-state": "State",
        "vpc-endpoint-type": "VpcEndpointType",
        "vpc-id": "VpcId",
    },
)


@action("CreateVpcEndpoint")
def create_vpc_endpoint(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    parameters.refuse(params, *_ELSEWHERE)
    vpc = ids.find(call, "vpc", params["VpcId"])
    kind = params.get("VpcEndpointType", "Gateway")
    service = _service(call, params.get("ServiceName"), kind)
    _check_members(params, kind)
    endpoint_id = ids.new("vpce")
    record: Endpoint = {
        "VpcEndpointId": endpoint_id,
        "VpcEndpointType": kind,
        "VpcId": vpc["VpcId"],
        "ServiceName": service["ServiceName"],
        "ServiceRegion": call.region,
        "State": "pendingAcceptance" if service["AcceptanceRequired"] else "available",
        "RouteTableIds": [],
        "SubnetIds": [],
        "Groups": [],
        "NetworkInterfaceIds": [],
        "DnsEntries": [],
        "PrivateDnsEnabled": False,
        "RequesterManaged": False,
        "IpAddressType": params.get("IpAddressType", "ipv4"),
        "CreationTimestamp": call.timestamp(),
        "OwnerId": call.account,
        "Tags": tagging.on_create(params, KIND),
    }
    if service["VpcEndpointPolicySupported"]:
        record["PolicyDocument"] = checked_policy(params.get("PolicyDocument", EVERYTHING))
    made = _filled(call, vpc, service, record, params)
    answer = {"VpcEndpoint": call.cloud.put(KIND, endpoint_id, made)}
    return {**answer, "ClientToken": params["ClientToken"]} if "ClientToken" in params else answer


def _filled(
    call: Call, vpc: dict[str, Any], service: dict[str, Any], record: Endpoint, params: dict[str, Any]
) -> Endpoint:
    """The endpoint with its routes, or with its interfaces and names."""
    if record["VpcEndpointType"] == "Gateway":
        return with_routes(call, record, params.get("RouteTableIds", ()), ())
    if record["VpcEndpointType"] == "Interface":
        record["Groups"] = network_interfaces.chosen_groups(call, vpc["VpcId"], params.get("SecurityGroupIds"))
        record["DnsOptions"] = {"DnsRecordIpType": record["IpAddressType"], **params.get("DnsOptions", {})}
        record["PrivateDnsEnabled"] = private_dns(vpc, service, params.get("PrivateDnsEnabled"))
    asked = [*params.get("SubnetIds", ()), *(each["SubnetId"] for each in params.get("SubnetConfigurations", ()))]
    return named(call, service, with_interfaces(call, record, dict.fromkeys(asked), ()))


def _service(call: Call, name: str | None, kind: str) -> dict[str, Any]:
    """The service that an endpoint of this kind may lead to, or AWS's error."""
    if not name:
        raise parameters.missing("ServiceName")
    everything = (*endpoint_services.of_aws(call), *endpoint_services.offered(call))
    known = [each for each in everything if each["ServiceName"] == name]
    for each in known:
        if {"ServiceType": kind} in each["ServiceType"]:
            return each
    if known:
        has = known[0]["ServiceType"][0]["ServiceType"]
        raise ApiError(
            "InvalidParameter",
            f"The VPC endpoint service {name} has the type {has}: an endpoint of the type {kind} can't lead to it.",
        )
    raise endpoint_services.no_such_service(name)


def service_of(call: Call, endpoint: Endpoint) -> dict[str, Any]:
    return _service(call, endpoint["ServiceName"], endpoint["VpcEndpointType"])


def _check_members(params: dict[str, Any], kind: str) -> None:
    wrong: tuple[str, ...] = (
        ("SubnetIds", "SecurityGroupIds", "PrivateDnsEnabled") if kind == "Gateway" else ("RouteTableIds",)
    )
    if kind == "GatewayLoadBalancer":
        wrong += ("SecurityGroupIds", "PrivateDnsEnabled")
        if len(params.get("SubnetIds", ())) > 1:
            raise ApiError("InvalidParameter", "A gateway load balancer endpoint is in one subnet")
    for member in wrong:
        if params.get(member):
            raise ApiError("InvalidParameter", f"{member} can't be given for an endpoint of the type {kind}.")


def checked_policy(text: str) -> str:
    try:
        if not isinstance(json.loads(text), dict):
            raise ValueError(text)
    except ValueError:
        raise ApiError("MalformedPolicyDocument", "The policy document is not a JSON object") from None
    return text


def private_dns(vpc: dict[str, Any], service: dict[str, Any], asked: bool | None) -> bool:
    """Whether the service's own name leads to the endpoint: on unless said otherwise, where that is possible."""
    able = vpc["_dns_support"] and vpc["_dns_hostnames"]
    if asked and "PrivateDnsName" not in service:
        raise ApiError(
            "InvalidParameter",
            f"Private DNS can't be enabled because the service {service['ServiceName']} does not provide a "
            "private DNS name.",
        )
    if asked and not able:
        raise ApiError(
            "InvalidParameter",
            "Enabling private DNS requires both enableDnsSupport and enableDnsHostnames VPC attributes set to "
            f"true for {vpc['VpcId']}",
        )
    return bool(able and "PrivateDnsName" in service) if asked is None else asked


def with_routes(call: Call, endpoint: Endpoint, added: Any, removed: Any) -> Endpoint:
    """A gateway endpoint with other route tables; their routes come and go with it."""
    to = {"DestinationPrefixListId": prefix_lists.of_service(call, endpoint["ServiceName"])}
    route = {**to, "GatewayId": endpoint["VpcEndpointId"], "Origin": "CreateRoute", "State": "active"}
    tables = list(endpoint["RouteTableIds"])
    for table_id in removed:
        _drop_route(call, ids.find(call, "route-table", table_id), endpoint["VpcEndpointId"])
        tables = [each for each in tables if each != table_id]
    for table_id in added:
        table = ids.find(call, "route-table", table_id)
        _check_table(table, endpoint, to["DestinationPrefixListId"])
        if table_id not in tables:
            call.cloud.put("route-table", table_id, {**table, "Routes": [*table["Routes"], route]})
            tables.append(table_id)
    return {**endpoint, "RouteTableIds": tables}


def _check_table(table: dict[str, Any], endpoint: Endpoint, prefix_list: str | None) -> None:
    if table["VpcId"] != endpoint["VpcId"]:
        raise ApiError(
            "InvalidParameter", f"The route table {table['RouteTableId']} is not in the VPC {endpoint['VpcId']}"
        )
    for route in table["Routes"]:
        if route.get("DestinationPrefixListId") == prefix_list and route["GatewayId"] != endpoint["VpcEndpointId"]:
            raise ApiError(
                "RouteAlreadyExists",
                f"route table {table['RouteTableId']} already has a route to {prefix_list}",
            )


def _drop_route(call: Call, table: dict[str, Any], endpoint_id: str) -> None:
    kept = [each for each in table["Routes"] if each.get("GatewayId") != endpoint_id]
    call.cloud.put("route-table", table["RouteTableId"], {**table, "Routes": kept})


def with_interfaces(call: Call, endpoint: Endpoint, added: Any, removed: Any) -> Endpoint:
    """An endpoint with other subnets: one interface in each, at most one subnet of a zone."""
    held = [ids.find(call, "network-interface", each) for each in endpoint["NetworkInterfaceIds"]]
    for interface in [each for each in held if each["SubnetId"] in removed]:
        managed_interfaces.remove(call, interface["NetworkInterfaceId"])
        held.remove(interface)
    for subnet_id in added:
        subnet = ids.find(call, "subnet", subnet_id)
        if subnet["VpcId"] != endpoint["VpcId"]:
            raise ApiError("InvalidParameter", f"The subnet {subnet_id} is not in the VPC {endpoint['VpcId']}")
        if any(each["AvailabilityZone"] == subnet["AvailabilityZone"] for each in held):
            raise ApiError(
                "DuplicateSubnetsInSameZone",
                "Found another VPC endpoint subnet in the availability zone of "
                f"{subnet_id}. VPC endpoint subnets should be in different availability zones.",
            )
        wanted = {
            "Description": f"VPC Endpoint Interface {endpoint['VpcEndpointId']}",
            "InterfaceType": _INTERFACES[endpoint["VpcEndpointType"]],
        }
        held.append(managed_interfaces.create(call, subnet, wanted, endpoint["Groups"]))
    members = {name: [each[name[:-1]] for each in held] for name in ("SubnetIds", "NetworkInterfaceIds")}
    return {**endpoint, **members}


def named(call: Call, service: dict[str, Any], endpoint: Endpoint) -> Endpoint:
    """The endpoint with the names that it has in the DNS: one for all zones, one for each, and the service's own."""
    if endpoint["VpcEndpointType"] != "Interface":
        return endpoint
    stem = f"{endpoint['VpcEndpointId']}-{hashlib.sha256(endpoint['VpcEndpointId'].encode()).hexdigest()[:8]}"
    base = service["BaseEndpointDnsNames"][0]
    zone = f"Z{hashlib.sha256(base.encode()).hexdigest()[:12].upper()}"
    interfaces = [ids.find(call, "network-interface", each) for each in endpoint["NetworkInterfaceIds"]]
    names = [stem, *(f"{stem}-{each['AvailabilityZone']}" for each in interfaces)]
    entries = [{"DnsName": f"{each}.{base}", "HostedZoneId": zone} for each in names]
    if endpoint["PrivateDnsEnabled"]:
        own_zone = f"Z{endpoint['VpcEndpointId'][5:].upper()}"
        entries.append({"DnsName": service["PrivateDnsName"], "HostedZoneId": own_zone})
    return {**endpoint, "DnsEntries": entries}


@action("DescribeVpcEndpoints")
def describe_vpc_endpoints(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    found = ids.find_all(call, KIND, params.get("VpcEndpointIds"))
    chosen = filters.apply(found, params.get("Filters"), FILTERS)
    return paging.page("VpcEndpoints", chosen, params, "VpcEndpointId", lowest=1)


@action("DeleteVpcEndpoints")
def delete_vpc_endpoints(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    failed = []
    for endpoint_id in params["VpcEndpointIds"]:
        endpoint = call.cloud.get(KIND, endpoint_id)
        if endpoint is None:
            error = ids.not_found(KIND, endpoint_id)
            failed.append({"ResourceId": endpoint_id, "Error": {"Code": error.code, "Message": error.message}})
        else:
            _remove(call, endpoint)
    return {"Unsuccessful": failed}


def _remove(call: Call, endpoint: Endpoint) -> None:
    for table_id in endpoint["RouteTableIds"]:
        _drop_route(call, ids.find(call, "route-table", table_id), endpoint["VpcEndpointId"])
    for interface_id in endpoint["NetworkInterfaceIds"]:
        managed_interfaces.remove(call, interface_id)
    for note in call.cloud.all("vpc-endpoint-notification"):
        if note.get("VpcEndpointId") == endpoint["VpcEndpointId"]:
            call.cloud.delete("vpc-endpoint-notification", note["ConnectionNotificationId"])
    call.cloud.delete(KIND, endpoint["VpcEndpointId"])


def forget_table(call: Call, table: dict[str, Any]) -> None:
    """Takes a route table that goes away from the endpoints with routes in it."""
    for endpoint in call.cloud.by(KIND, "VpcId", table["VpcId"]):
        if table["RouteTableId"] in endpoint["RouteTableIds"]:
            kept = [each for each in endpoint["RouteTableIds"] if each != table["RouteTableId"]]
            call.cloud.put(KIND, endpoint["VpcEndpointId"], {**endpoint, "RouteTableIds": kept})
