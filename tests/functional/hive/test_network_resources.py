"""Network resource types of the real provider: made, planned empty, changed in place, planned empty, destroyed."""

from __future__ import annotations

BEFORE = """
resource "aws_vpc" "one" {
  cidr_block                       = "10.20.0.0/16"
  assign_generated_ipv6_cidr_block = true
  tags                             = { Name = "one" }
}
resource "aws_subnet" "public" {
  vpc_id            = aws_vpc.one.id
  cidr_block        = "10.20.1.0/24"
  availability_zone = data.aws_availability_zones.up.names[0]
  tags              = { Tier = "public" }
}
resource "aws_subnet" "private" {
  vpc_id            = aws_vpc.one.id
  cidr_block        = "10.20.2.0/24"
  ipv6_cidr_block   = cidrsubnet(aws_vpc.one.ipv6_cidr_block, 8, 2)
  availability_zone = data.aws_availability_zones.up.names[1]
}
data "aws_availability_zones" "up" {
  state = "available"
}
resource "aws_internet_gateway" "one" {
  vpc_id = aws_vpc.one.id
}
resource "aws_egress_only_internet_gateway" "one" {
  vpc_id = aws_vpc.one.id
}
resource "aws_eip" "nat" {
  vpc        = true
  tags       = { Name = "nat" } # 3.39 forgets default_tags on an address that has no tags of its own
  depends_on = [aws_internet_gateway.one]
}
resource "aws_nat_gateway" "one" {
  allocation_id = aws_eip.nat.id
  subnet_id     = aws_subnet.public.id
  depends_on    = [aws_internet_gateway.one]
}
resource "aws_route_table" "public" {
  vpc_id = aws_vpc.one.id
  route {
    cidr_block = "0.0.0.0/0"
    gateway_id = aws_internet_gateway.one.id
  }
}
resource "aws_route_table" "private" {
  vpc_id = aws_vpc.one.id
}
resource "aws_route" "out" {
  route_table_id         = aws_route_table.private.id
  destination_cidr_block = "0.0.0.0/0"
  gateway_id             = aws_internet_gateway.one.id
}
resource "aws_route" "out6" {
  route_table_id              = aws_route_table.private.id
  destination_ipv6_cidr_block = "::/0"
  egress_only_gateway_id      = aws_egress_only_internet_gateway.one.id
}
resource "aws_route_table_association" "public" {
  subnet_id      = aws_subnet.public.id
  route_table_id = aws_route_table.private.id
}
resource "aws_main_route_table_association" "one" {
  vpc_id         = aws_vpc.one.id
  route_table_id = aws_route_table.private.id
}
resource "aws_security_group" "web" {
  name        = "web"
  description = "front door"
  vpc_id      = aws_vpc.one.id
  ingress {
    description      = "https"
    from_port        = 443
    to_port          = 443
    protocol         = "tcp"
    cidr_blocks      = ["0.0.0.0/0"]
    ipv6_cidr_blocks = ["::/0"]
  }
  egress {
    from_port   = 0
    to_port     = 0
    protocol    = "-1"
    cidr_blocks = ["0.0.0.0/0"]
  }
}
resource "aws_security_group" "db" {
  name_prefix = "db-"
  vpc_id      = aws_vpc.one.id
}
resource "aws_security_group_rule" "db_from_web" {
  type                     = "ingress"
  security_group_id        = aws_security_group.db.id
  source_security_group_id = aws_security_group.web.id
  from_port                = 5432
  to_port                  = 5432
  protocol                 = "tcp"
  description              = "queries"
}
resource "aws_default_security_group" "one" {
  vpc_id = aws_vpc.one.id
}
resource "aws_network_interface" "one" {
  subnet_id       = aws_subnet.private.id
  private_ips     = ["10.20.2.10"]
  security_groups = [aws_security_group.web.id]
  description     = "before"
}
resource "aws_eip" "one" {
  vpc               = true
  tags              = { Name = "one" }
  network_interface = aws_network_interface.one.id
  depends_on        = [aws_internet_gateway.one]
}
resource "aws_network_interface" "two" {
  subnet_id = aws_subnet.private.id
}
resource "aws_network_interface_sg_attachment" "two" {
  security_group_id    = aws_security_group.web.id
  network_interface_id = aws_network_interface.two.id
}
resource "aws_eip" "two" {
  vpc  = true
  tags = { Name = "two" }
}
resource "aws_eip_association" "two" {
  allocation_id        = aws_eip.two.id
  network_interface_id = aws_network_interface.two.id
  depends_on           = [aws_internet_gateway.one]
}
output "vpc" { value = aws_vpc.one.id }
output "interface" { value = aws_network_interface.one.id }
"""

