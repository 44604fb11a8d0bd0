"""The same ordinary sequences against moto and against Hive: the answers must be the same, but for differences that
are named here, each with its reason.

Ids, times, addresses and the account are replaced by names before the comparison. Compared is everything that moto
answers: each member must be in Hive's answer with the same value. (What Hive answers beyond moto is no difference.)
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from datetime import datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from hive_emulator.testing import free_port, running_emulator

REGION = "ap-southeast-2"
ZONE = "ap-southeast-2a"
PUBLIC_KEY = b"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ7wrwGkV5XJ4yp0dQyJ4qGkFpFpm0OQxwG0oqKf5Ycj someone@example.com"

# "sequence/step/path" → why Hive differs from moto on purpose. Every line must be needed: a test sees to that.
INTENDED = {
    "*/Vpc*/DhcpOptionsId": "Hive's default DHCP options are called dopt-default; moto's name is no id at all",
    "vpcs/its security groups/SecurityGroups/[*]/IpPermissions": (
        "the default group allows what comes from itself, as in AWS; moto's allows nothing"
    ),
    "*/NetworkInterface*/RequesterId": "AWS names a requester only for interfaces that a service made",
    "addresses_and_interfaces/*/PublicIp": "Hive hands out 198.18.0.0/15 (never routed), moto loopback addresses",
    "volumes_and_snapshots/create/State": "a new volume is creating at first, as in AWS; then it is available",
    "volumes_and_snapshots/snapshot/State": "a new snapshot is pending at first, as in AWS",
    "volumes_and_snapshots/snapshot/Progress": "a pending snapshot has no progress yet",
    "key_pairs_and_groups/*/KeyFingerprint": "the true fingerprint of an ed25519 key is SHA-256; moto gives an MD5",
    "instances/*/DeviceName": "the root is where the image says; moto's is on /dev/sda1",
    "instances/*/NetworkInterfaces/[*]/Attachment/DeleteOnTermination": (
        "an interface made for a launch goes with its instance, as in AWS"
    ),
    "instances/*/NetworkInterfaces/[*]/Description": "AWS leaves it empty; moto writes 'Primary network interface'",
    "instances/*/SecurityGroups": "without a group named, an instance gets the VPC's default group; in moto none",
    "instances/*/SriovNetSupport": "an image that doesn't set it has none, as in AWS",
    "instances/*/StateReason": "there is a reason only after a change of state; moto's is empty",
}


class Recorder:
    """Calls a client and keeps every answer or error under the step's name."""

    def __init__(self, ec2: Any) -> None:
        self.ec2 = ec2
        self.answers: dict[str, Any] = {}

    def __call__(self, step: str, method: str, **params: Any) -> Any:
        try:
            answer = getattr(self.ec2, method)(**params)
            answer.pop("ResponseMetadata")
        except ClientError as error:
            answer = {"ERROR": error.response["Error"]["Code"]}
        self.answers[step] = answer
        return answer


def vpcs(call: Recorder) -> None:
    tags = [{"ResourceType": "vpc", "Tags": [{"Key": "Name", "Value": "one"}]}]
    vpc = call("create", "create_vpc", CidrBlock="10.0.0.0/16", TagSpecifications=tags)["Vpc"]["VpcId"]
    call("describe", "describe_vpcs", VpcIds=[vpc])
    call("describe by tag", "describe_vpcs", Filters=[{"Name": "tag:Name", "Values": ["one"]}])
    call("describe by cidr", "describe_vpcs", Filters=[{"Name": "cidr", "Values": ["10.0.0.0/16"]}])
    for attribute in ("enableDnsSupport", "enableDnsHostnames"):
        call(attribute, "describe_vpc_attribute", VpcId=vpc, Attribute=attribute)
    call("modify", "modify_vpc_attribute", VpcId=vpc, EnableDnsHostnames={"Value": True})
    call("modified", "describe_vpc_attribute", VpcId=vpc, Attribute="enableDnsHostnames")
    mine = [{"Name": "vpc-id", "Values": [vpc]}]
    call("its security groups", "describe_security_groups", Filters=mine)
    call("its route tables", "describe_route_tables", Filters=mine)
    call("its network acls", "describe_network_acls", Filters=mine)
    call("too large", "create_vpc", CidrBlock="10.0.0.0/8")
    call("too small", "create_vpc", CidrBlock="10.0.0.0/29")
    call("no cidr", "create_vpc", CidrBlock="nonsense")
    call("delete", "delete_vpc", VpcId=vpc)
    call("gone", "describe_vpcs", VpcIds=[vpc])
    call("delete again", "delete_vpc", VpcId=vpc)


