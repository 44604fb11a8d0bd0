from __future__ import annotations

import pytest

EVERYWHERE = "0.0.0.0/0"


def shown(desk, table):
    return desk("DescribeRouteTables", RouteTableIds=[table])["RouteTables"][0]


def states(desk, table):
    return {
        route.get("DestinationCidrBlock") or route["DestinationIpv6CidrBlock"]: route["State"]
        for route in shown(desk, table)["Routes"]
    }


@pytest.fixture
def table(desk, vpc):
    return desk("CreateRouteTable", VpcId=vpc)["RouteTable"]["RouteTableId"]


def main_table(desk, vpc):
    wanted = [{"Name": "vpc-id", "Values": [vpc]}, {"Name": "association.main", "Values": ["true"]}]
    [found] = desk("DescribeRouteTables", Filters=wanted)["RouteTables"]
    return found


def test_a_route_is_made_replaced_and_deleted(desk, subnet, gateway, table):
    desk("CreateRoute", RouteTableId=table, DestinationCidrBlock=EVERYWHERE, GatewayId=gateway)
    address = desk("AllocateAddress")["AllocationId"]
    nat = desk("CreateNatGateway", SubnetId=subnet, AllocationId=address)["NatGateway"]["NatGatewayId"]
    desk("ReplaceRoute", RouteTableId=table, DestinationCidrBlock=EVERYWHERE, NatGatewayId=nat)
    [_, route] = shown(desk, table)["Routes"]
    assert route == {
        "DestinationCidrBlock": EVERYWHERE,
        "NatGatewayId": nat,
        "Origin": "CreateRoute",
        "State": "active",
    }
    desk("DeleteRoute", RouteTableId=table, DestinationCidrBlock=EVERYWHERE)
    assert len(shown(desk, table)["Routes"]) == 1


def test_a_route_whose_target_is_gone_is_a_black_hole(desk, vpc, subnet, gateway, table):
    nat = desk("CreateNatGateway", SubnetId=subnet, ConnectivityType="private")["NatGateway"]["NatGatewayId"]
    egress = desk("CreateEgressOnlyInternetGateway", VpcId=vpc)["EgressOnlyInternetGateway"]
    egress_id = egress["EgressOnlyInternetGatewayId"]
    desk("CreateRoute", RouteTableId=table, DestinationCidrBlock=EVERYWHERE, GatewayId=gateway)
    desk("CreateRoute", RouteTableId=table, DestinationCidrBlock="192.168.0.0/16", NatGatewayId=nat)
    desk("CreateRoute", RouteTableId=table, DestinationIpv6CidrBlock="::/0", EgressOnlyInternetGatewayId=egress_id)
    assert set(states(desk, table).values()) == {"active"}
    desk("DetachInternetGateway", InternetGatewayId=gateway, VpcId=vpc)
    desk("DeleteNatGateway", NatGatewayId=nat)
    desk("DeleteEgressOnlyInternetGateway", EgressOnlyInternetGatewayId=egress_id)
    assert states(desk, table) == {
        "10.0.0.0/16": "active",
        EVERYWHERE: "blackhole",
        "192.168.0.0/16": "blackhole",
        "::/0": "blackhole",
    }
    black = desk("DescribeRouteTables", Filters=[{"Name": "route.state", "Values": ["blackhole"]}])
    assert [each["RouteTableId"] for each in black["RouteTables"]] == [table]


def test_one_route_to_a_destination_whatever_its_host_bits(desk, gateway, table, refused):
    desk("CreateRoute", RouteTableId=table, DestinationCidrBlock="192.168.1.2/16", GatewayId=gateway)
    with refused("RouteAlreadyExists", "192.168.0.0/16"):
        desk("CreateRoute", RouteTableId=table, DestinationCidrBlock="192.168.0.0/16", GatewayId=gateway)
    with refused("RouteAlreadyExists", "10.0.0.0/16"):
        desk("CreateRoute", RouteTableId=table, DestinationCidrBlock="10.0.0.0/16", GatewayId=gateway)


def test_what_is_not_there_can_not_be_replaced_or_deleted_and_local_routes_stay(desk, gateway, table, refused):
    with refused("InvalidParameterValue", "Use CreateRoute instead"):
        desk("ReplaceRoute", RouteTableId=table, DestinationCidrBlock=EVERYWHERE, GatewayId=gateway)
    with refused("InvalidRoute.NotFound", f"destination-cidr-block {EVERYWHERE}"):
        desk("DeleteRoute", RouteTableId=table, DestinationCidrBlock=EVERYWHERE)
    with refused("InvalidRoute.NotFound", "destination-ipv6-cidr-block ::/0"):
        desk("DeleteRoute", RouteTableId=table, DestinationIpv6CidrBlock="::/0")
    with refused("InvalidParameterValue", "local route"):
        desk("DeleteRoute", RouteTableId=table, DestinationCidrBlock="10.0.0.0/16")


