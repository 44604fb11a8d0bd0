"""What an account may do: EC2 in VPCs only, and AWS's usual numbers."""

from __future__ import annotations

from typing import Any

from hive_emulator.action import Call, action
from hive_emulator.errors import ApiError

ATTRIBUTES = {
    "supported-platforms": "VPC",
    "max-instances": "20",
    "vpc-max-security-groups-per-interface": "5",
    "max-elastic-ips": "5",
    "vpc-max-elastic-ips": "5",
}
_QUOTAS = {
    "max-instances": "instances",
    "max-elastic-ips": "addresses",
    "vpc-max-elastic-ips": "addresses",
    "vpc-max-security-groups-per-interface": "security-groups-per-interface",
}


@action("DescribeAccountAttributes")
def describe_account_attributes(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    known = [*ATTRIBUTES, "default-vpc"]
    wanted = params.get("AttributeNames") or known
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise ApiError(
            "InvalidParameterValue",
            f"Value ({unknown[0]}) for parameter attributeName is invalid. Expected one of: " + ", ".join(known),
        )
    attributes = [
        {"AttributeName": name, "AttributeValues": [{"AttributeValue": _value(call, name)}]} for name in wanted
    ]
    return {"AccountAttributes": attributes}


def _value(call: Call, name: str) -> str:
    if name == "default-vpc":
        return next((vpc["VpcId"] for vpc in call.cloud.all("vpc") if vpc["IsDefault"]), "none")
    if name in _QUOTAS and _QUOTAS[name] in call.config.quotas:
        return str(call.config.quotas[_QUOTAS[name]])
    return ATTRIBUTES[name]