def subnets(call: Recorder) -> None:
    vpc = call("vpc", "create_vpc", CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    made = call("create", "create_subnet", VpcId=vpc, CidrBlock="10.0.1.0/24", AvailabilityZone=ZONE)
    subnet = made["Subnet"]["SubnetId"]
    call("describe", "describe_subnets", SubnetIds=[subnet])
    call("overlapping", "create_subnet", VpcId=vpc, CidrBlock="10.0.1.128/25")
    call("outside", "create_subnet", VpcId=vpc, CidrBlock="192.168.0.0/24")
    call("no such zone", "create_subnet", VpcId=vpc, CidrBlock="10.0.2.0/24", AvailabilityZone="mars-1a")
    call("no such vpc", "create_subnet", VpcId="vpc-0123456789abcdef0", CidrBlock="10.0.2.0/24")
    call("public", "modify_subnet_attribute", SubnetId=subnet, MapPublicIpOnLaunch={"Value": True})
    call("is public", "describe_subnets", Filters=[{"Name": "vpc-id", "Values": [vpc]}])
    call("vpc in use", "delete_vpc", VpcId=vpc)
    call("delete", "delete_subnet", SubnetId=subnet)
    call("gone", "describe_subnets", SubnetIds=[subnet])


def security_groups(call: Recorder) -> None:
    vpc = call("vpc", "create_vpc", CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    wanted = {"GroupName": "web", "Description": "web servers", "VpcId": vpc}
    group = call("create", "create_security_group", **wanted)["GroupId"]
    call("same name", "create_security_group", **wanted)
    ssh = {"IpProtocol": "tcp", "FromPort": 22, "ToPort": 22, "IpRanges": [{"CidrIp": "10.0.0.0/8"}]}
    call("allow", "authorize_security_group_ingress", GroupId=group, IpPermissions=[ssh])
    call("allow twice", "authorize_security_group_ingress", GroupId=group, IpPermissions=[ssh])
    itself = {"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": group}]}
    call("allow itself", "authorize_security_group_ingress", GroupId=group, IpPermissions=[itself])
    call("describe", "describe_security_groups", GroupIds=[group])
    call("revoke", "revoke_security_group_ingress", GroupId=group, IpPermissions=[ssh])
    call("revoke twice", "revoke_security_group_ingress", GroupId=group, IpPermissions=[ssh])
    call("revoke itself", "revoke_security_group_ingress", GroupId=group, IpPermissions=[itself])
    call("delete", "delete_security_group", GroupId=group)
    call("gone", "describe_security_groups", GroupIds=[group])


