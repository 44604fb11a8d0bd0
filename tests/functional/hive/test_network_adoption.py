"""What a VPC comes with, taken over by Terraform; blocks, tags and associations added to it; data sources."""

from __future__ import annotations

from hive_terraform import workspace

BEFORE = """
resource "aws_vpc" "one" {
  cidr_block = "10.30.0.0/16"
  tags       = { Name = "adopted" }
  lifecycle {
    ignore_changes = [tags["Extra"], tags_all["Extra"]]
  }
}
resource "aws_vpc_ipv4_cidr_block_association" "more" {
  vpc_id     = aws_vpc.one.id
  cidr_block = "10.31.0.0/16"
}
resource "aws_subnet" "more" {
  vpc_id     = aws_vpc.one.id
  cidr_block = cidrsubnet(aws_vpc_ipv4_cidr_block_association.more.cidr_block, 8, 1)
}
resource "aws_subnet" "six" {
  vpc_id     = aws_vpc.one.id
  cidr_block = "10.30.6.0/24"
}
resource "aws_internet_gateway" "one" {
  vpc_id = aws_vpc.one.id
}
resource "aws_default_route_table" "one" {
  default_route_table_id = aws_vpc.one.default_route_table_id
}
resource "aws_default_security_group" "one" {
  vpc_id = aws_vpc.one.id
  ingress {
    protocol  = -1
    self      = true
    from_port = 0
    to_port   = 0
  }
}
resource "aws_security_group" "web" {
  name   = "web"
  vpc_id = aws_vpc.one.id
}
resource "aws_security_group_rule" "web" {
  for_each          = toset(["80", "443"])
  type              = "ingress"
  security_group_id = aws_security_group.web.id
  cidr_blocks       = ["10.0.0.0/8", "192.168.0.0/16"]
  ipv6_cidr_blocks  = ["fd00::/8"]
  from_port         = each.key
  to_port           = each.key
  protocol          = "tcp"
}
resource "aws_security_group_rule" "self" {
  type              = "egress"
  security_group_id = aws_security_group.web.id
  self              = true
  from_port         = -1
  to_port           = -1
  protocol          = "icmp"
}
data "aws_prefix_list" "s3" {
  name = "com.amazonaws.ap-southeast-2.s3"
}
resource "aws_security_group_rule" "list" {
  type              = "egress"
  security_group_id = aws_security_group.web.id
  prefix_list_ids   = [data.aws_prefix_list.s3.id]
  from_port         = 443
  to_port           = 443
  protocol          = "tcp"
}
resource "aws_ec2_tag" "one" {
  resource_id = aws_vpc.one.id
  key         = "Extra"
  value       = "one"
}
output "vpc" { value = aws_vpc.one.id }
"""
IPV6 = (
    ('tags       = { Name = "adopted" }', "assign_generated_ipv6_cidr_block = true"),
    (
        'cidr_block = "10.30.6.0/24"',
        """cidr_block = "10.30.6.0/24"
  ipv6_cidr_block                 = cidrsubnet(aws_vpc.one.ipv6_cidr_block, 8, 6)
  assign_ipv6_address_on_creation = true""",
    ),
    (
        "default_route_table_id = aws_vpc.one.default_route_table_id",
        """default_route_table_id = aws_vpc.one.default_route_table_id
  route {
    cidr_block = "0.0.0.0/0"
    gateway_id = aws_internet_gateway.one.id
  }""",
    ),
    ("self      = true", 'self      = true\n    description = "each other"'),
    ('value       = "one"', 'value       = "two"'),
)
DATA = """
data "aws_region" "here" {}
data "aws_caller_identity" "me" {}
data "aws_availability_zones" "all" {}
data "aws_availability_zone" "first" { name = data.aws_availability_zones.all.names[0] }
data "aws_vpc" "default" { default = true }
data "aws_vpcs" "tagged" {
  tags       = { Extra = "two" }
  depends_on = [aws_ec2_tag.one]
}
data "aws_subnet" "six" {
  vpc_id     = aws_vpc.one.id
  cidr_block = aws_subnet.six.cidr_block
}
data "aws_security_group" "web" {
  vpc_id = aws_vpc.one.id
  name   = aws_security_group.web.name
}
data "aws_security_groups" "here" {
  filter {
    name   = "vpc-id"
    values = [aws_security_group.web.vpc_id]
  }
}
data "aws_internet_gateway" "one" {
  filter {
    name   = "attachment.vpc-id"
    values = [aws_internet_gateway.one.vpc_id]
  }
}
data "aws_route_table" "main" { route_table_id = aws_default_route_table.one.id }
data "aws_route_tables" "here" { vpc_id = aws_default_route_table.one.vpc_id }
data "aws_network_acls" "here" { vpc_id = aws_vpc.one.id }
data "aws_vpc_dhcp_options" "default" { dhcp_options_id = data.aws_vpc.default.dhcp_options_id }
output "found" {
  value = {
    region  = data.aws_region.here.name
    account = data.aws_caller_identity.me.account_id
    zones   = length(data.aws_availability_zones.all.names)
    suffix  = data.aws_availability_zone.first.name_suffix
    default = data.aws_vpc.default.cidr_block
    tagged  = length(data.aws_vpcs.tagged.ids)
    subnet  = data.aws_subnet.six.id == aws_subnet.six.id
    group   = data.aws_security_group.web.id == aws_security_group.web.id
    groups  = length(data.aws_security_groups.here.ids)
    gateway = data.aws_internet_gateway.one.id == aws_internet_gateway.one.id
    routes  = length(data.aws_route_table.main.routes)
    tables  = length(data.aws_route_tables.here.ids)
    acls    = length(data.aws_network_acls.here.ids)
    domain  = data.aws_vpc_dhcp_options.default.domain_name
  }
}
"""


