"""RunInstances.

1. Everything that can be refused is checked first, once for all instances of the call.
2. Capacity and quotas say how many there will be, between MinCount and MaxCount.
3. Each instance gets its interfaces, its record and its disks.
4. The answer shows them pending; a launch hook, if there is one, decides when they run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hive_emulator.action import Call, action
from hive_emulator.ec2 import (
    block_devices,
    capacity,
    catalog,
    ids,
    images,
    instance_options,
    instance_settings,
    instance_view,
    instances,
    key_pairs,
    launch_interfaces,
    network_interface_attachments,
    parameters,
    placement_groups,
    tagging,
    volume_attachments,
    volumes,
    zones,
)
from hive_emulator.ec2.instance_states import begin, state
from hive_emulator.errors import ApiError

DEFAULT_TYPE = "t3.micro"
_TAGGED = ("instance", "volume", "network-interface")
_NOT_HERE = (
    "ElasticGpuSpecification",
    "ElasticInferenceAccelerators",
    "InstanceMarketOptions",
    "LaunchTemplate",
    "LicenseSpecifications",
    "Operator",
    "SecondaryInterfaces",
)


@dataclass(frozen=True)
class Launch:
    """What all instances of one call share."""

    image: dict[str, Any]
    instance_type: str
    interfaces: list[dict[str, Any]]
    subnet: dict[str, Any]
    disks: list[dict[str, Any]]
    tags: dict[str, tagging.Tags]
    settings: dict[str, Any]  # members of every record, the same in each

    @property
    def zone(self) -> str:
        return self.subnet["AvailabilityZone"]


@action("RunInstances")
def run_instances(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    least, most = _counts(params)
    launch = _planned(call, params, most)
    count = capacity.room_for(call, launch.instance_type, least, most, launch.zone)
    group = placement_groups.wanted(call, params.get("Placement", {}))
    if group:
        placement_groups.check_spread(call, group, launch.zone, count)
    reservation = ids.new("r")
    started = [_launch_one(call, params, launch, reservation, index) for index in range(count)]
    return {
        "ReservationId": reservation,
        "OwnerId": call.account,
        "Groups": [],
        "Instances": [_starting(instance) for instance in started],
    }


def _starting(instance: dict[str, Any]) -> dict[str, Any]:
    """As the answer shows it; whoever asks later finds it further on."""
    monitored = instance["Monitoring"]["State"] == "enabled"
    shown = {**instance, "State": state("pending")}
    return {**shown, "Monitoring": {"State": "pending"}} if monitored else shown


def _counts(params: dict[str, Any]) -> tuple[int, int]:
    least, most = params["MinCount"], params["MaxCount"]
    for name, count in (("minCount", least), ("maxCount", most)):
        parameters.within(count, name, 1, 1000)
    if least > most:
        raise parameters.combination(f"minCount ({least}) can't be greater than maxCount ({most})")
    return least, most


def _planned(call: Call, params: dict[str, Any], most: int) -> Launch:
    parameters.refuse(params, *_NOT_HERE)
    parameters.refuse(params.get("Placement", {}), "Affinity", "HostId", "HostResourceGroupArn", "SpreadDomain")
    if "ImageId" not in params:
        raise parameters.missing("ImageId")
    image = images.find(call, params["ImageId"])
    instance_type = instance_options.checked_type(params.get("InstanceType", DEFAULT_TYPE))
    check_architecture(image, instance_type)
    _check_kind(image, instance_type)
    if "KeyName" in params:
        key_pairs.find(call, params["KeyName"])
    interfaces = launch_interfaces.specs(params)
    launch_interfaces.check_for_many(interfaces, most)
    network_interface_attachments.check_count(instance_type, len(interfaces))
    subnet = launch_interfaces.subnet_of(call, interfaces[0], _wanted_zone(call, params))
    _check_zone(call, params, subnet)
    disks = block_devices.for_launch(call, image, params.get("BlockDeviceMappings", ()))
    volume_attachments.check_count(instance_type, len(disks))
    return Launch(
        image=image,
        instance_type=instance_type,
        interfaces=interfaces,
        subnet=subnet,
        disks=disks,
        tags={kind: tagging.on_create(params, kind, among=_TAGGED) for kind in _TAGGED},
        settings=instance_settings.of_launch(call, params, image, instance_type),
    )


def check_architecture(image: dict[str, Any], instance_type: str) -> None:
    has = catalog.architectures(instance_type)
    if image["Architecture"] not in has:
        raise ApiError(
            "InvalidParameterValue",
            f"The architecture '{','.join(has)}' of the specified instance type does not match the architecture "
            f"'{image['Architecture']}' of the specified AMI. Specify an instance type and an AMI that have "
            "matching architectures, and try again.",
        )


def _check_kind(image: dict[str, Any], instance_type: str) -> None:
    info = catalog.types()[instance_type]
    virtual, root = image["VirtualizationType"], image["RootDeviceType"]
    if virtual not in info["SupportedVirtualizationTypes"]:
        needed = info["SupportedVirtualizationTypes"][0]
        raise parameters.combination(
            f"Virtualization type '{needed}' is required for instances of type '{instance_type}'. "
            f"Ensure that you are using an AMI with virtualization type '{needed}'."
        )
    if root not in info["SupportedRootDeviceTypes"]:
        raise parameters.combination(
            f"The instance type '{instance_type}' does not support an AMI whose root device is of type '{root}'."
        )


def _wanted_zone(call: Call, params: dict[str, Any]) -> str | None:
    placement = params.get("Placement", {})
    name, zone_id = placement.get("AvailabilityZone"), placement.get("AvailabilityZoneId")
    known = call.config.zones(call.region)
    if zone_id:
        name = next((zone for zone in known if zones.zone_id(zone) == zone_id), zone_id)
    if name and name not in known:
        raise ApiError("InvalidParameterValue", f"Invalid availability zone: [{name}]")
    return name


def _check_zone(call: Call, params: dict[str, Any], subnet: dict[str, Any]) -> None:
    zone = _wanted_zone(call, params)
    if zone and zone != subnet["AvailabilityZone"]:
        raise ApiError(
            "InvalidParameterValue",
            f"Value ({zone}) for parameter availabilityZone is invalid. The subnet {subnet['SubnetId']} is in "
            f"the availability zone {subnet['AvailabilityZone']}.",
        )


def _launch_one(call: Call, params: dict[str, Any], launch: Launch, reservation: str, index: int) -> dict[str, Any]:
    instance_id = ids.new("i")
    record = {
        **launch.settings,
        "InstanceId": instance_id,
        "AmiLaunchIndex": index,
        "Placement": _placement(call, params, launch),
        "BlockDeviceMappings": [],
        "Tags": launch.tags["instance"],
        "State": state("pending"),
        "_ReservationId": reservation,
    }
    interfaces = launch_interfaces.attach_all(
        call, instance_id, launch.interfaces, launch.subnet, launch.tags["network-interface"]
    )
    record = instance_view.with_interfaces(call, record, interfaces)
    call.cloud.put("instance", instance_id, record)
    for disk in launch.disks:
        _add_disk(call, instance_id, disk, launch)
    begin(call, "launch", instances.find(call, instance_id), instances.release)
    return instances.find(call, instance_id)


def _placement(call: Call, params: dict[str, Any], launch: Launch) -> dict[str, Any]:
    wanted = params.get("Placement", {})
    vpc = ids.find(call, "vpc", launch.subnet["VpcId"])
    placement = {
        "AvailabilityZone": launch.zone,
        "AvailabilityZoneId": zones.zone_id(launch.zone),
        "GroupName": "",
        "Tenancy": wanted.get("Tenancy", vpc["InstanceTenancy"]),
    }
    group = placement_groups.wanted(call, wanted)
    if group:
        placement |= placement_groups.place(call, group, launch.instance_type, wanted)
    return placement


def _add_disk(call: Call, instance_id: str, disk: dict[str, Any], launch: Launch) -> None:
    ebs = disk["Ebs"]
    wanted = {key: value for key, value in ebs.items() if key not in ("VolumeSize", "DeleteOnTermination")}
    volume = volumes.create(call, {**wanted, "Size": ebs["VolumeSize"]}, launch.zone, launch.tags["volume"])
    volume_attachments.attach(
        call,
        volume,
        instances.find(call, instance_id),
        disk["DeviceName"],
        delete_on_termination=ebs["DeleteOnTermination"],
    )
