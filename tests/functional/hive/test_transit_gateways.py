"""Transit gateways of the real provider, from creation to destruction."""

from __future__ import annotations

BEFORE = """
resource "aws_vpc" "one" { cidr_block = "10.64.0.0/16" }
resource "aws_subnet" "one" {
  vpc_id            = aws_vpc.one.id
  cidr_block        = "10.64.1.0/24"
  availability_zone = "ap-southeast-2a"
}
resource "aws_subnet" "two" {
  vpc_id            = aws_vpc.one.id
  cidr_block        = "10.64.2.0/24"
  availability_zone = "ap-southeast-2b"
}
resource "aws_ec2_transit_gateway" "hub" {
  description                     = "hub"
  default_route_table_association = "disable"
  default_route_table_propagation = "disable"
  tags                            = { Name = "hub" }
}
resource "aws_ec2_transit_gateway_vpc_attachment" "one" {
  transit_gateway_id                              = aws_ec2_transit_gateway.hub.id
  vpc_id                                          = aws_vpc.one.id
  subnet_ids                                      = [aws_subnet.one.id]
  transit_gateway_default_route_table_association = false
  transit_gateway_default_route_table_propagation = false
}
resource "aws_ec2_transit_gateway_route_table" "own" {
  transit_gateway_id = aws_ec2_transit_gateway.hub.id
}
resource "aws_ec2_transit_gateway_route_table_association" "own" {
  transit_gateway_attachment_id  = aws_ec2_transit_gateway_vpc_attachment.one.id
  transit_gateway_route_table_id = aws_ec2_transit_gateway_route_table.own.id
}
resource "aws_ec2_transit_gateway_route_table_propagation" "own" {
  transit_gateway_attachment_id  = aws_ec2_transit_gateway_vpc_attachment.one.id
  transit_gateway_route_table_id = aws_ec2_transit_gateway_route_table.own.id
}
resource "aws_ec2_transit_gateway_route" "out" {
  destination_cidr_block         = "0.0.0.0/0"
  transit_gateway_attachment_id  = aws_ec2_transit_gateway_vpc_attachment.one.id
  transit_gateway_route_table_id = aws_ec2_transit_gateway_route_table.own.id
}
resource "aws_route_table" "one" {
  vpc_id = aws_vpc.one.id
  route {
    cidr_block         = "10.0.0.0/8"
    transit_gateway_id = aws_ec2_transit_gateway_vpc_attachment.one.transit_gateway_id
  }
}
output "hub" { value = aws_ec2_transit_gateway.hub.id }
output "attachment" { value = aws_ec2_transit_gateway_vpc_attachment.one.id }
output "table" { value = aws_ec2_transit_gateway_route_table.own.id }
"""
AFTER = (
    BEFORE.replace('{ Name = "hub" }', '{ Name = "changed" }')
    .replace('= "hub"\n', '= "changed"\n')
    .replace("= [aws_subnet.one.id]", "= [aws_subnet.one.id, aws_subnet.two.id]")
)


def test_transit_gateways(life_cycle):
    space, outputs = life_cycle(BEFORE, AFTER)
    for address, its_id in (
        ("aws_ec2_transit_gateway.hub", outputs["hub"]),
        ("aws_ec2_transit_gateway_route_table.own", outputs["table"]),
        ("aws_ec2_transit_gateway_route.out", f"{outputs['table']}_0.0.0.0/0"),
    ):
        space.import_again(address, its_id)
    assert space.plan() == {}
