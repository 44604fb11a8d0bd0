"""Peering: asked for, accepted, rejected, deleted; across accounts and regions of one emulator; and its routes."""

from __future__ import annotations

import pytest

from hive_emulator.testing import Desk


@pytest.fixture
def elsewhere(desk):
    """Calls of another account in another region of the same cloud."""
    other = Desk(account="000000000002", region="eu-west-1")
    other.emulator = desk.emulator
    return other


@pytest.fixture
def peer(desk):
    return desk("CreateVpc", CidrBlock="10.1.0.0/16")["Vpc"]["VpcId"]


def ask(desk, vpc, peer, **more):
    made = desk("CreateVpcPeeringConnection", VpcId=vpc, PeerVpcId=peer, **more)["VpcPeeringConnection"]
    return made["VpcPeeringConnectionId"]


def shown(desk, wanted):
    return desk("DescribeVpcPeeringConnections", VpcPeeringConnectionIds=[wanted])["VpcPeeringConnections"][0]


def status(desk, wanted):
    return shown(desk, wanted)["Status"]["Code"]


def test_one_in_an_account_is_accepted_and_deleted(desk, vpc, peer, refused):
    made = ask(desk, vpc, peer)
    assert status(desk, made) == "pending-acceptance"
    desk("AcceptVpcPeeringConnection", VpcPeeringConnectionId=made)
    assert status(desk, made) == "active"
    one = shown(desk, made)
    assert (one["RequesterVpcInfo"]["CidrBlock"], one["AccepterVpcInfo"]["CidrBlock"]) == (
        "10.0.0.0/16",
        "10.1.0.0/16",
    )
    with refused("InvalidStateTransition", made):
        desk("AcceptVpcPeeringConnection", VpcPeeringConnectionId=made)
    desk("DeleteVpcPeeringConnection", VpcPeeringConnectionId=made)
    assert status(desk, made) == "deleted"
    desk("DeleteVpc", VpcId=peer)


def test_another_account_in_another_region_accepts_under_its_own_tags(desk, elsewhere, vpc, refused):
    theirs = elsewhere("CreateVpc", CidrBlock="10.2.0.0/16")["Vpc"]["VpcId"]
    place = {"PeerOwnerId": "000000000002", "PeerRegion": "eu-west-1"}
    tags = [{"ResourceType": "vpc-peering-connection", "Tags": [{"Key": "Name", "Value": "ours"}]}]
    made = ask(desk, vpc, theirs, TagSpecifications=tags, **place)
    with refused("OperationNotPermitted", "000000000002"):
        desk("AcceptVpcPeeringConnection", VpcPeeringConnectionId=made)
    elsewhere("AcceptVpcPeeringConnection", VpcPeeringConnectionId=made)
    assert status(desk, made) == status(elsewhere, made) == "active"
    assert (shown(desk, made)["Tags"][0]["Value"], shown(elsewhere, made)["Tags"]) == ("ours", [])
    with refused("DependencyViolation", made):
        elsewhere("DeleteVpc", VpcId=theirs)
    elsewhere("DeleteVpcPeeringConnection", VpcPeeringConnectionId=made)
    assert status(desk, made) == "deleted"
    elsewhere("DeleteVpc", VpcId=theirs)
    desk("DeleteVpc", VpcId=vpc)


def test_it_is_rejected(desk, vpc, peer):
    made = ask(desk, vpc, peer)
    desk("RejectVpcPeeringConnection", VpcPeeringConnectionId=made)
    assert status(desk, made) == "rejected"
    desk("DeleteVpc", VpcId=vpc)


def test_vpcs_that_share_addresses_or_are_not_there_cannot_be_joined(desk, vpc, refused):
    same = desk("CreateVpc", CidrBlock="10.0.128.0/20")["Vpc"]["VpcId"]
    assert status(desk, ask(desk, vpc, same)) == "failed"
    assert status(desk, ask(desk, vpc, "vpc-12345678", PeerOwnerId="000000000009")) == "failed"
    with refused("InvalidVpcID.NotFound"):
        ask(desk, vpc, "vpc-12345678")


def test_options_are_for_active_ones_and_for_ones_own_side(desk, elsewhere, vpc, peer, refused):
    made = ask(desk, vpc, peer)
    wanted = {"RequesterPeeringConnectionOptions": {"AllowDnsResolutionFromRemoteVpc": True}}
    with refused("OperationNotPermitted", "not active"):
        desk("ModifyVpcPeeringConnectionOptions", VpcPeeringConnectionId=made, **wanted)
    desk("AcceptVpcPeeringConnection", VpcPeeringConnectionId=made)
    desk("ModifyVpcPeeringConnectionOptions", VpcPeeringConnectionId=made, **wanted)
    one = shown(desk, made)
    assert one["RequesterVpcInfo"]["PeeringOptions"]["AllowDnsResolutionFromRemoteVpc"] is True
    assert one["AccepterVpcInfo"]["PeeringOptions"]["AllowDnsResolutionFromRemoteVpc"] is False
    theirs = elsewhere("CreateVpc", CidrBlock="10.2.0.0/16")["Vpc"]["VpcId"]
    other = ask(desk, vpc, theirs, PeerOwnerId="000000000002", PeerRegion="eu-west-1")
    elsewhere("AcceptVpcPeeringConnection", VpcPeeringConnectionId=other)
    with refused("OperationNotPermitted", vpc):
        elsewhere("ModifyVpcPeeringConnectionOptions", VpcPeeringConnectionId=other, **wanted)


def test_a_route_to_it_is_a_black_hole_until_it_is_active_and_afterwards(desk, vpc, peer, refused):
    made = ask(desk, vpc, peer)
    table = desk("CreateRouteTable", VpcId=vpc)["RouteTable"]["RouteTableId"]
    desk("CreateRoute", RouteTableId=table, DestinationCidrBlock="10.1.0.0/16", VpcPeeringConnectionId=made)

    def state():
        [found] = desk("DescribeRouteTables", RouteTableIds=[table])["RouteTables"]
        return found["Routes"][-1]["State"]

    assert state() == "blackhole"
    desk("AcceptVpcPeeringConnection", VpcPeeringConnectionId=made)
    assert state() == "active"
    desk("DeleteVpcPeeringConnection", VpcPeeringConnectionId=made)
    assert state() == "blackhole"
    with refused("InvalidVpcPeeringConnectionID.NotFound", made):
        desk("CreateRoute", RouteTableId=table, DestinationCidrBlock="10.8.0.0/16", VpcPeeringConnectionId=made)


def test_fifty_of_a_vpc(desk, vpc, peer, refused):
    desk.emulator.config.quotas["peering-connections-per-vpc"] = 1
    ask(desk, vpc, peer)
    with refused("ActiveVpcPeeringConnectionPerVpcLimitExceeded"):
        ask(desk, vpc, peer)