@pytest.mark.parametrize(
    ("target", "code"),
    [
        ({}, "MissingParameter"),
        ({"GatewayId": "igw-0123456789abcdef0"}, "InvalidGatewayID.NotFound"),
        ({"NatGatewayId": "nat-0123456789abcdef0"}, "InvalidNatGatewayID.NotFound"),
        ({"NetworkInterfaceId": "eni-0123456789abcdef0"}, "InvalidNetworkInterfaceID.NotFound"),
        ({"InstanceId": "i-0123456789abcdef0"}, "InvalidInstanceID.NotFound"),
        ({"VpcPeeringConnectionId": "pcx-1"}, "InvalidVpcPeeringConnectionID.NotFound"),
        ({"TransitGatewayId": "tgw-1"}, "InvalidTransitGatewayID.NotFound"),
        ({"EgressOnlyInternetGatewayId": "eigw-0123456789abcdef0"}, "InvalidGatewayID.NotFound"),
        ({"GatewayId": "igw-1", "NatGatewayId": "nat-1"}, "InvalidParameterCombination"),
    ],
)
def test_a_target_must_exist_and_be_one(desk, table, refused, target, code):
    with refused(code):
        desk("CreateRoute", RouteTableId=table, DestinationCidrBlock=EVERYWHERE, **target)


def test_a_target_must_be_in_the_tables_network(desk, gateway, refused):
    other = desk("CreateVpc", CidrBlock="10.9.0.0/16")["Vpc"]["VpcId"]
    table = desk("CreateRouteTable", VpcId=other)["RouteTable"]["RouteTableId"]
    with refused("InvalidParameterValue", "belong to different networks"):
        desk("CreateRoute", RouteTableId=table, DestinationCidrBlock=EVERYWHERE, GatewayId=gateway)


def test_a_destination_is_one_and_well_formed(desk, gateway, table, refused):
    with refused("MissingParameter"):
        desk("CreateRoute", RouteTableId=table, GatewayId=gateway)
    both = {"DestinationCidrBlock": EVERYWHERE, "DestinationIpv6CidrBlock": "::/0"}
    with refused("InvalidParameterCombination"):
        desk("CreateRoute", RouteTableId=table, GatewayId=gateway, **both)
    with refused("InvalidParameterValue"):
        desk("CreateRoute", RouteTableId=table, GatewayId=gateway, DestinationCidrBlock="everywhere")


def test_a_subnet_is_associated_with_one_table_and_moves_to_another(desk, vpc, subnet, table, refused):
    first = desk("AssociateRouteTable", RouteTableId=table, SubnetId=subnet)["AssociationId"]
    other = desk("CreateRouteTable", VpcId=vpc)["RouteTable"]["RouteTableId"]
    with refused("Resource.AlreadyAssociated"):
        desk("AssociateRouteTable", RouteTableId=other, SubnetId=subnet)
    second = desk("ReplaceRouteTableAssociation", AssociationId=first, RouteTableId=other)["NewAssociationId"]
    assert shown(desk, table)["Associations"] == []
    [moved] = shown(desk, other)["Associations"]
    assert (moved["RouteTableAssociationId"], moved["SubnetId"], moved["Main"]) == (second, subnet, False)
    by_id = [{"Name": "association.route-table-association-id", "Values": [second]}]
    assert desk("DescribeRouteTables", Filters=by_id)["RouteTables"][0]["RouteTableId"] == other
    desk("DisassociateRouteTable", AssociationId=second)
    with refused("InvalidAssociationID.NotFound", second):
        desk("DisassociateRouteTable", AssociationId=second)


def test_another_table_becomes_the_main_one(desk, vpc, table, refused):
    old = main_table(desk, vpc)
    association = old["Associations"][0]["RouteTableAssociationId"]
    with refused("InvalidParameterValue", "main route table"):
        desk("DisassociateRouteTable", AssociationId=association)
    desk("ReplaceRouteTableAssociation", AssociationId=association, RouteTableId=table)
    assert main_table(desk, vpc)["RouteTableId"] == table
    desk("DeleteRouteTable", RouteTableId=old["RouteTableId"])
    desk("DeleteVpc", VpcId=vpc)


def test_a_gateway_can_have_a_table_of_its_own(desk, gateway, table):
    desk("AssociateRouteTable", RouteTableId=table, GatewayId=gateway)
    assert shown(desk, table)["Associations"][0]["GatewayId"] == gateway


