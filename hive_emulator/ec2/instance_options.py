"""Options of an instance that a launch may set and a later call may change: metadata, CPU credits, monitoring, …"""

from __future__ import annotations

import hashlib
from typing import Any

from hive_emulator.action import Call, action
from hive_emulator.ec2 import catalog, filters, instances, paging, parameters, partitions, placement_groups
from hive_emulator.errors import ApiError

_METADATA_DEFAULTS = {
    "HttpTokens": "optional",
    "HttpPutResponseHopLimit": 1,
    "HttpEndpoint": "enabled",
    "HttpProtocolIpv6": "disabled",
    "InstanceMetadataTags": "disabled",
}
CREDIT_FILTERS = filters.table("DescribeInstanceCreditSpecifications", {"instance-id": "InstanceId"})


def metadata(given: dict[str, Any], before: dict[str, Any]) -> dict[str, Any]:
    """MetadataOptions with what is given laid over what was before, and over the defaults."""
    options = {**_METADATA_DEFAULTS, **before, **given, "State": "applied"}
    parameters.within(options["HttpPutResponseHopLimit"], "HttpPutResponseHopLimit", 1, 64)
    return options


@action("ModifyInstanceMetadataOptions")
def modify_instance_metadata_options(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    instance = instances.find(call, params["InstanceId"])
    given = {key: params[key] for key in _METADATA_DEFAULTS if key in params}
    if not given:
        raise parameters.combination("Specify at least one of the metadata options")
    options = metadata(given, instance["MetadataOptions"])
    call.cloud.put("instance", instance["InstanceId"], {**instance, "MetadataOptions": options})
    return {"InstanceId": instance["InstanceId"], "InstanceMetadataOptions": {**options, "State": "pending"}}


def credits(instance_type: str, given: dict[str, Any]) -> str | None:
    """CPU credits of a burstable type: unlimited unless said otherwise, for t2 standard; None for all other types."""
    wanted = given.get("CpuCredits")
    if not catalog.is_burstable(instance_type):
        if wanted:
            raise ApiError(
                "InvalidParameterCombination",
                f"The creditSpecification parameter is not supported for {instance_type} instances.",
            )
        return None
    usual = "standard" if instance_type.startswith("t2.") else "unlimited"
    return parameters.one_of(given, "CpuCredits", ("standard", "unlimited"), usual)


@action("DescribeInstanceCreditSpecifications")
def describe_instance_credit_specifications(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    paging.refuse_with_ids(params, "InstanceIds")
    wanted = params.get("InstanceIds")
    found = filters.apply(instances.visible(call, wanted), params.get("Filters"), CREDIT_FILTERS)
    for instance in found if wanted else ():
        _refuse_without_credits(instance)
    rows = [
        {"InstanceId": one["InstanceId"], "CpuCredits": one["_CpuCredits"]}
        for one in found
        # Asked for none in particular, AWS lists those that differ from the default of standard.
        if one["_CpuCredits"] == "unlimited" or (wanted and one["_CpuCredits"])
    ]
    return paging.page("InstanceCreditSpecifications", rows, params, "InstanceId")


@action("ModifyInstanceCreditSpecification")
def modify_instance_credit_specification(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    done, refused = [], []
    for one in params["InstanceCreditSpecifications"]:
        instance_id = one["InstanceId"]
        try:
            instance = instances.find(call, instance_id)
            _refuse_without_credits(instance)
            wanted = parameters.one_of(one, "CpuCredits", ("standard", "unlimited"), "")
        except ApiError as error:
            refused.append({"InstanceId": instance_id, "Error": {"Code": error.code, "Message": error.message}})
            continue
        call.cloud.put("instance", instance_id, {**instance, "_CpuCredits": wanted})
        done.append({"InstanceId": instance_id})
    return {
        "SuccessfulInstanceCreditSpecifications": done,
        "UnsuccessfulInstanceCreditSpecifications": refused,
    }


def _refuse_without_credits(instance: dict[str, Any]) -> None:
    if instance["_CpuCredits"] is None:
        raise ApiError(
            "InvalidParameterValue",
            f"The instance '{instance['InstanceId']}' of type {instance['InstanceType']} has no CPU credits.",
        )


@action("MonitorInstances")
def monitor_instances(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    return _monitoring(call, params, "enabled", "pending")


@action("UnmonitorInstances")
def unmonitor_instances(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    return _monitoring(call, params, "disabled", "disabling")


def _monitoring(call: Call, params: dict[str, Any], state: str, on_the_way: str) -> dict[str, Any]:
    found = instances.visible(call, params["InstanceIds"])
    for instance in found:
        call.cloud.put("instance", instance["InstanceId"], {**instance, "Monitoring": {"State": state}})
    return {
        "InstanceMonitorings": [
            {"InstanceId": one["InstanceId"], "Monitoring": {"State": on_the_way}} for one in found
        ]
    }


@action("ModifyInstancePlacement")
def modify_instance_placement(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    instance = instances.find(call, params["InstanceId"])
    if instance["State"]["Name"] != "stopped":
        raise ApiError(
            "IncorrectInstanceState", f"The instance '{instance['InstanceId']}' is not in the 'stopped' state."
        )
    parameters.refuse(params, "HostId", "HostResourceGroupArn", "Affinity")
    placement = {**instance["Placement"], "Tenancy": params.get("Tenancy", instance["Placement"]["Tenancy"])}
    group = placement_groups.wanted(call, params)
    # An empty name takes the instance out of its group, and an empty value counts as absent.
    if group or "Tenancy" not in params:
        kept = {key: value for key, value in placement.items() if key not in ("GroupId", "PartitionNumber")}
        placement = {**kept, "GroupName": ""}
    if group:
        placement |= placement_groups.place(call, group, instance["InstanceType"], params)
    call.cloud.put("instance", instance["InstanceId"], {**instance, "Placement": placement})
    return {"Return": True}


def cpu(instance_type: str, given: dict[str, Any]) -> dict[str, Any]:
    """CpuOptions: what is asked for, if the type allows it."""
    info = catalog.types()[instance_type]["VCpuInfo"]
    options = {"CoreCount": info["DefaultCores"], "ThreadsPerCore": info["DefaultThreadsPerCore"], **given}
    valid = {
        "CoreCount": info.get("ValidCores", [info["DefaultCores"]]),
        "ThreadsPerCore": info.get("ValidThreadsPerCore", [info["DefaultThreadsPerCore"]]),
    }
    for member, allowed in valid.items():
        if options[member] not in allowed:
            raise parameters.invalid(options[member], f"CpuOptions.{member}", f"one of {allowed} for {instance_type}")
    return {key: options[key] for key in ("CoreCount", "ThreadsPerCore", "AmdSevSnp") if key in options}


def checked_type(instance_type: str) -> str:
    if instance_type not in catalog.types():
        raise ApiError("InvalidParameterValue", f"Invalid value '{instance_type}' for InstanceType.")
    return instance_type


def profile(call: Call, given: dict[str, Any]) -> dict[str, str]:
    """An IamInstanceProfile by name or ARN. There is no IAM behind it that could know the profile."""
    if not given.get("Arn") and not given.get("Name"):
        raise parameters.missing("iamInstanceProfile.arn or iamInstanceProfile.name")
    arn = given.get("Arn") or partitions.arn(call, f"instance-profile/{given['Name']}", service="iam", region="")
    return {"Arn": arn, "Id": "AIPA" + hashlib.sha256(arn.encode()).hexdigest()[:17].upper()}


@action("ModifyInstanceMaintenanceOptions")
def modify_instance_maintenance_options(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    instance = instances.find(call, params["InstanceId"])
    given = {key: params[key] for key in ("AutoRecovery", "RebootMigration") if key in params}
    options = {**instance["MaintenanceOptions"], **given}
    call.cloud.put("instance", instance["InstanceId"], {**instance, "MaintenanceOptions": options})
    return {"InstanceId": instance["InstanceId"], **options}


@action("ModifyPrivateDnsNameOptions")
def modify_private_dns_name_options(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    instance = instances.find(call, params["InstanceId"])
    options = instance["PrivateDnsNameOptions"]
    if "PrivateDnsHostnameType" in params:
        options = {**options, "HostnameType": params["PrivateDnsHostnameType"]}
    named = ("EnableResourceNameDnsARecord", "EnableResourceNameDnsAAAARecord")
    options = {**options, **{key: params[key] for key in named if key in params}}
    call.cloud.put("instance", instance["InstanceId"], {**instance, "PrivateDnsNameOptions": options})
    return {"Return": True}