def changed(config: str, *changes: tuple[str, str]) -> str:
    for old, new in changes:
        assert old in config, old
        config = config.replace(old, new, 1)
    return config


def test_what_a_vpc_comes_with_can_be_taken_over_and_ipv6_comes_and_goes(life_cycle, hive):
    space, outputs = life_cycle(BEFORE, changed(BEFORE, *IPV6) + DATA)
    assert outputs["found"] == {
        "region": hive.region,
        "account": hive.account,
        "zones": 3,
        "suffix": "a",
        "default": "172.31.0.0/16",
        "tagged": 1,
        "subnet": True,
        "group": True,
        "groups": 2,
        "gateway": True,
        "routes": 1,
        "tables": 1,
        "acls": 1,
        "domain": f"{hive.region}.compute.internal",
    }
    # IPv6 away again, the subnet's block first: AWS refuses to take the VPC's while a subnet uses it.
    subnet_without = changed(BEFORE, IPV6[0], *IPV6[2:])
    for config in (subnet_without, changed(subnet_without, (IPV6[0][1], ""))):
        assert set(space.apply(config).values()) == {"update"}
        assert space.plan() == {}
    [vpc] = hive.client("ec2").describe_vpcs(VpcIds=[outputs["vpc"]])["Vpcs"]
    states = [each["Ipv6CidrBlockState"]["State"] for each in vpc["Ipv6CidrBlockAssociationSet"]]
    assert states == ["disassociated"]


RULES = """
resource "aws_vpc" "one" {
  cidr_block = "10.50.0.0/16"
}
resource "aws_security_group" "one" {
  name   = "one"
  vpc_id = aws_vpc.one.id
}
resource "aws_security_group" "two" {
  name   = "two"
  vpc_id = aws_vpc.one.id
}
resource "aws_vpc_security_group_ingress_rule" "block" {
  security_group_id = aws_security_group.one.id
  cidr_ipv4         = "10.0.0.0/8"
  ip_protocol       = "tcp"
  from_port         = 80
  to_port           = 80
  description       = "before"
  tags              = { Name = "block" }
}
resource "aws_vpc_security_group_ingress_rule" "six" {
  security_group_id = aws_security_group.one.id
  cidr_ipv6         = "fd00::/8"
  ip_protocol       = "-1"
}
resource "aws_vpc_security_group_ingress_rule" "group" {
  security_group_id            = aws_security_group.one.id
  referenced_security_group_id = aws_security_group.two.id
  ip_protocol                  = "udp"
  from_port                    = 53
  to_port                      = 53
}
data "aws_ec2_managed_prefix_list" "s3" {
  name = "com.amazonaws.ap-southeast-2.s3"
}
resource "aws_vpc_security_group_egress_rule" "list" {
  security_group_id = aws_security_group.one.id
  prefix_list_id    = data.aws_ec2_managed_prefix_list.s3.id
  ip_protocol       = "tcp"
  from_port         = 443
  to_port           = 443
}
data "aws_subnets" "default" {
  filter {
    name   = "default-for-az"
    values = ["true"]
  }
}
data "aws_vpc_security_group_rules" "one" {
  filter {
    name   = "group-id"
    values = [aws_vpc_security_group_ingress_rule.block.security_group_id]
  }
}
output "subnets" { value = length(data.aws_subnets.default.ids) }
"""


def test_rules_as_resources_of_their_own_with_a_newer_provider(hive, newer_provider, tmp_path, nothing_left):
    space = workspace(hive, newer_provider, tmp_path, RULES)
    try:
        space.apply()
        assert space.plan() == {}
        after = changed(RULES, ('"before"', '"after"'), ("to_port           = 80", "to_port           = 88"))
        done = space.apply(changed(after, ('"fd00::/8"', '"fd12::/16"'), ('{ Name = "block" }', '{ Name = "b" }')))
        assert set(done.values()) == {"update"}
        assert space.plan() == {}
        assert space.outputs() == {"subnets": 1}
    finally:
        space.destroy()
