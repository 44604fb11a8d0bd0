"""Network ACLs and DHCP options of the real provider: made, changed in place, imported, destroyed."""

from __future__ import annotations

BEFORE = """
resource "aws_vpc" "one" {
  cidr_block                       = "10.60.0.0/16"
  assign_generated_ipv6_cidr_block = true
}
resource "aws_subnet" "one" {
  vpc_id     = aws_vpc.one.id
  cidr_block = "10.60.1.0/24"
}
resource "aws_subnet" "two" {
  vpc_id     = aws_vpc.one.id
  cidr_block = "10.60.2.0/24"
}
resource "aws_network_acl" "inline" {
  vpc_id     = aws_vpc.one.id
  subnet_ids = [aws_subnet.one.id]
  tags       = { Name = "inline" }
  ingress {
    rule_no    = 100
    protocol   = "tcp"
    action     = "allow"
    cidr_block = "0.0.0.0/0"
    from_port  = 80
    to_port    = 80
  }
  ingress {
    rule_no         = 110
    protocol        = "-1"
    action          = "deny"
    ipv6_cidr_block = "::/0"
    from_port       = 0
    to_port         = 0
  }
  egress {
    rule_no    = 100
    protocol   = "-1"
    action     = "allow"
    cidr_block = "0.0.0.0/0"
    from_port  = 0
    to_port    = 0
  }
}
resource "aws_network_acl" "bare" {
  vpc_id = aws_vpc.one.id
}
resource "aws_network_acl_rule" "ping" {
  network_acl_id = aws_network_acl.bare.id
  rule_number    = 200
  protocol       = "icmp"
  rule_action    = "allow"
  cidr_block     = "10.0.0.0/8"
  icmp_type      = 8
  icmp_code      = -1
}
resource "aws_default_network_acl" "own" {
  default_network_acl_id = aws_vpc.one.default_network_acl_id
  lifecycle { ignore_changes = [subnet_ids] } # it has all subnets that no other ACL has
}
resource "aws_vpc_dhcp_options" "own" {
  domain_name          = "lab.internal"
  domain_name_servers  = ["10.60.0.2", "10.60.0.3"]
  ntp_servers          = ["10.60.0.4"]
  netbios_node_type    = 2
  netbios_name_servers = ["10.60.0.5"]
  tags                 = { Name = "own" }
}
resource "aws_vpc_dhcp_options_association" "own" {
  vpc_id          = aws_vpc.one.id
  dhcp_options_id = aws_vpc_dhcp_options.own.id
}
output "inline" { value = aws_network_acl.inline.id }
output "options" { value = aws_vpc_dhcp_options.own.id }
output "vpc" { value = aws_vpc.one.id }
"""
AFTER = (
    BEFORE.replace('"inline" }', '"changed" }')
    .replace("from_port  = 80\n    to_port    = 80", "from_port  = 80\n    to_port    = 90")
    .replace("subnet_ids = [aws_subnet.one.id]", "subnet_ids = [aws_subnet.two.id]")
    .replace('{ Name = "own" }', '{ Name = "changed" }')
)


def test_acls_and_dhcp_options(life_cycle, hive):
    space, outputs = life_cycle(BEFORE, AFTER)
    ec2 = hive.client("ec2")
    [acl] = ec2.describe_network_acls(NetworkAclIds=[outputs["inline"]])["NetworkAcls"]
    assert len(acl["Associations"]) == 1
    ports = [each["PortRange"] for each in acl["Entries"] if "PortRange" in each]
    assert ports == [{"From": 80, "To": 90}]
    wanted = [{"Name": "vpc-id", "Values": [outputs["vpc"]]}, {"Name": "default", "Values": ["true"]}]
    [default] = ec2.describe_network_acls(Filters=wanted)["NetworkAcls"]
    assert {each["RuleNumber"] for each in default["Entries"]} == {32767, 32768}  # adopted, and emptied
    assert ec2.describe_vpcs(VpcIds=[outputs["vpc"]])["Vpcs"][0]["DhcpOptionsId"] == outputs["options"]
    for address, its_id in (
        ("aws_network_acl.inline", outputs["inline"]),
        ("aws_vpc_dhcp_options.own", outputs["options"]),
        ("aws_vpc_dhcp_options_association.own", outputs["vpc"]),
    ):
        space.import_again(address, its_id)
    assert space.plan() == {}
