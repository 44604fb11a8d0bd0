"""IAM instance profiles on instances: associated, replaced and taken off after the launch.

There are no records of associations: an instance has a profile or none, and the id follows from the two.
"""

from __future__ import annotations

import hashlib
from typing import Any

from hive_emulator.action import Call, action
from hive_emulator.ec2 import filters, instance_options, instances, paging
from hive_emulator.errors import ApiError

Instance = dict[str, Any]

FILTERS = filters.table("DescribeIamInstanceProfileAssociations", {"instance-id": "InstanceId", "state": "State"})


@action("DescribeIamInstanceProfileAssociations")
def describe_associations(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    found = [_shown(one) for one in instances.visible(call) if "IamInstanceProfile" in one]
    wanted = params.get("AssociationIds")
    if wanted:
        found = [_shown(_associated(call, one)) for one in dict.fromkeys(wanted)]
    found = filters.apply(found, params.get("Filters"), FILTERS)
    return paging.page("IamInstanceProfileAssociations", found, params, "AssociationId")


@action("AssociateIamInstanceProfile")
def associate(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    instance = instances.find(call, params["InstanceId"])
    if instance["State"]["Name"] in ("terminated", "shutting-down"):
        raise ApiError(
            "IncorrectInstanceState", f"The instance '{instance['InstanceId']}' is '{instance['State']['Name']}'."
        )
    if "IamInstanceProfile" in instance:
        raise ApiError("IncorrectState", f"There is an existing association for instance {instance['InstanceId']}")
    changed = _put_on(call, instance, params["IamInstanceProfile"])
    return {"IamInstanceProfileAssociation": {**_shown(changed), "State": "associating"}}


@action("ReplaceIamInstanceProfileAssociation")
def replace(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    changed = _put_on(call, _associated(call, params["AssociationId"]), params["IamInstanceProfile"])
    return {"IamInstanceProfileAssociation": {**_shown(changed), "State": "associating"}}


@action("DisassociateIamInstanceProfile")
def disassociate(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    instance = _associated(call, params["AssociationId"])
    bare = {key: value for key, value in instance.items() if key != "IamInstanceProfile"}
    call.cloud.put("instance", instance["InstanceId"], bare)
    return {"IamInstanceProfileAssociation": {**_shown(instance), "State": "disassociating"}}


def _put_on(call: Call, instance: Instance, wanted: dict[str, Any]) -> Instance:
    profile = instance_options.profile(call, wanted)
    return call.cloud.put("instance", instance["InstanceId"], {**instance, "IamInstanceProfile": profile})


def _associated(call: Call, association_id: str) -> Instance:
    for instance in instances.visible(call):
        if "IamInstanceProfile" in instance and _id(instance) == association_id:
            return instance
    raise ApiError("InvalidAssociationID.NotFound", f"An invalid association-id of '{association_id}' was given")


def _id(instance: Instance) -> str:
    both = f"{instance['InstanceId']} {instance['IamInstanceProfile']['Arn']}"
    return f"iip-assoc-{hashlib.sha256(both.encode()).hexdigest()[:17]}"


def _shown(instance: Instance) -> dict[str, Any]:
    return {
        "AssociationId": _id(instance),
        "InstanceId": instance["InstanceId"],
        "IamInstanceProfile": instance["IamInstanceProfile"],
        "State": "associated",
    }
