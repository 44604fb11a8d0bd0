"""boto3's waiters and paginators, and the AWS CLI, on a small cloud of everything."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore import xform_name
from botocore.exceptions import ClientError
from botocore.loaders import Loader

from hive_emulator.protocol.model import services
from hive_emulator.testing import RunningHive, running_emulator

COUNT = 12
SOON = {"Delay": 1, "MaxAttempts": 30}
PAGED = sorted(
    name
    for name in Loader().load_service_model("ec2", "paginators-1")["pagination"]
    if name in services()["ec2"]["operations"] and "Classic" not in name
)


@pytest.fixture(scope="module")
def hive() -> Iterator[RunningHive]:
    with running_emulator() as running:
        yield running


@pytest.fixture(scope="module")
def ec2(hive: RunningHive) -> Any:
    return hive.client("ec2")


@pytest.fixture(scope="module")
def image(ec2: Any) -> str:
    wanted = [{"Name": "name", "Values": ["*debian-12*"]}, {"Name": "architecture", "Values": ["x86_64"]}]
    return ec2.describe_images(Filters=wanted)["Images"][0]["ImageId"]


@pytest.fixture(scope="module")
def populated(ec2: Any, image: str) -> Any:
    """A dozen of everything that can be described page by page."""
    for n in range(COUNT):
        vpc = ec2.create_vpc(CidrBlock=f"10.{n}.0.0/16")["Vpc"]["VpcId"]
        subnet = ec2.create_subnet(VpcId=vpc, CidrBlock=f"10.{n}.1.0/24")["Subnet"]["SubnetId"]
        ec2.create_internet_gateway()
        ec2.create_egress_only_internet_gateway(VpcId=vpc)
        ec2.create_network_interface(SubnetId=subnet)
        ec2.create_tags(Resources=[vpc], Tags=[{"Key": "n", "Value": str(n)}])
        volume = ec2.create_volume(AvailabilityZone="ap-southeast-2a", Size=1)["VolumeId"]
        ec2.create_snapshot(VolumeId=volume)
        ec2.modify_volume(VolumeId=volume, Size=2)
        ec2.create_nat_gateway(SubnetId=subnet, ConnectivityType="private")
        ec2.run_instances(ImageId=image, InstanceType="t3.micro", SubnetId=subnet, MinCount=1, MaxCount=1)
    return ec2


@pytest.fixture(scope="module")
def asked(populated: Any) -> dict[str, dict[str, Any]]:
    """Actions that page through what one thing has → which one."""
    ec2, cidrs = populated, [f"10.{n}.0.0/16" for n in range(COUNT)]
    listed = ec2.create_managed_prefix_list(
        PrefixListName="paged", AddressFamily="IPv4", MaxEntries=COUNT, Entries=[{"Cidr": cidr} for cidr in cidrs]
    )["PrefixList"]["PrefixListId"]
    balancer = "arn:aws:elasticloadbalancing:ap-southeast-2:000000000001:loadbalancer/net/paged/0123456789abcdef"
    service = ec2.create_vpc_endpoint_service_configuration(NetworkLoadBalancerArns=[balancer])
    service_id = service["ServiceConfiguration"]["ServiceId"]
    people = [f"arn:aws:iam::{n:012}:root" for n in range(1, COUNT + 1)]
    ec2.modify_vpc_endpoint_service_permissions(ServiceId=service_id, AddAllowedPrincipals=people)
    gateway = ec2.create_transit_gateway()["TransitGateway"]
    table = {"TransitGatewayRouteTableId": gateway["Options"]["AssociationDefaultRouteTableId"]}
    for subnet in ec2.describe_subnets(Filters=[{"Name": "cidr-block", "Values": ["10.*"]}])["Subnets"]:
        attachment = ec2.create_transit_gateway_vpc_attachment(
            TransitGatewayId=gateway["TransitGatewayId"], VpcId=subnet["VpcId"], SubnetIds=[subnet["SubnetId"]]
        )["TransitGatewayVpcAttachment"]["TransitGatewayAttachmentId"]
    return {
        "DescribeVpcEndpointServicePermissions": {"ServiceId": service_id},
        "GetManagedPrefixListAssociations": {"PrefixListId": listed},
        "GetManagedPrefixListEntries": {"PrefixListId": listed},
        "GetTransitGatewayAttachmentPropagations": {"TransitGatewayAttachmentId": attachment},
        "GetTransitGatewayRouteTableAssociations": table,
        "GetTransitGatewayRouteTablePropagations": table,
        "SearchTransitGatewayRoutes": {**table, "Filters": [{"Name": "state", "Values": ["active"]}]},
    }


@pytest.mark.parametrize("action", PAGED)
def test_pages_together_are_the_whole(populated: Any, asked: dict[str, dict[str, Any]], action: str) -> None:
    method, given = xform_name(action), asked.get(action, {})
    paginator = populated.get_paginator(method)
    key = paginator.result_keys[0].expression
    whole = paginator.paginate(**given).build_full_result()[key]  # instance types come in pages of 100 unless asked
    pages = [page[key] for page in paginator.paginate(**given, PaginationConfig={"PageSize": 5})]
    assert [item for page in pages for item in page] == whole
    assert all(len(page) <= 5 for page in pages)
    if len(whole) > 5:
        assert len(pages) > 1


def test_enough_was_there_to_page_through(populated: Any) -> None:
    for method, key in (("describe_vpcs", "Vpcs"), ("describe_volumes", "Volumes"), ("describe_tags", "Tags")):
        assert len(getattr(populated, method)()[key]) >= COUNT


@pytest.mark.parametrize("token", ["nonsense", "e30=", "x" * 2000, "AAAA"])
def test_a_token_that_was_never_given_out_is_refused(populated: Any, token: str) -> None:
    with pytest.raises(ClientError) as caught:
        populated.describe_vpcs(MaxResults=5, NextToken=token)
    assert caught.value.response["Error"]["Code"] in (
        "InvalidNextToken",
        "InvalidParameterValue",
        "InvalidPaginationToken",
    )


def wait(ec2: Any, waiter: str, **what: Any) -> None:
    ec2.get_waiter(waiter).wait(**what, WaiterConfig=SOON)


def test_waiters_follow_an_instance_through_its_life(ec2: Any, image: str) -> None:
    made = ec2.run_instances(ImageId=image, InstanceType="t3.micro", MinCount=1, MaxCount=1)["Instances"][0]
    ids = [made["InstanceId"]]
    for waiter in ("instance_exists", "instance_running", "instance_status_ok", "system_status_ok"):
        wait(ec2, waiter, InstanceIds=ids)
    ec2.stop_instances(InstanceIds=ids)
    wait(ec2, "instance_stopped", InstanceIds=ids)
    ec2.terminate_instances(InstanceIds=ids)
    wait(ec2, "instance_terminated", InstanceIds=ids)


def test_waiters_follow_volumes_snapshots_and_images(ec2: Any, image: str) -> None:
    instance = ec2.run_instances(ImageId=image, InstanceType="t3.micro", MinCount=1, MaxCount=1)["Instances"][0]
    wait(ec2, "instance_running", InstanceIds=[instance["InstanceId"]])
    zone = instance["Placement"]["AvailabilityZone"]
    volume = ec2.create_volume(AvailabilityZone=zone, Size=1)["VolumeId"]
    wait(ec2, "volume_available", VolumeIds=[volume])
    ec2.attach_volume(VolumeId=volume, InstanceId=instance["InstanceId"], Device="/dev/sdf")
    wait(ec2, "volume_in_use", VolumeIds=[volume])
    snapshot = ec2.create_snapshot(VolumeId=volume)["SnapshotId"]
    wait(ec2, "snapshot_completed", SnapshotIds=[snapshot])
    made = ec2.create_image(InstanceId=instance["InstanceId"], Name="mine")["ImageId"]
    wait(ec2, "image_exists", ImageIds=[made])
    wait(ec2, "image_available", ImageIds=[made])
    ec2.detach_volume(VolumeId=volume)
    wait(ec2, "volume_available", VolumeIds=[volume])
    ec2.delete_volume(VolumeId=volume)
    wait(ec2, "volume_deleted", VolumeIds=[volume])


def test_waiters_follow_the_network(ec2: Any) -> None:
    vpc = ec2.create_vpc(CidrBlock="10.200.0.0/16")["Vpc"]["VpcId"]
    wait(ec2, "vpc_exists", VpcIds=[vpc])
    wait(ec2, "vpc_available", VpcIds=[vpc])
    subnet = ec2.create_subnet(VpcId=vpc, CidrBlock="10.200.1.0/24")["Subnet"]["SubnetId"]
    wait(ec2, "subnet_available", SubnetIds=[subnet])
    group = ec2.create_security_group(GroupName="g", Description="d", VpcId=vpc)["GroupId"]
    wait(ec2, "security_group_exists", GroupIds=[group])
    interface = ec2.create_network_interface(SubnetId=subnet)["NetworkInterface"]["NetworkInterfaceId"]
    wait(ec2, "network_interface_available", NetworkInterfaceIds=[interface])
    gateway = ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
    wait(ec2, "internet_gateway_exists", InternetGatewayIds=[gateway])
    nat = ec2.create_nat_gateway(SubnetId=subnet, ConnectivityType="private")["NatGateway"]["NatGatewayId"]
    wait(ec2, "nat_gateway_available", NatGatewayIds=[nat])
    ec2.delete_nat_gateway(NatGatewayId=nat)
    wait(ec2, "nat_gateway_deleted", NatGatewayIds=[nat])
    ec2.create_key_pair(KeyName="waited-for")
    wait(ec2, "key_pair_exists", KeyNames=["waited-for"])


# --- the AWS CLI ---


def aws(hive: RunningHive, tmp_path: Path, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).with_name("aws")
    if not program.exists():
        pytest.skip("the AWS CLI (PyPI awscli) is not installed")
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "AWS_PAGER": "", **hive.env()}
    # The CLI's own launcher starts with "env python": go round it, to the Python that has it.
    argv = [sys.executable, "-W", "ignore", str(program), *words, "--output", "json"]
    return subprocess.run(argv, capture_output=True, text=True, env=environ, check=check)


def test_the_aws_cli_works_from_the_environment(hive: RunningHive, tmp_path: Path) -> None:
    who = json.loads(aws(hive, tmp_path, "sts", "get-caller-identity").stdout)
    assert who["Account"] == "000000000001"
    tags = "ResourceType=vpc,Tags=[{Key=Name,Value=by the cli}]"
    made = json.loads(
        aws(hive, tmp_path, "ec2", "create-vpc", "--cidr-block", "10.77.0.0/16", "--tag-specifications", tags).stdout
    )["Vpc"]
    filters = ["--filters", "Name=tag:Name,Values=by*cli", "--query", "Vpcs[].VpcId"]
    assert json.loads(aws(hive, tmp_path, "ec2", "describe-vpcs", *filters).stdout) == [made["VpcId"]]
    aws(hive, tmp_path, "ec2", "wait", "vpc-available", "--vpc-ids", made["VpcId"])
    dry = aws(hive, tmp_path, "ec2", "delete-vpc", "--vpc-id", made["VpcId"], "--dry-run", check=False)
    assert dry.returncode != 0
    assert "(DryRunOperation)" in dry.stderr
    aws(hive, tmp_path, "ec2", "delete-vpc", "--vpc-id", made["VpcId"])
    gone = aws(hive, tmp_path, "ec2", "describe-vpcs", "--vpc-ids", made["VpcId"], check=False)
    assert "(InvalidVpcID.NotFound)" in gone.stderr
