"""Endpoint services: offered by a user, connected to by others, accepted and refused."""

from __future__ import annotations

import pytest

ARN = "arn:aws:elasticloadbalancing:ap-southeast-2:000000000001:loadbalancer/net/web/0123456789abcdef"
KIND = {"VpcEndpointType": "Interface"}


@pytest.fixture
def service(desk):
    return desk("CreateVpcEndpointServiceConfiguration", NetworkLoadBalancerArns=[ARN])["ServiceConfiguration"]


@pytest.fixture
def guest(desk):
    """Calls of another account on the same cloud."""
    from hive_emulator.testing import Desk

    other = Desk(account="000000000002")
    other.emulator = desk.emulator
    return other


def test_a_service_is_available_and_changes(desk, service, refused):
    one = service["ServiceId"]
    assert (service["ServiceState"], service["AcceptanceRequired"]) == ("Available", True)
    assert service["ServiceName"] == f"com.amazonaws.vpce.ap-southeast-2.{one}"
    other = ARN.replace("/web/", "/api/")
    change = {"AddNetworkLoadBalancerArns": [other], "RemoveNetworkLoadBalancerArns": [ARN]}
    desk("ModifyVpcEndpointServiceConfiguration", ServiceId=one, AcceptanceRequired=False, **change)
    [now] = desk("DescribeVpcEndpointServiceConfigurations", ServiceIds=[one])["ServiceConfigurations"]
    assert (now["AcceptanceRequired"], now["NetworkLoadBalancerArns"]) == (False, [other])
    with refused("InvalidParameterCombination", "at least one"):
        desk("ModifyVpcEndpointServiceConfiguration", ServiceId=one, RemoveNetworkLoadBalancerArns=[other])
    with refused("InvalidParameterValue", "loadbalancer/net"):
        desk("CreateVpcEndpointServiceConfiguration", NetworkLoadBalancerArns=["arn:aws:nonsense"])
    assert desk("DeleteVpcEndpointServiceConfigurations", ServiceIds=[one])["Unsuccessful"] == []
    with refused("InvalidVpcEndpointServiceId.NotFound", one):
        desk("DescribeVpcEndpointServiceConfigurations", ServiceIds=[one])


def test_another_account_connects_when_it_may_and_is_accepted(desk, guest, service, refused):
    one, name = service["ServiceId"], service["ServiceName"]
    vpc = guest("CreateVpc", CidrBlock="10.5.0.0/16")["Vpc"]["VpcId"]
    with refused("InvalidServiceName", name):
        guest("CreateVpcEndpoint", VpcId=vpc, ServiceName=name, **KIND)
    principal = "arn:aws:iam::000000000002:root"
    desk("ModifyVpcEndpointServicePermissions", ServiceId=one, AddAllowedPrincipals=[principal])
    [allowed] = desk("DescribeVpcEndpointServicePermissions", ServiceId=one)["AllowedPrincipals"]
    assert (allowed["Principal"], allowed["PrincipalType"]) == (principal, "Account")
    assert name in guest("DescribeVpcEndpointServices")["ServiceNames"]
    endpoint = guest("CreateVpcEndpoint", VpcId=vpc, ServiceName=name, **KIND)["VpcEndpoint"]
    assert endpoint["State"] == "pendingAcceptance"
    [asking] = desk("DescribeVpcEndpointConnections")["VpcEndpointConnections"]
    assert (asking["VpcEndpointOwner"], asking["VpcEndpointState"]) == ("000000000002", "pendingAcceptance")
    [failed] = desk("DeleteVpcEndpointServiceConfigurations", ServiceIds=[one])["Unsuccessful"]
    assert failed["Error"]["Code"] == "ExistingVpcEndpointConnections"
    desk("AcceptVpcEndpointConnections", ServiceId=one, VpcEndpointIds=[endpoint["VpcEndpointId"]])
    [now] = guest("DescribeVpcEndpoints")["VpcEndpoints"]
    assert now["State"] == "available"
    desk("RejectVpcEndpointConnections", ServiceId=one, VpcEndpointIds=[endpoint["VpcEndpointId"]])
    assert guest("DescribeVpcEndpoints")["VpcEndpoints"][0]["State"] == "rejected"
    desk("DeleteVpcEndpointServiceConfigurations", ServiceIds=[one])


def test_no_private_name_without_one_of_the_service(desk, vpc, subnet, service, refused):
    with refused("InvalidParameter", "private DNS name"):
        desk("CreateVpcEndpoint", VpcId=vpc, ServiceName=service["ServiceName"], PrivateDnsEnabled=True, **KIND)


def test_a_notification_is_kept_until_it_or_its_service_goes(desk, service, refused):
    topic = "arn:aws:sns:ap-southeast-2:000000000001:news"
    made = desk(
        "CreateVpcEndpointConnectionNotification",
        ServiceId=service["ServiceId"],
        ConnectionNotificationArn=topic,
        ConnectionEvents=["Accept"],
    )["ConnectionNotification"]
    wanted = made["ConnectionNotificationId"]
    desk("ModifyVpcEndpointConnectionNotification", ConnectionNotificationId=wanted, ConnectionEvents=["Reject"])
    [now] = desk("DescribeVpcEndpointConnectionNotifications", ConnectionNotificationId=wanted)[
        "ConnectionNotificationSet"
    ]
    assert (now["ConnectionEvents"], now["ConnectionNotificationState"]) == (["Reject"], "Enabled")
    with refused("InvalidParameterValue", "Moon"):
        desk("ModifyVpcEndpointConnectionNotification", ConnectionNotificationId=wanted, ConnectionEvents=["Moon"])
    desk("DeleteVpcEndpointServiceConfigurations", ServiceIds=[service["ServiceId"]])
    with refused("InvalidConnectionNotification", wanted):
        desk("DescribeVpcEndpointConnectionNotifications", ConnectionNotificationId=wanted)


def test_those_of_aws_are_listed_by_type(desk):
    wanted = [{"Name": "service-type", "Values": ["Gateway"]}]
    found = desk("DescribeVpcEndpointServices", Filters=wanted)["ServiceNames"]
    assert sorted(found) == [f"com.amazonaws.ap-southeast-2.{each}" for each in ("dynamodb", "s3")]
    [detail] = desk("DescribeVpcEndpointServices", ServiceNames=["com.amazonaws.ap-southeast-2.ecr.dkr"])[
        "ServiceDetails"
    ]
    assert detail["PrivateDnsName"] == "dkr.ecr.ap-southeast-2.amazonaws.com"
