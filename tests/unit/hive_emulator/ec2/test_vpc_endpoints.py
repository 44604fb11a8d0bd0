"""VPC endpoints of each type: their routes, interfaces, groups, names and policies."""

from __future__ import annotations

import pytest

S3 = "com.amazonaws.ap-southeast-2.s3"
SSM = "com.amazonaws.ap-southeast-2.ssm"


def shown(desk, endpoint):
    return desk("DescribeVpcEndpoints", VpcEndpointIds=[endpoint])["VpcEndpoints"][0]


def routes(desk, table):
    found = desk("DescribeRouteTables", RouteTableIds=[table])["RouteTables"][0]["Routes"]
    return [each for each in found if each["GatewayId"] != "local"]


@pytest.fixture
def table(desk, vpc):
    return desk("CreateRouteTable", VpcId=vpc)["RouteTable"]["RouteTableId"]


@pytest.fixture
def group(desk, vpc):
    return desk("CreateSecurityGroup", GroupName="endpoints", Description="d", VpcId=vpc)["GroupId"]


def test_a_gateway_is_a_route_in_each_of_its_tables(desk, vpc, table, refused):
    made = desk("CreateVpcEndpoint", VpcId=vpc, ServiceName=S3, RouteTableIds=[table])["VpcEndpoint"]
    endpoint = made["VpcEndpointId"]
    assert (made["VpcEndpointType"], made["State"], made["RouteTableIds"]) == ("Gateway", "available", [table])
    [route] = routes(desk, table)
    s3 = desk("DescribePrefixLists", Filters=[{"Name": "prefix-list-name", "Values": [S3]}])["PrefixLists"][0]
    assert (route["DestinationPrefixListId"], route["GatewayId"]) == (s3["PrefixListId"], endpoint)
    with refused("RouteAlreadyExists"):
        desk("CreateVpcEndpoint", VpcId=vpc, ServiceName=S3, RouteTableIds=[table])
    with refused("InvalidParameterValue", "VPC endpoint route"):
        desk("DeleteRoute", RouteTableId=table, DestinationPrefixListId=s3["PrefixListId"])
    other = desk("CreateRouteTable", VpcId=vpc)["RouteTable"]["RouteTableId"]
    desk("ModifyVpcEndpoint", VpcEndpointId=endpoint, AddRouteTableIds=[other], RemoveRouteTableIds=[table])
    assert (routes(desk, table), len(routes(desk, other))) == ([], 1)
    with refused("DependencyViolation", vpc):
        desk("DeleteRouteTable", RouteTableId=table)
        desk("DeleteRouteTable", RouteTableId=other)
        desk("DeleteVpc", VpcId=vpc)
    assert shown(desk, endpoint)["RouteTableIds"] == []
    assert desk("DeleteVpcEndpoints", VpcEndpointIds=[endpoint])["Unsuccessful"] == []
    desk("DeleteVpc", VpcId=vpc)


def test_deleting_one_takes_its_routes_away(desk, vpc, table):
    made = desk("CreateVpcEndpoint", VpcId=vpc, ServiceName=S3, RouteTableIds=[table])["VpcEndpoint"]
    [failed] = desk("DeleteVpcEndpoints", VpcEndpointIds=[made["VpcEndpointId"], "vpce-12345678"])["Unsuccessful"]
    assert (failed["ResourceId"], failed["Error"]["Code"]) == ("vpce-12345678", "InvalidVpcEndpointId.NotFound")
    assert routes(desk, table) == []


def test_its_policy_is_everything_until_it_is_set_and_can_be_reset(desk, vpc, refused):
    endpoint = desk("CreateVpcEndpoint", VpcId=vpc, ServiceName=S3)["VpcEndpoint"]["VpcEndpointId"]
    everything = shown(desk, endpoint)["PolicyDocument"]
    desk("ModifyVpcEndpoint", VpcEndpointId=endpoint, PolicyDocument='{"Statement": []}')
    assert shown(desk, endpoint)["PolicyDocument"] == '{"Statement": []}'
    desk("ModifyVpcEndpoint", VpcEndpointId=endpoint, ResetPolicy=True)
    assert shown(desk, endpoint)["PolicyDocument"] == everything
    with refused("MalformedPolicyDocument"):
        desk("ModifyVpcEndpoint", VpcEndpointId=endpoint, PolicyDocument="nonsense")


def test_an_interface_endpoint_has_an_interface_in_each_subnet(desk, vpc, subnet, group, refused):
    wanted = {"VpcId": vpc, "ServiceName": SSM, "VpcEndpointType": "Interface", "SubnetIds": [subnet]}
    tags = [{"ResourceType": "vpc-endpoint", "Tags": [{"Key": "Name", "Value": "ssm"}]}]
    made = desk("CreateVpcEndpoint", **wanted, SecurityGroupIds=[group], TagSpecifications=tags)["VpcEndpoint"]
    endpoint = made["VpcEndpointId"]
    [interface] = desk("DescribeNetworkInterfaces", NetworkInterfaceIds=made["NetworkInterfaceIds"])[
        "NetworkInterfaces"
    ]
    assert (interface["InterfaceType"], interface["Status"]) == ("vpc_endpoint", "in-use")
    assert (
        [each["GroupId"] for each in interface["Groups"]] == [group] == [each["GroupId"] for each in made["Groups"]]
    )
    assert interface["RequesterManaged"] and endpoint in interface["Description"]
    with refused("DependencyViolation", group):
        desk("DeleteSecurityGroup", GroupId=group)
    with refused("DependencyViolation", subnet):
        desk("DeleteSubnet", SubnetId=subnet)
    same_zone = desk("CreateSubnet", VpcId=vpc, CidrBlock="10.0.9.0/24")["Subnet"]["SubnetId"]
    with refused("DuplicateSubnetsInSameZone", same_zone):
        desk("ModifyVpcEndpoint", VpcEndpointId=endpoint, AddSubnetIds=[same_zone])
    desk("ModifyVpcEndpoint", VpcEndpointId=endpoint, AddSubnetIds=[same_zone], RemoveSubnetIds=[subnet])
    assert shown(desk, endpoint)["SubnetIds"] == [same_zone]
    desk("DeleteSubnet", SubnetId=subnet)
    desk("DeleteVpcEndpoints", VpcEndpointIds=[endpoint])
    assert desk("DescribeNetworkInterfaces", Filters=[{"Name": "vpc-id", "Values": [vpc]}])["NetworkInterfaces"] == []


