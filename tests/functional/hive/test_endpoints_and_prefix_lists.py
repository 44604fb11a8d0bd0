"""VPC endpoints, endpoint services and prefix lists of the real provider, from creation to destruction."""

from __future__ import annotations

BEFORE = """
locals { balancer = "arn:aws:elasticloadbalancing:ap-southeast-2:000000000001:loadbalancer/net/web" }
data "aws_caller_identity" "me" {}
data "aws_vpc_endpoint_service" "s3" {
  service      = "s3"
  service_type = "Gateway"
}
data "aws_prefix_list" "s3" {
  name = "com.amazonaws.ap-southeast-2.s3"
}
resource "aws_vpc" "one" {
  cidr_block           = "10.61.0.0/16"
  enable_dns_hostnames = true
}
resource "aws_subnet" "one" {
  vpc_id            = aws_vpc.one.id
  cidr_block        = "10.61.1.0/24"
  availability_zone = "ap-southeast-2a"
}
resource "aws_subnet" "two" {
  vpc_id            = aws_vpc.one.id
  cidr_block        = "10.61.2.0/24"
  availability_zone = "ap-southeast-2b"
}
resource "aws_security_group" "one" {
  vpc_id = aws_vpc.one.id
  egress {
    from_port       = 443
    to_port         = 443
    protocol        = "tcp"
    prefix_list_ids = [aws_ec2_managed_prefix_list.offices.id, aws_vpc_endpoint.s3.prefix_list_id]
  }
}
resource "aws_internet_gateway" "one" { vpc_id = aws_vpc.one.id }
resource "aws_route_table" "one" { vpc_id = aws_vpc.one.id }
resource "aws_route_table" "two" { vpc_id = aws_vpc.one.id }
resource "aws_route" "offices" {
  route_table_id             = aws_route_table.two.id
  destination_prefix_list_id = aws_ec2_managed_prefix_list.offices.id
  gateway_id                 = aws_internet_gateway.one.id
}
resource "aws_ec2_managed_prefix_list" "offices" {
  name           = "offices"
  address_family = "IPv4"
  max_entries    = 4
  entry {
    cidr        = "192.0.2.0/25"
    description = "one"
  }
  entry {
    cidr = "192.0.2.128/26"
  }
  tags = { Name = "offices" }
}
resource "aws_vpc_endpoint" "s3" {
  vpc_id          = aws_vpc.one.id
  service_name    = data.aws_vpc_endpoint_service.s3.service_name
  route_table_ids = [aws_route_table.one.id]
  tags            = { Name = "s3" }
}
resource "aws_vpc_endpoint" "dynamodb" {
  vpc_id       = aws_vpc.one.id
  service_name = "com.amazonaws.ap-southeast-2.dynamodb"
}
resource "aws_vpc_endpoint_route_table_association" "dynamodb" {
  vpc_endpoint_id = aws_vpc_endpoint.dynamodb.id
  route_table_id  = aws_route_table.two.id
}
resource "aws_vpc_endpoint" "ssm" {
  vpc_id              = aws_vpc.one.id
  service_name        = "com.amazonaws.ap-southeast-2.ssm"
  vpc_endpoint_type   = "Interface"
  private_dns_enabled = true
  subnet_ids          = [aws_subnet.one.id]
  security_group_ids  = [aws_security_group.one.id]
}
resource "aws_vpc_endpoint_service" "own" {
  acceptance_required        = false
  network_load_balancer_arns = ["${local.balancer}/0123456789abcdef"]
  allowed_principals         = ["arn:aws:iam::${data.aws_caller_identity.me.account_id}:root"]
  tags                       = { Name = "own" }
}
resource "aws_vpc_endpoint_connection_notification" "own" {
  vpc_endpoint_service_id     = aws_vpc_endpoint_service.own.id
  connection_notification_arn = "arn:aws:sns:ap-southeast-2:000000000001:news"
  connection_events           = ["Accept"]
}
resource "aws_vpc_endpoint" "own" {
  vpc_id            = aws_vpc.one.id
  service_name      = aws_vpc_endpoint_service.own.service_name
  vpc_endpoint_type = "Interface"
  security_group_ids = [aws_security_group.one.id]
  lifecycle { ignore_changes = [subnet_ids] }
}
resource "aws_vpc_endpoint_subnet_association" "own" {
  vpc_endpoint_id = aws_vpc_endpoint.own.id
  subnet_id       = aws_subnet.two.id
}
output "offices" { value = aws_ec2_managed_prefix_list.offices.id }
output "s3" { value = aws_vpc_endpoint.s3.id }
output "ssm" { value = aws_vpc_endpoint.ssm.id }
output "service" { value = aws_vpc_endpoint_service.own.id }
output "notification" { value = aws_vpc_endpoint_connection_notification.own.id }
"""
AFTER = (
    BEFORE.replace("192.0.2.128/26", "192.0.2.192/27")
    .replace('description = "one"', 'description = "changed"')
    .replace("route_table_ids = [aws_route_table.one.id]", "route_table_ids = [aws_route_table.two.id]")
    .replace(
        "subnet_ids          = [aws_subnet.one.id]", "subnet_ids          = [aws_subnet.one.id, aws_subnet.two.id]"
    )
    .replace("acceptance_required        = false", "acceptance_required        = true")
    .replace('"${local.balancer}/0123456789abcdef"', '"${local.balancer}/0123456789abcde0"')
    .replace('["Accept"]', '["Accept", "Reject"]')
    .replace("private_dns_enabled = true", "private_dns_enabled = false")
    .replace(
        '{ Name = "s3" }', '{ Name = "changed" }\n  policy = jsonencode({ Version = "2012-10-17", Statement = [] })'
    )
    .replace('{ Name = "own" }', '{ Name = "changed" }')
)


def test_endpoints_and_prefix_lists(life_cycle, hive):
    space, outputs = life_cycle(BEFORE, AFTER)
    ec2 = hive.client("ec2")
    [ssm] = ec2.describe_vpc_endpoints(VpcEndpointIds=[outputs["ssm"]])["VpcEndpoints"]
    assert len(ssm["NetworkInterfaceIds"]) == 2
    assert ssm["PrivateDnsEnabled"] is False
    entries = ec2.get_managed_prefix_list_entries(PrefixListId=outputs["offices"])["Entries"]
    assert {each["Cidr"]: each.get("Description") for each in entries} == {
        "192.0.2.0/25": "changed",
        "192.0.2.192/27": None,
    }
    for address, its_id in (
        ("aws_ec2_managed_prefix_list.offices", outputs["offices"]),
        ("aws_vpc_endpoint.s3", outputs["s3"]),
        ("aws_vpc_endpoint.ssm", outputs["ssm"]),
        ("aws_vpc_endpoint_service.own", outputs["service"]),
        ("aws_vpc_endpoint_connection_notification.own", outputs["notification"]),
    ):
        space.import_again(address, its_id)
    assert space.plan() == {}