def gateways_and_routes(call: Recorder) -> None:
    vpc = call("vpc", "create_vpc", CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    wanted = {"VpcId": vpc, "CidrBlock": "10.0.1.0/24", "AvailabilityZone": ZONE}
    subnet = call("subnet", "create_subnet", **wanted)["Subnet"]["SubnetId"]
    gateway = call("gateway", "create_internet_gateway")["InternetGateway"]["InternetGatewayId"]
    call("attach", "attach_internet_gateway", InternetGatewayId=gateway, VpcId=vpc)
    call("attach twice", "attach_internet_gateway", InternetGatewayId=gateway, VpcId=vpc)
    call("attached", "describe_internet_gateways", InternetGatewayIds=[gateway])
    table = call("table", "create_route_table", VpcId=vpc)["RouteTable"]["RouteTableId"]
    out = {"RouteTableId": table, "DestinationCidrBlock": "0.0.0.0/0"}
    call("route", "create_route", **out, GatewayId=gateway)
    call("route twice", "create_route", **out, GatewayId=gateway)
    joined = call("associate", "associate_route_table", RouteTableId=table, SubnetId=subnet)
    call("tables", "describe_route_tables", RouteTableIds=[table])
    call("table in use", "delete_route_table", RouteTableId=table)
    call("gateway in use", "delete_internet_gateway", InternetGatewayId=gateway)
    call("delete route", "delete_route", **out)
    call("delete route again", "delete_route", **out)
    call("disassociate", "disassociate_route_table", AssociationId=joined["AssociationId"])
    call("delete table", "delete_route_table", RouteTableId=table)
    call("table gone", "describe_route_tables", RouteTableIds=[table])
    call("detach", "detach_internet_gateway", InternetGatewayId=gateway, VpcId=vpc)
    call("delete gateway", "delete_internet_gateway", InternetGatewayId=gateway)
    call("gateway gone", "describe_internet_gateways", InternetGatewayIds=[gateway])


def addresses_and_interfaces(call: Recorder) -> None:
    vpc = call("vpc", "create_vpc", CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    placed = {"VpcId": vpc, "CidrBlock": "10.0.1.0/24", "AvailabilityZone": ZONE}
    subnet = call("subnet", "create_subnet", **placed)["Subnet"]["SubnetId"]
    wanted = {"SubnetId": subnet, "PrivateIpAddress": "10.0.1.50", "Description": "mine"}
    interface = call("interface", "create_network_interface", **wanted)["NetworkInterface"]["NetworkInterfaceId"]
    call("describe interface", "describe_network_interfaces", NetworkInterfaceIds=[interface])
    gateway = call("gateway", "create_internet_gateway")["InternetGateway"]["InternetGatewayId"]
    call("attach", "attach_internet_gateway", InternetGatewayId=gateway, VpcId=vpc)
    call("address", "allocate_address", Domain="vpc")
    allocation = call.answers["address"]["AllocationId"]
    call("describe address", "describe_addresses", AllocationIds=[allocation])
    joined = call("associate", "associate_address", AllocationId=allocation, NetworkInterfaceId=interface)
    call("associated", "describe_addresses", AllocationIds=[allocation])
    call("disassociate", "disassociate_address", AssociationId=joined["AssociationId"])
    call("release", "release_address", AllocationId=allocation)
    call("release again", "release_address", AllocationId=allocation)
    call("delete interface", "delete_network_interface", NetworkInterfaceId=interface)
    call("interface gone", "describe_network_interfaces", NetworkInterfaceIds=[interface])


def volumes_and_snapshots(call: Recorder) -> None:
    volume = call("create", "create_volume", AvailabilityZone=ZONE, Size=8, VolumeType="gp3")["VolumeId"]
    call("describe", "describe_volumes", VolumeIds=[volume])
    call("by size", "describe_volumes", Filters=[{"Name": "size", "Values": ["8"]}])
    call("tag", "create_tags", Resources=[volume], Tags=[{"Key": "a", "Value": "b"}])
    call("tags", "describe_tags", Filters=[{"Name": "resource-id", "Values": [volume]}])
    call("tagged", "describe_volumes", Filters=[{"Name": "tag:a", "Values": ["b"]}])
    call("untag", "delete_tags", Resources=[volume], Tags=[{"Key": "a"}])
    call("untagged", "describe_volumes", VolumeIds=[volume])
    snapshot = call("snapshot", "create_snapshot", VolumeId=volume, Description="d")["SnapshotId"]
    call("describe snapshot", "describe_snapshots", SnapshotIds=[snapshot])
    call("delete", "delete_volume", VolumeId=volume)
    call("gone", "describe_volumes", VolumeIds=[volume])
    call("delete again", "delete_volume", VolumeId=volume)
    call("delete snapshot", "delete_snapshot", SnapshotId=snapshot)
    call("snapshot gone", "describe_snapshots", SnapshotIds=[snapshot])


def key_pairs_and_groups(call: Recorder) -> None:
    call("import", "import_key_pair", KeyName="mine", PublicKeyMaterial=PUBLIC_KEY)
    call("import twice", "import_key_pair", KeyName="mine", PublicKeyMaterial=PUBLIC_KEY)
    call("describe", "describe_key_pairs", KeyNames=["mine"])
    call("delete", "delete_key_pair", KeyName="mine")
    call("gone", "describe_key_pairs", KeyNames=["mine"])
    call("delete again", "delete_key_pair", KeyName="mine")


def instances(call: Recorder) -> None:
    # The newest here asks for tokens of the metadata service; moto's have no such wish.
    wanted = [{"Name": "name", "Values": ["amzn-ami-hvm-*-x86_64-gp2"]}]
    image = call.ec2.describe_images(Filters=wanted)["Images"][0]["ImageId"]
    vpc = call("vpc", "create_vpc", CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    subnet = call("subnet", "create_subnet", VpcId=vpc, CidrBlock="10.0.1.0/24", AvailabilityZone=ZONE)
    tags = [{"ResourceType": "instance", "Tags": [{"Key": "Name", "Value": "web"}]}]
    made = call(
        "run",
        "run_instances",
        ImageId=image,
        InstanceType="t3.micro",
        SubnetId=subnet["Subnet"]["SubnetId"],
        MinCount=1,
        MaxCount=1,
        TagSpecifications=tags,
        ClientToken="the-token",
    )["Instances"][0]
    ids = [made["InstanceId"]]
    call("describe", "describe_instances", InstanceIds=ids)
    call("by tag", "describe_instances", Filters=[{"Name": "tag:Name", "Values": ["web"]}])
    call("by state", "describe_instances", Filters=[{"Name": "instance-state-name", "Values": ["stopped"]}])
    for attribute in ("instanceType", "disableApiTermination", "instanceInitiatedShutdownBehavior"):
        call(attribute, "describe_instance_attribute", InstanceId=ids[0], Attribute=attribute)
    call("subnet in use", "delete_subnet", SubnetId=subnet["Subnet"]["SubnetId"])
    call("stop", "stop_instances", InstanceIds=ids)
    call("change type", "modify_instance_attribute", InstanceId=ids[0], InstanceType={"Value": "t3.small"})
    call("changed type", "describe_instance_attribute", InstanceId=ids[0], Attribute="instanceType")
    call("start", "start_instances", InstanceIds=ids)
    call("protect", "modify_instance_attribute", InstanceId=ids[0], DisableApiTermination={"Value": True})
    call("protected", "terminate_instances", InstanceIds=ids)
    call("unprotect", "modify_instance_attribute", InstanceId=ids[0], DisableApiTermination={"Value": False})
    call("terminate", "terminate_instances", InstanceIds=ids)
    call("unknown", "describe_instances", InstanceIds=["i-0123456789abcdef0"])


def nothing_there(call: Recorder) -> None:
    """Every Describe by an id that does not exist, and every Delete."""
    none = "0123456789abcdef0"
    call("vpc", "describe_vpcs", VpcIds=[f"vpc-{none}"])
    call("subnet", "describe_subnets", SubnetIds=[f"subnet-{none}"])
    call("group", "describe_security_groups", GroupIds=[f"sg-{none}"])
    call("gateway", "describe_internet_gateways", InternetGatewayIds=[f"igw-{none}"])
    call("table", "describe_route_tables", RouteTableIds=[f"rtb-{none}"])
    call("interface", "describe_network_interfaces", NetworkInterfaceIds=[f"eni-{none}"])
    call("volume", "describe_volumes", VolumeIds=[f"vol-{none}"])
    call("snapshot", "describe_snapshots", SnapshotIds=[f"snap-{none}"])
    call("image", "describe_images", ImageIds=[f"ami-{none}"])
    call("instance", "describe_instances", InstanceIds=[f"i-{none}"])
    call("key pair", "describe_key_pairs", KeyNames=["nobody"])
    call("address", "describe_addresses", AllocationIds=[f"eipalloc-{none}"])
    call("delete subnet", "delete_subnet", SubnetId=f"subnet-{none}")
    call("delete group", "delete_security_group", GroupId=f"sg-{none}")
    call("delete gateway", "delete_internet_gateway", InternetGatewayId=f"igw-{none}")
    call("delete table", "delete_route_table", RouteTableId=f"rtb-{none}")
    call("delete volume", "delete_volume", VolumeId=f"vol-{none}")
    call("terminate", "terminate_instances", InstanceIds=[f"i-{none}"])


SEQUENCES: list[Callable[[Recorder], None]] = [
    vpcs,
    subnets,
    security_groups,
    gateways_and_routes,
    addresses_and_interfaces,
    volumes_and_snapshots,
    key_pairs_and_groups,
    instances,
    nothing_there,
]

# --- comparing ---

_ID = re.compile(r"\b([a-z]+(?:-[a-z]+)*-)(?=[0-9a-f]{8,17}\b)[0-9a-f]+\b")


class Names:
    """Replaces what can't be the same: ids by their kind and order, times, addresses, the account."""

    def __init__(self, account: str) -> None:
        self._account = account
        self._seen: dict[str, str] = {}

    def plain(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {name: self.plain(member) for name, member in value.items()}
        if isinstance(value, list):
            return [self.plain(item) for item in value]
        if isinstance(value, datetime):
            return "TIME"
        return self._text(value) if isinstance(value, str) else value

    def _text(self, text: str) -> str:
        text = text.replace(self._account, "ACCOUNT")
        text = re.sub(r"\b([0-9a-f]{2}:){5}[0-9a-f]{2}\b", "MAC", text)
        return _ID.sub(lambda found: self._id(found[0], found[1]), text)

    def _id(self, id: str, prefix: str) -> str:
        if id not in self._seen:
            number = 1 + sum(name.startswith(f"{prefix}#") for name in self._seen.values())
            self._seen[id] = f"{prefix}#{number}"
        return self._seen[id]


def differences(moto: Any, hive: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(moto, dict) and isinstance(hive, dict):
        for name, member in moto.items():
            if name in hive:
                yield from differences(member, hive[name], f"{path}/{name}")
            elif member not in ("", [], {}, None):
                yield f"{path}/{name}", member, "(absent)"
    elif isinstance(moto, list) and isinstance(hive, list) and len(moto) == len(hive):
        for each, other in zip(moto, hive, strict=True):
            yield from differences(each, other, f"{path}/*")
    elif moto != hive:
        yield path, moto, hive


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, Any, Any]]:
    """All differences over all sequences."""
    with running_moto() as moto, running_emulator(tmp_path_factory.mktemp("hive")) as hive:
        ours, account = hive.client("ec2"), hive.account
        all_of_them = []
        for sequence in SEQUENCES:
            theirs, mine = Recorder(moto), Recorder(ours)
            sequence(theirs)
            sequence(mine)
            assert list(theirs.answers) == list(mine.answers)
            for_moto, for_hive = Names("123456789012"), Names(account)
            for step, answer in theirs.answers.items():
                plain = for_moto.plain(answer), for_hive.plain(mine.answers[step])
                all_of_them += differences(*plain, f"{sequence.__name__}/{step}")
        return all_of_them


def running_moto() -> Any:
    from contextlib import contextmanager

    import boto3

    @contextmanager
    def running() -> Iterator[Any]:
        port = free_port()
        argv = [str(Path(sys.executable).with_name("moto_server")), "-H", "127.0.0.1", "-p", str(port)]
        process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            deadline = time.monotonic() + 60
            while True:
                try:
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/moto-api/").close()
                    break
                except OSError:
                    assert time.monotonic() < deadline
                    time.sleep(0.05)
            session = boto3.session.Session("testing", "testing", region_name=REGION)
            yield session.client("ec2", endpoint_url=f"http://127.0.0.1:{port}")
        finally:
            process.kill()
            process.wait()

    return running()


def test_no_difference_but_the_intended_ones(found: list[tuple[str, Any, Any]]) -> None:
    left = [
        f"{path}\n    moto: {moto!r}\n    hive: {hive!r}"
        for path, moto, hive in found
        if not any(fnmatchcase(path, pattern) for pattern in INTENDED)
    ]
    assert not left, "\n".join(left)


def test_every_intended_difference_is_still_one(found: list[tuple[str, Any, Any]]) -> None:
    unused = [pattern for pattern in INTENDED if not any(fnmatchcase(path, pattern) for path, _, _ in found)]
    assert not unused
