from __future__ import annotations


def shown(desk, gateway):
    return desk("DescribeInternetGateways", InternetGatewayIds=[gateway])["InternetGateways"][0]


def test_a_gateway_is_attached_to_one_vpc_and_a_vpc_has_one_gateway(desk, vpc, gateway, refused):
    assert shown(desk, gateway)["Attachments"] == [{"State": "available", "VpcId": vpc}]
    other = desk("CreateVpc", CidrBlock="10.9.0.0/16")["Vpc"]["VpcId"]
    with refused("Resource.AlreadyAssociated", gateway, vpc):
        desk("AttachInternetGateway", InternetGatewayId=gateway, VpcId=other)
    second = desk("CreateInternetGateway")["InternetGateway"]["InternetGatewayId"]
    with refused("InvalidParameterValue", "already has an internet gateway attached"):
        desk("AttachInternetGateway", InternetGatewayId=second, VpcId=vpc)


def test_detach_and_delete(desk, vpc, gateway, refused):
    desk("DetachInternetGateway", InternetGatewayId=gateway, VpcId=vpc)
    assert shown(desk, gateway)["Attachments"] == []
    with refused("Gateway.NotAttached"):
        desk("DetachInternetGateway", InternetGatewayId=gateway, VpcId=vpc)
    desk("DeleteInternetGateway", InternetGatewayId=gateway)
    with refused("InvalidInternetGatewayID.NotFound"):
        shown(desk, gateway)
    with refused("InvalidInternetGatewayId.Malformed"):
        shown(desk, "gateway")


def test_gateways_are_found_by_their_vpc(desk, vpc, gateway):
    wanted = [{"Name": "attachment.vpc-id", "Values": [vpc]}, {"Name": "attachment.state", "Values": ["available"]}]
    found = desk("DescribeInternetGateways", Filters=wanted)["InternetGateways"]
    assert [each["InternetGatewayId"] for each in found] == [gateway]


def test_an_egress_only_gateway_is_attached_from_the_start_and_an_unknown_one_is_left_out(desk, vpc, refused):
    made = desk("CreateEgressOnlyInternetGateway", VpcId=vpc, ClientToken="t")
    gateway = made["EgressOnlyInternetGateway"]
    assert gateway["Attachments"] == [{"State": "attached", "VpcId": vpc}] and made["ClientToken"] == "t"
    its_id = gateway["EgressOnlyInternetGatewayId"]

    def found():
        answer = desk("DescribeEgressOnlyInternetGateways", EgressOnlyInternetGatewayIds=[its_id])
        return answer["EgressOnlyInternetGateways"]

    assert found() == [gateway]
    assert desk("DeleteEgressOnlyInternetGateway", EgressOnlyInternetGatewayId=its_id) == {"ReturnCode": True}
    assert found() == []
    with refused("InvalidGatewayID.NotFound"):
        desk("DeleteEgressOnlyInternetGateway", EgressOnlyInternetGatewayId=its_id)


def test_classic_links_are_not_supported_and_there_are_no_endpoints(desk, refused):
    for action in ("DescribeVpcClassicLink", "DescribeVpcClassicLinkDnsSupport"):
        with refused("UnsupportedOperation", "The functionality you requested is not available in this region"):
            desk(action)
    assert desk("DescribeVpcEndpoints", Filters=[{"Name": "vpc-id", "Values": ["x"]}]) == {"VpcEndpoints": []}
    with refused("InvalidVpcEndpointId.NotFound", "vpce-1"):
        desk("DescribeVpcEndpoints", VpcEndpointIds=["vpce-1"])