def test_its_groups_change_on_its_interfaces_too(desk, vpc, subnet, group, refused):
    wanted = {"VpcId": vpc, "ServiceName": SSM, "VpcEndpointType": "Interface", "SubnetIds": [subnet]}
    made = desk("CreateVpcEndpoint", **wanted)["VpcEndpoint"]
    [default] = [each["GroupId"] for each in made["Groups"]]
    change = {"AddSecurityGroupIds": [group], "RemoveSecurityGroupIds": [default]}
    desk("ModifyVpcEndpoint", VpcEndpointId=made["VpcEndpointId"], **change)
    [interface] = desk("DescribeNetworkInterfaces", NetworkInterfaceIds=made["NetworkInterfaceIds"])[
        "NetworkInterfaces"
    ]
    assert [each["GroupId"] for each in interface["Groups"]] == [group]
    with refused("InvalidParameter", "at least one"):
        desk("ModifyVpcEndpoint", VpcEndpointId=made["VpcEndpointId"], RemoveSecurityGroupIds=[group])


def test_private_dns_needs_the_vpcs_dns_attributes(desk, vpc, subnet, refused):
    wanted = {"VpcId": vpc, "ServiceName": SSM, "VpcEndpointType": "Interface", "SubnetIds": [subnet]}
    with refused("InvalidParameter", "enableDnsHostnames"):
        desk("CreateVpcEndpoint", **wanted, PrivateDnsEnabled=True)
    endpoint = desk("CreateVpcEndpoint", **wanted)["VpcEndpoint"]
    assert endpoint["PrivateDnsEnabled"] is False
    assert len(endpoint["DnsEntries"]) == 2  # for all zones, and for its one
    desk("ModifyVpcAttribute", VpcId=vpc, EnableDnsHostnames={"Value": True})
    desk("ModifyVpcEndpoint", VpcEndpointId=endpoint["VpcEndpointId"], PrivateDnsEnabled=True)
    names = [each["DnsName"] for each in shown(desk, endpoint["VpcEndpointId"])["DnsEntries"]]
    assert names[-1] == "ssm.ap-southeast-2.amazonaws.com"
    assert names[1].split(".")[0].endswith("ap-southeast-2a")


@pytest.mark.parametrize(
    ("params", "code", "word"),
    [
        ({"ServiceName": "com.amazonaws.ap-southeast-2.moon"}, "InvalidServiceName", "moon"),
        ({"ServiceName": SSM}, "InvalidParameter", "Interface"),
        ({"ServiceName": S3, "SubnetIds": ["subnet-12345678"]}, "InvalidParameter", "SubnetIds"),
        ({"ServiceName": S3, "RouteTableIds": ["rtb-12345678"]}, "InvalidRouteTableID.NotFound", "rtb-12345678"),
        ({"ServiceName": S3, "PolicyDocument": "[]"}, "MalformedPolicyDocument", "JSON"),
    ],
)
def test_an_endpoint_that_cannot_be_is_refused(desk, vpc, refused, params, code, word):
    with refused(code, word):
        desk("CreateVpcEndpoint", VpcId=vpc, **params)


def test_routes_lead_to_the_endpoint_of_a_gateway_load_balancer(desk, vpc, subnet, table, refused):
    arn = "arn:aws:elasticloadbalancing:ap-southeast-2:000000000001:loadbalancer/gwy/inspect/0123456789abcdef"
    made = desk("CreateVpcEndpointServiceConfiguration", GatewayLoadBalancerArns=[arn], AcceptanceRequired=False)
    service = made["ServiceConfiguration"]["ServiceName"]
    wanted = {"VpcId": vpc, "ServiceName": service, "VpcEndpointType": "GatewayLoadBalancer", "SubnetIds": [subnet]}
    endpoint = desk("CreateVpcEndpoint", **wanted)["VpcEndpoint"]["VpcEndpointId"]
    desk("CreateRoute", RouteTableId=table, DestinationCidrBlock="0.0.0.0/0", VpcEndpointId=endpoint)
    [route] = routes(desk, table)
    assert (route["GatewayId"], route["State"]) == (endpoint, "active")
    desk("DeleteVpcEndpoints", VpcEndpointIds=[endpoint])
    assert routes(desk, table)[0]["State"] == "blackhole"
    gateway = desk("CreateVpcEndpoint", VpcId=vpc, ServiceName=S3)["VpcEndpoint"]["VpcEndpointId"]
    with refused("InvalidParameterValue", "load balancer"):
        desk("CreateRoute", RouteTableId=table, DestinationCidrBlock="10.9.0.0/16", VpcEndpointId=gateway)
