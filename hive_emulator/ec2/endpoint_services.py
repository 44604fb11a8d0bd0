"""Services that a VPC endpoint can lead to: AWS's own (data/endpoint_services.csv) and those that users offer.

A user's service stands before load balancers that this cloud doesn't have: any well-formed ARN will do. Nothing
is carried; who may connect, who has asked to and who was accepted is kept.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from typing import Any

from hive_emulator.action import Call, action
from hive_emulator.cloud import Cloud
from hive_emulator.ec2 import filters, ids, paging, parameters, tagging, zones
from hive_emulator.errors import ApiError

Service = dict[str, Any]

KIND = "vpc-endpoint-service"
WITH_GATEWAYS = ("s3", "dynamodb")
_BALANCERS = {
    "NetworkLoadBalancerArns": ("net", "Interface"),
    "GatewayLoadBalancerArns": ("gwy", "GatewayLoadBalancer"),
}

FILTERS = filters.table(
    "DescribeVpcEndpointServiceConfigurations",
    {
        "service-id": "ServiceId",
        "service-name": "ServiceName",
        "service-state": "ServiceState",
        "supported-ip-address-types": "SupportedIpAddressTypes",
    },
)
SERVICE_FILTERS = filters.table(
    "DescribeVpcEndpointServices",
    {
        "owner": "Owner",
        "service-name": "ServiceName",
        "service-region": "ServiceRegion",
        "service-type": "ServiceType.ServiceType",
        "supported-ip-address-types": "SupportedIpAddressTypes",
    },
)


@cache
def _names() -> tuple[str, ...]:
    text = resources.files("hive_emulator.ec2.data").joinpath("endpoint_services.csv").read_text(encoding="utf-8")
    return tuple(text.split()[1:])


def of_aws(call: Call, kind: str | None = None) -> list[Service]:
    """AWS's services here as DescribeVpcEndpointServices shows them."""
    offers = [(name, "Interface") for name in _names()] + [(name, "Gateway") for name in WITH_GATEWAYS]
    return [_of_aws(call, *offer) for offer in offers if kind in (None, offer[1])]


def _of_aws(call: Call, name: str, kind: str) -> Service:
    host = f"{'.'.join(reversed(name.split('.')))}.{call.region}.amazonaws.com"
    private = {"PrivateDnsName": host, "PrivateDnsNames": [{"PrivateDnsName": host}]}
    return {
        "ServiceName": f"com.amazonaws.{call.region}.{name}",
        "ServiceId": f"vpce-svc-{call.region}-{name}-{kind.lower()}",
        "ServiceType": [{"ServiceType": kind}],
        "ServiceRegion": call.region,
        **_zones(call),
        "Owner": "amazon",
        "BaseEndpointDnsNames": [f"{name}.{call.region}.vpce.amazonaws.com" if kind == "Interface" else host],
        **(private if kind == "Interface" else {}),
        "VpcEndpointPolicySupported": True,
        "AcceptanceRequired": False,
        "ManagesVpcEndpoints": False,
        "SupportedIpAddressTypes": ["ipv4"],
        "Tags": [],
    }


def _zones(call: Call) -> dict[str, list[str]]:
    names = list(call.config.zones(call.region))
    return {"AvailabilityZones": names, "AvailabilityZoneIds": [zones.zone_id(name) for name in names]}


