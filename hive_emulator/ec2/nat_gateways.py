"""NAT gateways: an interface in a subnet, with an elastic IP on it unless it is a private one.

A deleted gateway is shown for an hour, as in AWS; callers wait to see it so.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from hive_emulator.action import Call, action
from hive_emulator.ec2 import addresses, filters, ids, limits, managed_interfaces, paging, parameters, tagging
from hive_emulator.errors import ApiError

Gateway = dict[str, Any]

_ELSEWHERE = (
    "AvailabilityZoneAddresses",
    "SecondaryAllocationIds",
    "SecondaryPrivateIpAddresses",
    "SecondaryPrivateIpAddressCount",
)
REMEMBERED = timedelta(hours=1)
GONE = ("deleted", "failed")

FILTERS = filters.table(
    "DescribeNatGateways",
    {"nat-gateway-id": "NatGatewayId", "state": "State", "subnet-id": "SubnetId", "vpc-id": "VpcId"},
)


@action("CreateNatGateway")
def create_nat_gateway(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    parameters.refuse(params, *_ELSEWHERE)
    if params.get("AvailabilityMode") == "regional":
        parameters.refuse(params, "AvailabilityMode")
    subnet = ids.find(call, "subnet", params.get("SubnetId"))
    connectivity = params.get("ConnectivityType", "public")
    address = _address(call, subnet, params, connectivity)
    _forget_old(call)
    _check_quota(call, subnet)
    gateway_id = ids.new("nat")
    if address and not call.cloud.by("internet-gateway", "VpcId", subnet["VpcId"]):
        return _failed(call, params, subnet, gateway_id, address)
    interface = _interface(call, subnet, gateway_id, params.get("PrivateIpAddress"))
    shown = {
        "NetworkInterfaceId": interface["NetworkInterfaceId"],
        "PrivateIp": interface["PrivateIpAddress"],
        "IsPrimary": True,
        "Status": "succeeded",
    }
    if address:
        place = interface["NetworkInterfaceId"], interface["PrivateIpAddress"]
        shown["AssociationId"] = addresses.associate(call, address, *place)
        shown["AllocationId"], shown["PublicIp"] = address["AllocationId"], address["PublicIp"]
    record = {
        "NatGatewayId": gateway_id,
        "SubnetId": subnet["SubnetId"],
        "VpcId": subnet["VpcId"],
        "State": "available",
        "ConnectivityType": connectivity,
        "CreateTime": call.timestamp(),
        "NatGatewayAddresses": [shown],
        "Tags": tagging.on_create(params, "natgateway"),
    }
    answer = {"NatGateway": call.cloud.put("natgateway", gateway_id, record)}
    return {**answer, "ClientToken": params["ClientToken"]} if "ClientToken" in params else answer


def _failed(
    call: Call, params: dict[str, Any], subnet: dict[str, Any], gateway_id: str, address: dict[str, Any]
) -> dict[str, Any]:
    """A gateway that can't work: AWS takes the call, and says so afterwards."""
    record = {
        "NatGatewayId": gateway_id,
        "SubnetId": subnet["SubnetId"],
        "VpcId": subnet["VpcId"],
        "State": "failed",
        "FailureCode": "Gateway.NotAttached",
        "FailureMessage": f"Network {subnet['VpcId']} has no Internet gateway attached",
        "ConnectivityType": "public",
        "CreateTime": call.timestamp(),
        "DeleteTime": call.timestamp(),
        "NatGatewayAddresses": [{"AllocationId": address["AllocationId"]}],
        "Tags": tagging.on_create(params, "natgateway"),
    }
    call.cloud.put("natgateway", gateway_id, record)
    begun = {key: value for key, value in record.items() if not key.startswith("Failure") and key != "DeleteTime"}
    return {"NatGateway": {**begun, "State": "pending"}}


def _address(call: Call, subnet: dict[str, Any], params: dict[str, Any], connectivity: str) -> dict[str, Any] | None:
    """The elastic IP of a public gateway, free to be used; None for a private one."""
    if connectivity == "private":
        if "AllocationId" in params:
            raise ApiError("InvalidParameterCombination", "A private NAT gateway can't have an elastic IP address")
        return None
    if "AllocationId" not in params:
        raise ApiError("MissingParameter", "The request must contain the parameter allocationId")
    address = ids.find(call, "elastic-ip", params["AllocationId"])
    if "AssociationId" in address:
        raise ApiError(
            "Resource.AlreadyAssociated",
            f"Elastic IP address [{address['AllocationId']}] is already associated",
        )
    return address


def _check_quota(call: Call, subnet: dict[str, Any]) -> None:
    zone = subnet["AvailabilityZone"]
    held = [
        each
        for each in call.cloud.all("natgateway")
        if each["State"] not in GONE and ids.find(call, "subnet", each["SubnetId"])["AvailabilityZone"] == zone
    ]
    noun = f"NAT gateways in {zone}"
    limits.check(call, "nat-gateways-per-zone", lambda: held, "NatGatewayLimitExceeded", noun)


def _interface(call: Call, subnet: dict[str, Any], gateway_id: str, private: str | None) -> dict[str, Any]:
    wanted = {"Description": f"Interface for NAT Gateway {gateway_id}", "InterfaceType": addresses.NAT}
    if private:
        wanted["PrivateIpAddress"] = private
    return managed_interfaces.create(call, subnet, wanted)


@action("DescribeNatGateways")
def describe_nat_gateways(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    wanted = params.get("NatGatewayIds")
    found = [each for each in ids.find_all(call, "natgateway", wanted) if not _is_old(call, each)]
    if wanted and len(found) < len(set(wanted)):
        gone = set(wanted) - {each["NatGatewayId"] for each in found}
        raise ids.not_found("natgateway", min(gone))
    chosen = filters.apply(found, params.get("Filter"), FILTERS)
    return paging.page("NatGateways", chosen, params, "NatGatewayId")


@action("DeleteNatGateway")
def delete_nat_gateway(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    gateway = ids.find(call, "natgateway", params.get("NatGatewayId"))
    _forget_old(call)
    if gateway["State"] == "failed":
        call.cloud.put("natgateway", gateway["NatGatewayId"], {**gateway, "State": "deleted"})
    elif gateway["State"] != "deleted":
        for each in gateway["NatGatewayAddresses"]:
            managed_interfaces.remove(call, each["NetworkInterfaceId"])
        deleted = {**gateway, "State": "deleted", "DeleteTime": call.timestamp()}
        call.cloud.put("natgateway", gateway["NatGatewayId"], deleted)
    return {"NatGatewayId": gateway["NatGatewayId"]}


def _is_old(call: Call, gateway: Gateway) -> bool:
    if gateway["State"] not in GONE:
        return False
    return call.now - datetime.fromisoformat(gateway["DeleteTime"].replace("Z", "+00:00")) > REMEMBERED


def _forget_old(call: Call) -> None:
    for each in call.cloud.all("natgateway"):
        if _is_old(call, each):
            call.cloud.delete("natgateway", each["NatGatewayId"])
