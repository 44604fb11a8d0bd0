"""Calls in any order, most of them possible: each answers or is refused, and the records agree with each other.

1. A walk picks one call after the other, with ids of what is there.
2. A refusal is fine. Anything else that is raised is not: a 500 for a client.
3. Every few steps the records are looked at: who points at whom, what is shown in two places, what is counted.
"""

from __future__ import annotations

import asyncio
import ipaddress
import random
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from hive_emulator.cloud import Cloud
from hive_emulator.config import CloudConfig
from hive_emulator.ec2 import public_addresses
from hive_emulator.ec2.tags import _ID_MEMBERS as ID_MEMBERS
from hive_emulator.errors import ApiError
from hive_emulator.testing import Desk

STEPS = 4000
LOOK_EVERY = 20
MAKERS = ("Create", "Run", "Attach", "Associate", "Allocate")  # chosen twice as often, so that something is there
TYPES = ["t3.micro", "t3.small", "m5.large"]


class Walk:
    """A desk, and dice."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.desk = Desk(config=CloudConfig(quotas={"vpcs": 2}))  # few, so that things meet
        self.loop = asyncio.new_event_loop()
        found = self.call("DescribeImages", Filters=[{"Name": "architecture", "Values": ["x86_64"]}])["Images"]
        self.stock = [image["ImageId"] for image in found]
        self.done: Counter[str] = Counter()

    def call(self, action: str, **params: Any) -> dict[str, Any]:
        return self.loop.run_until_complete(self.desk._run(action, "ec2", params))

    def step(self) -> None:
        [action] = self.dice.choices(list(MOVES), [1 + name.startswith(MAKERS) for name in MOVES])
        try:
            self.call(action, **MOVES[action](self))
        except ApiError:
            return
        self.done[action] += 1

    @property
    def cloud(self) -> Cloud:
        return self.desk.emulator.call(self.desk.account, self.desk.region).cloud

    def one(self, *choices: Any) -> Any:
        return self.dice.choice(choices)

    def sometimes(self, **members: Callable[[], Any]) -> dict[str, Any]:
        return {name: value() for name, value in members.items() if self.dice.random() < 0.25}

    def a(self, kind: str) -> str:
        """The id of one that is there."""
        return self.among([record[ID_MEMBERS[kind]] for record in self.cloud.all(kind)])

    def among(self, ids: list[str]) -> str:
        return self.dice.choice(ids) if ids else "none-1"

    def associations(self, kind: str, *members: str, key: str = "AssociationId") -> str:
        records = self.cloud.all(kind)
        return self.among([each[key] for record in records for member in members for each in record[member]])

    def attachment(self) -> str:
        attached = [each["Attachment"] for each in self.cloud.all("network-interface") if "Attachment" in each]
        return self.among([each["AttachmentId"] for each in attached])

    def address(self) -> str:
        return f"{self.one('172.31', '10.0')}.{self.one(0, 1)}.{self.one(4, 5, 6, 20)}"

    def a_secondary_address(self) -> dict[str, Any]:
        interfaces = self.cloud.all("network-interface")
        held = {each["PrivateIpAddresses"][-1]["PrivateIpAddress"]: each["NetworkInterfaceId"] for each in interfaces}
        address = self.among(list(held))
        return {"NetworkInterfaceId": held.get(address), "PrivateIpAddresses": [address]}

    def rules(self) -> dict[str, Any]:
        source = self.one(
            {"IpRanges": [{"CidrIp": "10.0.0.0/8"}]},
            {"Ipv6Ranges": [{"CidrIpv6": "::/0"}]},
            {"UserIdGroupPairs": [{"GroupId": self.a("security-group")}]},
        )
        permission = {"IpProtocol": self.one("tcp", "udp"), "FromPort": self.one(22, 80), "ToPort": 443, **source}
        return {"GroupId": self.a("security-group"), "IpPermissions": [permission]}

    def route(self) -> dict[str, Any]:
        kind, member = self.one(
            ("internet-gateway", "GatewayId"),
            ("natgateway", "NatGatewayId"),
            ("network-interface", "NetworkInterfaceId"),
            ("instance", "InstanceId"),
        )
        return {**self.destination(), member: self.a(kind)}

    def destination(self) -> dict[str, Any]:
        block = self.one("0.0.0.0/0", "10.0.0.0/16", "10.9.0.0/16")
        return {"RouteTableId": self.a("route-table"), "DestinationCidrBlock": block}

    def launch(self) -> dict[str, Any]:
        image = self.one(self.one(*self.stock), self.a("image"))
        wanted = {"ImageId": image, "InstanceType": self.one(*TYPES), "MinCount": 1, "MaxCount": self.one(1, 2)}
        if self.dice.random() < 0.4:
            place = self.one({"NetworkInterfaceId": self.a("network-interface")}, {"SubnetId": self.a("subnet")})
            more = self.sometimes(DeleteOnTermination=lambda: self.one(True, False))
            return {**wanted, "NetworkInterfaces": [{"DeviceIndex": 0, **place, **more}]}
        return {**wanted, **self.sometimes(SubnetId=lambda: self.a("subnet"), Placement=lambda: {"GroupName": "g"})}


MOVES: dict[str, Callable[[Walk], dict[str, Any]]] = {
    "CreateVpc": lambda w: {"CidrBlock": "10.0.0.0/16", "AmazonProvidedIpv6CidrBlock": w.one(True, False)},
    "DeleteVpc": lambda w: {"VpcId": w.a("vpc")},
    "AssociateVpcCidrBlock": lambda w: {"VpcId": w.a("vpc"), "CidrBlock": w.one("10.9.0.0/16", "10.8.0.0/20")},
    "DisassociateVpcCidrBlock": lambda w: {"AssociationId": w.associations("vpc", "CidrBlockAssociationSet")},
    "ModifyVpcAttribute": lambda w: {"VpcId": w.a("vpc"), "EnableDnsHostnames": {"Value": w.one(True, False)}},
    "CreateSubnet": lambda w: {"VpcId": w.a("vpc"), "CidrBlock": w.one("10.0.0.0/24", "10.0.1.0/28", "10.9.0.0/28")},
    "DeleteSubnet": lambda w: {"SubnetId": w.a("subnet")},
    "CreateSecurityGroup": lambda w: {"VpcId": w.a("vpc"), "GroupName": w.one("a", "b"), "Description": "d"},
    "DeleteSecurityGroup": lambda w: {"GroupId": w.a("security-group")},
    "AuthorizeSecurityGroupIngress": Walk.rules,
    "AuthorizeSecurityGroupEgress": Walk.rules,
    "RevokeSecurityGroupIngress": Walk.rules,
    "CreateInternetGateway": lambda w: {},
    "AttachInternetGateway": lambda w: {"InternetGatewayId": w.a("internet-gateway"), "VpcId": w.a("vpc")},
    "DetachInternetGateway": lambda w: {"InternetGatewayId": w.a("internet-gateway"), "VpcId": w.a("vpc")},
    "DeleteInternetGateway": lambda w: {"InternetGatewayId": w.a("internet-gateway")},
    "CreateRouteTable": lambda w: {"VpcId": w.a("vpc")},
    "DeleteRouteTable": lambda w: {"RouteTableId": w.a("route-table")},
    "CreateRoute": Walk.route,
    "ReplaceRoute": Walk.route,
    "DeleteRoute": Walk.destination,
    "AssociateRouteTable": lambda w: {
        "RouteTableId": w.a("route-table"),
        **w.one({"SubnetId": w.a("subnet")}, {"GatewayId": w.a("internet-gateway")}),
    },
    "ReplaceRouteTableAssociation": lambda w: {
        "RouteTableId": w.a("route-table"),
        "AssociationId": w.associations("route-table", "Associations", key="RouteTableAssociationId"),
    },
    "DisassociateRouteTable": lambda w: {
        "AssociationId": w.associations("route-table", "Associations", key="RouteTableAssociationId")
    },
    "CreateNetworkInterface": lambda w: {
        "SubnetId": w.a("subnet"),
        **w.sometimes(PrivateIpAddress=w.address, SecondaryPrivateIpAddressCount=lambda: 2),
    },
    "DeleteNetworkInterface": lambda w: {"NetworkInterfaceId": w.a("network-interface")},
    "AttachNetworkInterface": lambda w: {
        "NetworkInterfaceId": w.a("network-interface"),
        "InstanceId": w.a("instance"),
        "DeviceIndex": w.one(0, 1, 2),
    },
    "DetachNetworkInterface": lambda w: {"AttachmentId": w.attachment()},
    "ModifyNetworkInterfaceAttribute": lambda w: {
        "NetworkInterfaceId": w.a("network-interface"),
        **w.one({"Groups": [w.a("security-group")]}, {"SourceDestCheck": {"Value": False}}),
    },
    "AssignPrivateIpAddresses": lambda w: {
        "NetworkInterfaceId": w.a("network-interface"),
        **w.one({"PrivateIpAddresses": [w.address()]}, {"SecondaryPrivateIpAddressCount": 1}),
    },
    "UnassignPrivateIpAddresses": Walk.a_secondary_address,
    "AllocateAddress": lambda w: {},
    "ReleaseAddress": lambda w: {"AllocationId": w.a("elastic-ip")},
    "AssociateAddress": lambda w: {
        "AllocationId": w.a("elastic-ip"),
        **w.one({"InstanceId": w.a("instance")}, {"NetworkInterfaceId": w.a("network-interface")}),
    },
    "CreateNatGateway": lambda w: {"SubnetId": w.a("subnet"), "AllocationId": w.a("elastic-ip")},
    "DeleteNatGateway": lambda w: {"NatGatewayId": w.a("natgateway")},
    "RunInstances": Walk.launch,
    "TerminateInstances": lambda w: {"InstanceIds": [w.a("instance")]},
    "StopInstances": lambda w: {"InstanceIds": [w.a("instance")]},
    "StartInstances": lambda w: {"InstanceIds": [w.a("instance"), w.a("instance")]},
    "ModifyInstanceAttribute": lambda w: {
        "InstanceId": w.a("instance"),
        **w.one({"InstanceType": {"Value": w.one(*TYPES)}}, {"Groups": [w.a("security-group")]}),
    },
    "CreatePlacementGroup": lambda w: {"GroupName": "g", "Strategy": w.one("spread", "partition")},
    "DeletePlacementGroup": lambda w: {"GroupName": "g"},
    "CreateVolume": lambda w: {"AvailabilityZone": "ap-southeast-2a", "Size": w.one(1, 8)},
    "DeleteVolume": lambda w: {"VolumeId": w.a("volume")},
    "AttachVolume": lambda w: {"VolumeId": w.a("volume"), "InstanceId": w.a("instance"), "Device": "/dev/sdf"},
    "DetachVolume": lambda w: {"VolumeId": w.a("volume")},
    "ModifyVolume": lambda w: {"VolumeId": w.a("volume"), **w.one({"Size": 20}, {"VolumeType": w.one("gp2", "io1")})},
    "CreateSnapshot": lambda w: {"VolumeId": w.a("volume")},
    "DeleteSnapshot": lambda w: {"SnapshotId": w.a("snapshot")},
    "CreateImage": lambda w: {"InstanceId": w.a("instance"), "Name": w.one("one", "two")},
    "DeregisterImage": lambda w: {"ImageId": w.a("image"), "DeleteAssociatedSnapshots": w.one(True, False)},
    "DescribeInstances": lambda w: {},
    "DescribeNetworkInterfaces": lambda w: {},
    "DescribeRouteTables": lambda w: {},
}


def problems(cloud: Cloud) -> Iterator[str]:
    """What the records disagree about."""
    for look in (_networks, _interfaces, _elastic_ips, _instances, _volumes, _groups, _tables):
        yield from look(cloud)


def _networks(cloud: Cloud) -> Iterator[str]:
    for subnet in cloud.all("subnet"):
        there = cloud.by("network-interface", "SubnetId", subnet["SubnetId"])
        held = sum(len(each["PrivateIpAddresses"]) for each in there)
        free = ipaddress.ip_network(subnet["CidrBlock"]).num_addresses - 5 - held
        if subnet["AvailableIpAddressCount"] != free:
            yield f"{subnet['SubnetId']} says {subnet['AvailableIpAddressCount']} are free, not {free}"
    for vpc in cloud.all("vpc"):
        tables = cloud.by("route-table", "VpcId", vpc["VpcId"])
        mains = [each for table in tables for each in table["Associations"] if each["Main"]]
        groups = [each["GroupName"] for each in cloud.by("security-group", "VpcId", vpc["VpcId"])]
        if len(mains) != 1 or groups.count("default") != 1:
            yield f"{vpc['VpcId']} has {len(mains)} main tables and the groups {groups}"


def _interfaces(cloud: Cloud) -> Iterator[str]:
    taken = Counter()
    for interface in cloud.all("network-interface"):
        name, holder = interface["NetworkInterfaceId"], interface.get("Attachment", {}).get("InstanceId")
        taken.update((interface["SubnetId"], each["PrivateIpAddress"]) for each in interface["PrivateIpAddresses"])
        if cloud.get("subnet", interface["SubnetId"]) is None:
            yield f"{name} is in no subnet"
        if any(cloud.get("security-group", group["GroupId"]) is None for group in interface["Groups"]):
            yield f"{name} is in a group that is gone"
        instance = cloud.get("instance", holder) if holder else None
        if holder and (instance is None or instance["State"]["Name"] == "terminated"):
            yield f"{name} is attached to {holder}, which is gone"
        if (interface["Status"] == "in-use") != ("Attachment" in interface):
            yield f"{name} is {interface['Status']}"
    yield from (f"{twice} is held twice" for twice, count in taken.items() if count > 1)


def _elastic_ips(cloud: Cloud) -> Iterator[str]:
    on_interfaces = {
        (each["Association"]["AllocationId"], interface["NetworkInterfaceId"], each["PrivateIpAddress"])
        for interface in cloud.all("network-interface")
        for each in interface["PrivateIpAddresses"]
        if "AllocationId" in each.get("Association", {})
    }
    placed = {
        (each["AllocationId"], each["NetworkInterfaceId"], each["PrivateIpAddress"])
        for each in cloud.all("elastic-ip")
        if "AssociationId" in each
    }
    if on_interfaces != placed:
        yield f"elastic IPs are at {placed}, interfaces show {on_interfaces}"
    for gateway in cloud.all("natgateway"):
        own = {each["AllocationId"] for each in gateway["NatGatewayAddresses"]}
        if gateway["State"] == "available" and not own <= {each[0] for each in placed}:
            yield f"{gateway['NatGatewayId']} lost its address"


def _instances(cloud: Cloud) -> Iterator[str]:
    groups = {group["GroupName"] for group in cloud.all("placement-group")}
    for instance in cloud.all("instance"):
        name = instance["InstanceId"]
        own = {each["NetworkInterfaceId"]: each for each in cloud.by("network-interface", "InstanceId", name)}
        disks = {each["VolumeId"] for each in cloud.by("volume", "InstanceId", name)}
        if {each["NetworkInterfaceId"] for each in instance["NetworkInterfaces"]} != own.keys():
            yield f"{name} shows other interfaces than it has"
        if {each["Ebs"]["VolumeId"] for each in instance["BlockDeviceMappings"]} != disks:
            yield f"{name} shows other disks than it has"
        for view in instance["NetworkInterfaces"]:
            record = own.get(view["NetworkInterfaceId"], {})
            record = public_addresses.with_names(cloud, record) if record else record
            if any(
                view.get(member) != record.get(member) for member in ("Groups", "PrivateIpAddresses", "Association")
            ):
                yield f"{name} shows {view['NetworkInterfaceId']} as it was"
        if instance["State"]["Name"] == "terminated":
            continue
        if instance["Placement"]["GroupName"] not in {"", *groups}:
            yield f"{name} is in a placement group that is gone"


def _volumes(cloud: Cloud) -> Iterator[str]:
    for volume in cloud.all("volume"):
        if (volume["State"] == "in-use") != bool(volume["Attachments"]):
            yield f"{volume['VolumeId']} is {volume['State']} with {volume['Attachments']}"
    mine = {snapshot["SnapshotId"] for snapshot in cloud.all("snapshot")}
    for image in cloud.all("image"):
        if not {mapping["Ebs"]["SnapshotId"] for mapping in image["BlockDeviceMappings"]} <= mine:
            yield f"{image['ImageId']} has a snapshot that is gone"


def _groups(cloud: Cloud) -> Iterator[str]:
    for rule in cloud.all("security-group-rule"):
        named = {rule["GroupId"], rule.get("ReferencedGroupInfo", rule)["GroupId"]}
        if any(cloud.get("security-group", each) is None for each in named):
            yield f"{rule['SecurityGroupRuleId']} names a group that is gone"
    for group in cloud.all("security-group"):
        lists = ("IpRanges", "Ipv6Ranges", "UserIdGroupPairs")
        permissions = [*group["IpPermissions"], *group["IpPermissionsEgress"]]
        shown = sum(len(permission[each]) for permission in permissions for each in lists)
        if shown != len(cloud.by("security-group-rule", "GroupId", group["GroupId"])):
            yield f"{group['GroupId']} shows {shown} rules, and has others"


def _tables(cloud: Cloud) -> Iterator[str]:
    users = Counter()
    for table in cloud.all("route-table"):
        blocks = [
            route.get("DestinationCidrBlock", route.get("DestinationIpv6CidrBlock")) for route in table["Routes"]
        ]
        if len(set(blocks)) != len(blocks):
            yield f"{table['RouteTableId']} has two routes to one destination: {blocks}"
        for each in table["Associations"]:
            users[each.get("SubnetId") or each.get("GatewayId") or table["VpcId"]] += 1
            if "SubnetId" in each and cloud.get("subnet", each["SubnetId"]) is None:
                yield f"{table['RouteTableId']} is associated with a subnet that is gone"
            gateway = cloud.get("internet-gateway", each["GatewayId"]) if "GatewayId" in each else None
            if "GatewayId" in each and not (gateway and gateway["Attachments"]):
                yield f"{table['RouteTableId']} is associated with a gateway that is gone"
    yield from (f"{twice} has two tables" for twice, count in users.items() if count > 1)


@pytest.mark.parametrize("seed", [1, 2])
def test_the_records_agree_whatever_is_done_in_whatever_order(seed: int) -> None:
    walk = Walk(seed)
    for step in range(STEPS):
        walk.step()
        if step % LOOK_EVERY == 0:
            assert list(problems(walk.cloud)) == [], f"after step {step}"
    walk.loop.close()
    assert len(walk.done) > len(MOVES) * 0.9, f"these were never possible: {sorted(MOVES.keys() - walk.done)}"