@action("CreateVpcEndpointServiceConfiguration")
def create_vpc_endpoint_service_configuration(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    parameters.refuse(params, "SupportedRegions")
    given = [member for member in _BALANCERS if params.get(member)]
    if len(given) != 1:
        raise parameters.combination("Specify either networkLoadBalancerArns or gatewayLoadBalancerArns")
    [member] = given
    service_id = ids.new("vpce-svc")
    record = {
        "ServiceType": [{"ServiceType": _BALANCERS[member][1]}],
        "ServiceId": service_id,
        "ServiceName": f"com.amazonaws.vpce.{call.region}.{service_id}",
        "ServiceState": "Available",
        **_zones(call),
        "AcceptanceRequired": params.get("AcceptanceRequired", True),
        "ManagesVpcEndpoints": False,
        "NetworkLoadBalancerArns": [],
        "GatewayLoadBalancerArns": [],
        "SupportedIpAddressTypes": params.get("SupportedIpAddressTypes", ["ipv4"]),
        "BaseEndpointDnsNames": [f"{service_id}.{call.region}.vpce.amazonaws.com"],
        "Tags": tagging.on_create(params, KIND),
        member: [_balancer(member, arn) for arn in params[member]],
        **_private_name(params.get("PrivateDnsName")),
        "_Principals": [],
    }
    answer = {"ServiceConfiguration": call.cloud.put(KIND, service_id, record)}
    return {**answer, "ClientToken": params["ClientToken"]} if "ClientToken" in params else answer


def _balancer(member: str, arn: str) -> str:
    kind = _BALANCERS[member][0]
    form = rf"arn:[a-z-]+:elasticloadbalancing:[a-z0-9-]+:\d{{12}}:loadbalancer/{kind}/[A-Za-z0-9-]{{1,32}}/[0-9a-f]+"
    if not re.fullmatch(form, arn):
        raise parameters.invalid(arn, member, f"the ARN of a load balancer: arn:…:loadbalancer/{kind}/NAME/ID")
    return arn


def _private_name(name: str | None) -> dict[str, Any]:
    """A private name would have to be proven by a TXT record: it stays unproven here."""
    if not name:
        return {}
    proof = {"State": "pendingVerification", "Type": "TXT", "Name": "_hive", "Value": f"vpce:{name}"}
    return {"PrivateDnsName": name, "PrivateDnsNameConfiguration": proof}


@action("DescribeVpcEndpointServiceConfigurations")
def describe_vpc_endpoint_service_configurations(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    found = ids.find_all(call, KIND, params.get("ServiceIds"))
    chosen = filters.apply(found, params.get("Filters"), FILTERS)
    return paging.page("ServiceConfigurations", chosen, params, "ServiceId")


@action("ModifyVpcEndpointServiceConfiguration")
def modify_vpc_endpoint_service_configuration(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    parameters.refuse(params, "AddSupportedRegions", "RemoveSupportedRegions")
    record = ids.find(call, KIND, params["ServiceId"])
    changed = dict(record)
    if params.get("RemovePrivateDnsName"):
        changed = {name: value for name, value in changed.items() if not name.startswith("PrivateDnsName")}
    changed |= _private_name(params.get("PrivateDnsName"))
    changed["AcceptanceRequired"] = params.get("AcceptanceRequired", record["AcceptanceRequired"])
    for member in (*_BALANCERS, "SupportedIpAddressTypes"):
        added = params.get(f"Add{member}", [])
        checked = [_balancer(member, each) for each in added] if member in _BALANCERS else added
        kept = [each for each in record[member] if each not in params.get(f"Remove{member}", ())]
        changed[member] = [*kept, *(each for each in checked if each not in kept)]
    if not any(changed[member] for member in _BALANCERS):
        raise parameters.combination("A VPC endpoint service needs at least one load balancer")
    call.cloud.put(KIND, record["ServiceId"], changed)
    return {"Return": True}


@action("DeleteVpcEndpointServiceConfigurations")
def delete_vpc_endpoint_service_configurations(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    failed = []
    for service_id in params["ServiceIds"]:
        try:
            _delete(call, service_id)
        except ApiError as error:
            failed.append({"ResourceId": service_id, "Error": {"Code": error.code, "Message": error.message}})
    return {"Unsuccessful": failed}


def _delete(call: Call, service_id: str) -> None:
    service = ids.find(call, KIND, service_id)
    held = [endpoint["VpcEndpointId"] for _, endpoint in connected(call, service) if endpoint["State"] != "rejected"]
    if held:
        raise ApiError(
            "ExistingVpcEndpointConnections",
            f"Service {service_id} has existing active VPC Endpoint connections: {', '.join(held)}",
        )
    for note in call.cloud.all("vpc-endpoint-notification"):
        if note.get("ServiceId") == service_id:
            call.cloud.delete("vpc-endpoint-notification", note["ConnectionNotificationId"])
    call.cloud.delete(KIND, service_id)


def connected(call: Call, service: Service) -> list[tuple[Cloud, dict[str, Any]]]:
    """The endpoints of all accounts that lead to a user's service, and whose records they are among."""
    found: list[tuple[Cloud, dict[str, Any]]] = []
    for account in call.cloud.accounts():
        theirs = call.cloud.at(account, call.region)
        found += [(theirs, each) for each in theirs.by("vpc-endpoint", "ServiceName", service["ServiceName"])]
    return found


@action("DescribeVpcEndpointServices")
def describe_vpc_endpoint_services(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    known = [*of_aws(call), *offered(call)]
    wanted = params.get("ServiceNames")
    for name in wanted or ():
        if all(each["ServiceName"] != name for each in known):
            raise no_such_service(name)
    chosen = [each for each in known if not wanted or each["ServiceName"] in wanted]
    chosen = filters.apply(chosen, params.get("Filters"), SERVICE_FILTERS)
    answer = paging.page("ServiceDetails", chosen, params, "ServiceId")
    return {**answer, "ServiceNames": list(dict.fromkeys(each["ServiceName"] for each in answer["ServiceDetails"]))}


def no_such_service(name: str) -> ApiError:
    return ApiError("InvalidServiceName", f"The Vpc Endpoint Service '{name}' does not exist")


def offered(call: Call) -> list[Service]:
    """The services of users that this account may connect to: its own, and those that allow it."""
    return [
        _as_detail(call, owner, each)
        for owner in call.cloud.accounts()
        for each in call.cloud.at(owner, call.region).all(KIND)
        if owner == call.account or _allows(each, call.account)
    ]


def _allows(service: Service, account: str) -> bool:
    principals = [each["Principal"] for each in service["_Principals"]]
    return any(each == "*" or f":{account}:" in each for each in principals)


def _as_detail(call: Call, owner: str, service: Service) -> Service:
    shown = {key: value for key, value in service.items() if key != "PrivateDnsNameConfiguration"}
    return {**shown, "ServiceRegion": call.region, "Owner": owner, "VpcEndpointPolicySupported": False}
