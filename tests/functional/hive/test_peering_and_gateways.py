"""Peering, VPN and customer gateways and flow logs of the real provider, from creation to destruction."""

from __future__ import annotations

BEFORE = """
resource "aws_vpc" "one" {
  cidr_block           = "10.62.0.0/16"
  enable_dns_hostnames = true
}
resource "aws_vpc" "two" {
  cidr_block           = "10.63.0.0/16"
  enable_dns_hostnames = true
}
resource "aws_vpc_peering_connection" "pair" {
  vpc_id      = aws_vpc.one.id
  peer_vpc_id = aws_vpc.two.id
  auto_accept = true
  tags        = { Name = "pair" }
  requester { allow_remote_vpc_dns_resolution = false }
}
resource "aws_route_table" "one" {
  vpc_id           = aws_vpc.one.id
  propagating_vgws = [aws_vpn_gateway_attachment.one.vpn_gateway_id]
  route {
    cidr_block                = aws_vpc.two.cidr_block
    vpc_peering_connection_id = aws_vpc_peering_connection.pair.id
  }
}
resource "aws_route_table" "two" { vpc_id = aws_vpc.two.id }
resource "aws_route" "back" {
  route_table_id            = aws_route_table.two.id
  destination_cidr_block    = aws_vpc.one.cidr_block
  vpc_peering_connection_id = aws_vpc_peering_connection.pair.id
}
resource "aws_vpn_gateway" "one" {
  amazon_side_asn = "65001"
  tags            = { Name = "one" }
}
resource "aws_vpn_gateway_attachment" "one" {
  vpc_id         = aws_vpc.one.id
  vpn_gateway_id = aws_vpn_gateway.one.id
}
resource "aws_vpn_gateway" "two" { vpc_id = aws_vpc.two.id }
resource "aws_vpn_gateway_route_propagation" "two" {
  vpn_gateway_id = aws_vpn_gateway.two.id
  route_table_id = aws_route_table.two.id
}
resource "aws_customer_gateway" "office" {
  bgp_asn    = 65010
  ip_address = "192.0.2.7"
  type       = "ipsec.1"
  tags       = { Name = "office" }
}
resource "aws_flow_log" "bucket" {
  vpc_id               = aws_vpc.one.id
  traffic_type         = "REJECT"
  log_destination_type = "s3"
  log_destination      = "arn:aws:s3:::flows/one"
  tags                 = { Name = "bucket" }
}
resource "aws_flow_log" "group" {
  vpc_id          = aws_vpc.two.id
  traffic_type    = "ALL"
  log_destination = "arn:aws:logs:ap-southeast-2:000000000001:log-group:flows"
  iam_role_arn    = "arn:aws:iam::000000000001:role/flows"
}
output "pair" { value = aws_vpc_peering_connection.pair.id }
output "vpn" { value = aws_vpn_gateway.one.id }
output "office" { value = aws_customer_gateway.office.id }
output "log" { value = aws_flow_log.bucket.id }
output "table" { value = aws_route_table.two.id }
"""
AFTER = (
    BEFORE.replace("allow_remote_vpc_dns_resolution = false", "allow_remote_vpc_dns_resolution = true")
    .replace('{ Name = "pair" }', '{ Name = "changed" }')
    .replace('{ Name = "office" }', '{ Name = "changed" }')
    .replace('{ Name = "bucket" }', '{ Name = "changed" }')
)


def test_peering_vpn_gateways_and_flow_logs(life_cycle, hive):
    space, outputs = life_cycle(BEFORE, AFTER)
    ec2 = hive.client("ec2")
    found = ec2.describe_vpc_peering_connections(VpcPeeringConnectionIds=[outputs["pair"]])
    [pair] = found["VpcPeeringConnections"]
    assert pair["Status"]["Code"] == "active"
    assert pair["RequesterVpcInfo"]["PeeringOptions"]["AllowDnsResolutionFromRemoteVpc"] is True
    [table] = ec2.describe_route_tables(RouteTableIds=[outputs["table"]])["RouteTables"]
    assert len(table["PropagatingVgws"]) == 1
    for address, its_id in (
        ("aws_vpc_peering_connection.pair", outputs["pair"]),
        ("aws_vpn_gateway.one", outputs["vpn"]),
        ("aws_customer_gateway.office", outputs["office"]),
        ("aws_flow_log.bucket", outputs["log"]),
    ):
        space.import_again(address, its_id)
    assert set(space.plan().values()) <= {"update"}  # auto_accept is the configuration's alone
