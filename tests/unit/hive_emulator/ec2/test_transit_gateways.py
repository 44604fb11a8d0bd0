"""Transit gateways: VPCs attached, route tables associated and propagated into, routes found."""

from __future__ import annotations

import pytest


@pytest.fixture
def gateway(desk):
    return desk("CreateTransitGateway", Description="hub")["TransitGateway"]["TransitGatewayId"]


def attach(desk, gateway, vpc, subnet):
    wanted = {"TransitGatewayId": gateway, "VpcId": vpc, "SubnetIds": [subnet]}
    made = desk("CreateTransitGatewayVpcAttachment", **wanted)["TransitGatewayVpcAttachment"]
    return made["TransitGatewayAttachmentId"]


@pytest.fixture
def attachment(desk, gateway, vpc, subnet):
    return attach(desk, gateway, vpc, subnet)


def shown(desk, gateway):
    return desk("DescribeTransitGateways", TransitGatewayIds=[gateway])["TransitGateways"][0]


def default_table(desk, gateway):
    return shown(desk, gateway)["Options"]["AssociationDefaultRouteTableId"]


def search(desk, table, name="state", values=("active", "blackhole")):
    wanted = [{"Name": name, "Values": list(values)}]
    found = desk("SearchTransitGatewayRoutes", TransitGatewayRouteTableId=table, Filters=wanted)["Routes"]
    return {each["DestinationCidrBlock"]: (each["Type"], each["State"]) for each in found}


def test_a_gateway_has_a_default_table_unless_it_says_otherwise(desk, gateway):
    options = shown(desk, gateway)["Options"]
    assert options["AssociationDefaultRouteTableId"] == options["PropagationDefaultRouteTableId"]
    assert (options["AmazonSideAsn"], options["DnsSupport"]) == (64512, "enable")
    none = {"DefaultRouteTableAssociation": "disable", "DefaultRouteTablePropagation": "disable"}
    other = desk("CreateTransitGateway", Options=none)["TransitGateway"]["TransitGatewayId"]
    assert "AssociationDefaultRouteTableId" not in shown(desk, other)["Options"]
    desk("ModifyTransitGateway", TransitGatewayId=gateway, Description="new", Options={"DnsSupport": "disable"})
    assert (shown(desk, gateway)["Description"], shown(desk, gateway)["Options"]["DnsSupport"]) == ("new", "disable")
    desk("DeleteTransitGateway", TransitGatewayId=gateway)
    left = desk("DescribeTransitGatewayRouteTables")["TransitGatewayRouteTables"]
    assert left == []


def test_an_attached_vpc_propagates_its_blocks_into_the_default_table(
    desk, gateway, attachment, vpc, subnet, refused
):
    table = default_table(desk, gateway)
    assert search(desk, table) == {"10.0.0.0/16": ("propagated", "active")}
    [joined] = desk("GetTransitGatewayRouteTableAssociations", TransitGatewayRouteTableId=table)["Associations"]
    assert (joined["ResourceId"], joined["State"]) == (vpc, "associated")
    [general] = desk("DescribeTransitGatewayAttachments")["TransitGatewayAttachments"]
    assert general["Association"]["TransitGatewayRouteTableId"] == table
    with refused("DuplicateTransitGatewayAttachment"):
        attach(desk, gateway, vpc, subnet)
    with refused("DependencyViolation", subnet):
        desk("DeleteSubnet", SubnetId=subnet)
    with refused("DuplicateSubnetsInSameZone"):
        other = desk("CreateSubnet", VpcId=vpc, CidrBlock="10.0.2.0/24")["Subnet"]["SubnetId"]
        both = {"TransitGatewayAttachmentId": attachment, "AddSubnetIds": [other]}
        desk("ModifyTransitGatewayVpcAttachment", **both)
    desk("DeleteTransitGatewayVpcAttachment", TransitGatewayAttachmentId=attachment)
    assert search(desk, table) == {}
    desk("DeleteSubnet", SubnetId=subnet)