CHANGES = (
    (
        "assign_generated_ipv6_cidr_block = true\n",
        "assign_generated_ipv6_cidr_block = true\n  enable_dns_hostnames = true\n",
    ),
    ('{ Name = "one" }', '{ Name = "renamed" }'),
    ('{ Tier = "public" }', '{ Tier = "front" }\n  map_public_ip_on_launch = true'),
    (
        'resource "aws_internet_gateway" "one" {\n',
        'resource "aws_internet_gateway" "one" {\n  tags = { Name = "way out" }\n',
    ),
    (
        'resource "aws_egress_only_internet_gateway" "one" {\n',
        'resource "aws_egress_only_internet_gateway" "one" {\n  tags = { Name = "way out" }\n',
    ),
    ("allocation_id = aws_eip.nat.id\n", 'allocation_id = aws_eip.nat.id\n  tags = { Name = "nat" }\n'),
    ("  gateway_id             = aws_internet_gateway.one.id\n", "  nat_gateway_id = aws_nat_gateway.one.id\n"),
    (
        "subnet_id      = aws_subnet.public.id\n  route_table_id = aws_route_table.private.id",
        "subnet_id      = aws_subnet.public.id\n  route_table_id = aws_route_table.public.id",
    ),
    (
        "    from_port        = 443\n    to_port          = 443",
        "    from_port        = 8443\n    to_port          = 8443",
    ),
    ('"queries"', '"queries of the front"'),
    ('"before"', '"after"'),
    (
        "security_groups = [aws_security_group.web.id]",
        "security_groups = [aws_security_group.db.id]\n  source_dest_check = false",
    ),
    ('private_ips     = ["10.20.2.10"]', 'private_ips     = ["10.20.2.10", "10.20.2.11"]'),
    ('tags              = { Name = "one" }', 'tags              = { Name = "door" }'),
)
DATA = """
data "aws_network_interface" "two" {
  id = aws_network_interface_sg_attachment.two.network_interface_id
}
data "aws_eip" "two" {
  id = aws_eip_association.two.allocation_id
}
data "aws_nat_gateway" "one" {
  subnet_id  = aws_subnet.public.id
  state      = "available"
  depends_on = [aws_nat_gateway.one]
}
output "found" {
  value = {
    groups  = length(data.aws_network_interface.two.security_groups)
    address = data.aws_eip.two.private_ip == aws_network_interface.two.private_ip
    nat     = data.aws_nat_gateway.one.id == aws_nat_gateway.one.id
  }
}
"""


def changed(config: str) -> str:
    for old, new in CHANGES:
        assert old in config, old
        config = config.replace(old, new, 1)
    return config


def test_every_network_resource_type_lives_through_create_update_and_destroy(life_cycle, hive):
    _, outputs = life_cycle(BEFORE, changed(BEFORE) + DATA)

    assert outputs["found"] == {"groups": 2, "address": True, "nat": True}
    ec2 = hive.client("ec2")
    [vpc] = ec2.describe_vpcs(VpcIds=[outputs["vpc"]])["Vpcs"]
    assert {"Key": "Name", "Value": "renamed"} in vpc["Tags"]
    assert {"Key": "Suite", "Value": "functional"} in vpc["Tags"]
    [interface] = ec2.describe_network_interfaces(NetworkInterfaceIds=[outputs["interface"]])["NetworkInterfaces"]
    held = [each["PrivateIpAddress"] for each in interface["PrivateIpAddresses"]]
    assert (interface["Description"], interface["SourceDestCheck"], held) == (
        "after",
        False,
        ["10.20.2.10", "10.20.2.11"],
    )
    assert interface["Association"]["PublicIp"]
