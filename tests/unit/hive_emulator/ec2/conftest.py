"""Actions without HTTP, on a fresh cloud for each test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest

from hive_emulator.errors import ApiError
from hive_emulator.testing import Desk


@pytest.fixture
def desk() -> Desk:
    """``desk("CreateVpc", CidrBlock="10.0.0.0/16")["Vpc"]``."""
    return Desk()


@pytest.fixture
def refused() -> Callable[..., AbstractContextManager[None]]:
    """``with refused("InvalidVpc.Range", "10.0.0.0/8"):`` the code, and words that the message must have."""

    @contextmanager
    def check(code: str, *words: str) -> Iterator[None]:
        with pytest.raises(ApiError) as caught:
            yield
        assert caught.value.code == code, str(caught.value)
        for word in words:
            assert word in caught.value.message

    return check


@pytest.fixture
def vpc(desk: Desk) -> str:
    """The id of a VPC with the block 10.0.0.0/16."""
    return desk("CreateVpc", CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]


@pytest.fixture
def subnet(desk: Desk, vpc: str) -> str:
    """The id of a subnet 10.0.1.0/24 of that VPC."""
    return desk("CreateSubnet", VpcId=vpc, CidrBlock="10.0.1.0/24")["Subnet"]["SubnetId"]


@pytest.fixture
def gateway(desk: Desk, vpc: str) -> str:
    """The id of an internet gateway attached to that VPC."""
    made = desk("CreateInternetGateway")["InternetGateway"]["InternetGatewayId"]
    desk("AttachInternetGateway", InternetGatewayId=made, VpcId=vpc)
    return made


@pytest.fixture
def debian(desk: Desk) -> str:
    """The id of the newest Debian 12 image for x86_64."""
    wanted = [{"Name": "name", "Values": ["debian-12-amd64-*"]}]
    return max(desk("DescribeImages", Filters=wanted)["Images"], key=lambda image: image["CreationDate"])["ImageId"]


@pytest.fixture
def launch(desk: Desk, debian: str) -> Callable[..., dict[str, Any]]:
    """``launch(InstanceType="m5.large")``: one Debian by RunInstances, in the default subnet."""

    def run(**params: Any) -> dict[str, Any]:
        wanted = {"ImageId": debian, "InstanceType": "t3.micro", "MinCount": 1, "MaxCount": 1, **params}
        return desk("RunInstances", **wanted)["Instances"][0]

    return run


@pytest.fixture
def instance(desk: Desk) -> Callable[[str], dict[str, Any]]:
    """``instance(id)``: as DescribeInstances shows it."""

    def show(instance_id: str) -> dict[str, Any]:
        return desk("DescribeInstances", InstanceIds=[instance_id])["Reservations"][0]["Instances"][0]

    return show


@pytest.fixture
def volume(desk: Desk) -> Callable[..., dict[str, Any]]:
    """``volume(Size=8)``: a new volume in the first zone."""
    return lambda **params: desk("CreateVolume", **{"AvailabilityZone": "ap-southeast-2a", "Size": 8, **params})