def test_association_and_propagation_are_given_and_taken(desk, gateway, attachment, refused):
    made = desk("CreateTransitGatewayRouteTable", TransitGatewayId=gateway)["TransitGatewayRouteTable"]
    own = made["TransitGatewayRouteTableId"]
    both = {"TransitGatewayRouteTableId": own, "TransitGatewayAttachmentId": attachment}
    with refused("Resource.AlreadyAssociated"):
        desk("AssociateTransitGatewayRouteTable", **both)
    first = {**both, "TransitGatewayRouteTableId": default_table(desk, gateway)}
    desk("DisassociateTransitGatewayRouteTable", **first)
    desk("AssociateTransitGatewayRouteTable", **both)
    desk("EnableTransitGatewayRouteTablePropagation", **both)
    with refused("TransitGatewayRouteTablePropagation.Duplicate"):
        desk("EnableTransitGatewayRouteTablePropagation", **both)
    found = desk("GetTransitGatewayRouteTablePropagations", TransitGatewayRouteTableId=own)
    assert len(found["TransitGatewayRouteTablePropagations"]) == 1
    desk("DisableTransitGatewayRouteTablePropagation", **both)
    assert search(desk, own) == {}
    with refused("IncorrectState", "default"):
        desk("DeleteTransitGatewayRouteTable", TransitGatewayRouteTableId=default_table(desk, gateway))


def test_static_routes_are_made_replaced_searched_and_deleted(desk, gateway, attachment, refused):
    table = default_table(desk, gateway)
    route = {"TransitGatewayRouteTableId": table, "DestinationCidrBlock": "0.0.0.0/0"}
    desk("CreateTransitGatewayRoute", **route, TransitGatewayAttachmentId=attachment)
    with refused("RouteAlreadyExists"):
        desk("CreateTransitGatewayRoute", **route, Blackhole=True)
    with refused("InvalidParameterCombination"):
        desk("CreateTransitGatewayRoute", **{**route, "DestinationCidrBlock": "10.9.0.0/16"})
    assert search(desk, table, "type", ["static"]) == {"0.0.0.0/0": ("static", "active")}
    assert list(search(desk, table, "route-search.exact-match", ["0.0.0.0/0"])) == ["0.0.0.0/0"]
    assert list(search(desk, table, "route-search.longest-prefix-match", ["10.0.1.0/24"])) == ["10.0.0.0/16"]
    assert len(search(desk, table, "route-search.supernet-of-match", ["10.0.1.0/24"])) == 2
    assert list(search(desk, table, "route-search.subnet-of-match", ["10.0.0.0/8"])) == ["10.0.0.0/16"]
    desk("ReplaceTransitGatewayRoute", **route, Blackhole=True)
    assert search(desk, table)["0.0.0.0/0"] == ("static", "blackhole")
    desk("DeleteTransitGatewayRoute", **route)
    with refused("InvalidRoute.NotFound"):
        desk("DeleteTransitGatewayRoute", **route)


def test_a_route_of_the_vpc_leads_to_it_while_it_is_attached(desk, gateway, vpc, subnet, refused):
    table = desk("CreateRouteTable", VpcId=vpc)["RouteTable"]["RouteTableId"]
    route = {"RouteTableId": table, "DestinationCidrBlock": "10.8.0.0/16", "TransitGatewayId": gateway}
    with refused("InvalidTransitGatewayID.NotFound", gateway):
        desk("CreateRoute", **route)
    attachment = attach(desk, gateway, vpc, subnet)
    desk("CreateRoute", **route)

    def state():
        return desk("DescribeRouteTables", RouteTableIds=[table])["RouteTables"][0]["Routes"][-1]["State"]

    assert state() == "active"
    desk("DeleteTransitGatewayVpcAttachment", TransitGatewayAttachmentId=attachment)
    assert state() == "blackhole"
