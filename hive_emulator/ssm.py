"""Systems Manager: the public parameters that name images, and nothing else."""

from __future__ import annotations

from typing import Any

from hive_emulator.action import Call, action
from hive_emulator.ec2 import partitions, stock
from hive_emulator.errors import ApiError

MOST = 10


@action("GetParameter", service="ssm")
def get_parameter(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """One parameter."""
    found = _parameter(call, params["Name"])
    if found is None:
        raise ApiError("ParameterNotFound", f"Parameter {params['Name'][:200]} not found.")
    return {"Parameter": found}


@action("GetParameters", service="ssm")
def get_parameters(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """Several; those that aren't there are named."""
    names = list(dict.fromkeys(params["Names"]))
    if not 1 <= len(names) <= MOST:
        raise ApiError("ValidationException", f"Names must have from 1 to {MOST} members, found {len(names)}")
    found = {name: _parameter(call, name) for name in names}
    return {
        "Parameters": [each for each in found.values() if each],
        "InvalidParameters": [name for name, each in found.items() if not each],
    }


def _parameter(call: Call, wanted: str) -> dict[str, Any] | None:
    """By name, by name:VERSION (there is one version), or by ARN."""
    name, _, version = (
        wanted.partition(":parameter")[2].partition(":") if wanted[:4] == "arn:" else wanted.partition(":")
    )
    image = stock.public_parameters().get(name)
    if image is None or version not in ("", "1"):
        return None
    return {
        "Name": name,
        "Type": "String",
        "Value": image["ImageId"],
        "Version": 1,
        "LastModifiedDate": image["CreationDate"],
        "ARN": f"arn:{partitions.of(call.region)}:ssm:{call.region}::parameter{name}",
        "DataType": "aws:ec2:image",
    }