def test_a_gateway_that_is_detached_leaves_its_table(desk, vpc, gateway, table):
    desk("AssociateRouteTable", RouteTableId=table, GatewayId=gateway)
    desk("DetachInternetGateway", InternetGatewayId=gateway, VpcId=vpc)
    desk("DeleteRouteTable", RouteTableId=table)


def test_associations_stay_in_one_network(desk, subnet, table, refused):
    other = desk("CreateVpc", CidrBlock="10.9.0.0/16")["Vpc"]["VpcId"]
    foreign = desk("CreateRouteTable", VpcId=other)["RouteTable"]["RouteTableId"]
    with refused("InvalidParameterValue", "different networks"):
        desk("AssociateRouteTable", RouteTableId=foreign, SubnetId=subnet)
    first = desk("AssociateRouteTable", RouteTableId=table, SubnetId=subnet)["AssociationId"]
    with refused("InvalidParameterValue", "different networks"):
        desk("ReplaceRouteTableAssociation", AssociationId=first, RouteTableId=foreign)
    with refused("InvalidParameterCombination"):
        desk("AssociateRouteTable", RouteTableId=table)
    with refused("InvalidRouteTableID.NotFound"):
        shown(desk, "rtb-0123456789abcdef0")


def test_an_egress_only_gateway_takes_no_ipv4(desk, vpc, table, refused):
    way_out = desk("CreateEgressOnlyInternetGateway", VpcId=vpc)["EgressOnlyInternetGateway"]
    gateway = way_out["EgressOnlyInternetGatewayId"]
    for member in ("EgressOnlyInternetGatewayId", "GatewayId"):
        with refused("InvalidParameterValue", "IPv6 only"):
            desk("CreateRoute", RouteTableId=table, DestinationCidrBlock="0.0.0.0/0", **{member: gateway})
    desk("CreateRoute", RouteTableId=table, DestinationIpv6CidrBlock="::/0", EgressOnlyInternetGatewayId=gateway)


def test_a_local_route_that_was_replaced_stays_so_when_the_vpc_gets_a_block(desk, vpc, subnet, table):
    middle = desk("CreateNetworkInterface", SubnetId=subnet)["NetworkInterface"]["NetworkInterfaceId"]
    desk("ReplaceRoute", RouteTableId=table, DestinationCidrBlock="10.0.0.0/16", NetworkInterfaceId=middle)
    desk("AssociateVpcCidrBlock", VpcId=vpc, CidrBlock="10.5.0.0/16")
    [shown] = desk("DescribeRouteTables", RouteTableIds=[table])["RouteTables"]
    targets = {route["DestinationCidrBlock"]: route.get("NetworkInterfaceId", "local") for route in shown["Routes"]}
    assert targets == {"10.0.0.0/16": middle, "10.5.0.0/16": "local"}
    assert len(shown["Routes"]) == 2


def test_a_vpc_gets_no_block_that_a_route_leads_to_already(desk, vpc, subnet, table, refused):
    middle = desk("CreateNetworkInterface", SubnetId=subnet)["NetworkInterface"]["NetworkInterfaceId"]
    desk("CreateRoute", RouteTableId=table, DestinationCidrBlock="10.9.1.0/24", NetworkInterfaceId=middle)
    for block in ("10.9.1.0/24", "10.9.0.0/16"):
        with refused("InvalidVpc.Range", "10.9.1.0/24", table):
            desk("AssociateVpcCidrBlock", VpcId=vpc, CidrBlock=block)
    desk("AssociateVpcCidrBlock", VpcId=vpc, CidrBlock="10.9.1.0/28")


def test_what_is_meant_for_the_vpc_is_not_sent_out_of_it(desk, subnet, gateway, table, refused):
    route = {"RouteTableId": table, "DestinationCidrBlock": "10.0.5.0/24"}
    with refused("InvalidParameterValue", "more specific"):
        desk("CreateRoute", **route, GatewayId=gateway)
    middle = desk("CreateNetworkInterface", SubnetId=subnet)["NetworkInterface"]["NetworkInterfaceId"]
    desk("CreateRoute", **route, NetworkInterfaceId=middle)
    with refused("InvalidParameterValue", "more specific"):
        desk("ReplaceRoute", **route, GatewayId=gateway)
    with refused("InvalidParameterValue", "local"):
        desk("ReplaceRoute", **route, LocalTarget=True)
    whole = {"RouteTableId": table, "DestinationCidrBlock": "10.0.0.0/16"}
    desk("ReplaceRoute", **whole, NetworkInterfaceId=middle)
    desk("ReplaceRoute", **whole, LocalTarget=True)
