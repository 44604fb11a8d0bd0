"""One large configuration, in the manner of a real one: network, machines, disks, addresses, tags everywhere."""

from __future__ import annotations

import pytest

COMMON = """
data "aws_caller_identity" "me" {}
data "aws_availability_zones" "up" {
  state = "available"
}
data "aws_ami" "ubuntu" {
  most_recent = true
  owners      = ["000000000000"]
  filter {
    name   = "name"
    values = ["*ubuntu-24.04*"]
  }
  filter {
    name   = "architecture"
    values = ["x86_64"]
  }
}
resource "aws_key_pair" "ops" {
  key_name   = "ops"
  public_key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJyAuVHaOLzZ/UFSkUpj/5HFfF3DI2iyLi9sVeWmdFnC ops@example"
}
resource "aws_vpc" "main" {
  cidr_block           = "10.42.0.0/16"
  enable_dns_hostnames = true
  tags                 = { Name = "main" }
}
resource "aws_subnet" "zone" {
  count                   = 2
  vpc_id                  = aws_vpc.main.id
  cidr_block              = cidrsubnet(aws_vpc.main.cidr_block, 8, count.index)
  availability_zone       = data.aws_availability_zones.up.names[count.index]
  map_public_ip_on_launch = count.index == 0
  tags                    = { Name = "zone-${count.index}" }
}
resource "aws_internet_gateway" "out" {
  vpc_id = aws_vpc.main.id
}
# Tags of their own: provider 3.39 gives an address without any no default tags either.
resource "aws_eip" "nat" {
  vpc = true
  tags = { Name = "nat" }
}
resource "aws_nat_gateway" "out" {
  allocation_id = aws_eip.nat.id
  subnet_id     = aws_subnet.zone[0].id
  depends_on    = [aws_internet_gateway.out]
}
resource "aws_route_table" "public" {
  vpc_id = aws_vpc.main.id
  route {
    cidr_block = "0.0.0.0/0"
    gateway_id = aws_internet_gateway.out.id
  }
}
resource "aws_route_table" "private" {
  vpc_id = aws_vpc.main.id
  route {
    cidr_block     = "0.0.0.0/0"
    nat_gateway_id = aws_nat_gateway.out.id
  }
}
resource "aws_route_table_association" "zone" {
  count          = 2
  subnet_id      = aws_subnet.zone[count.index].id
  route_table_id = count.index == 0 ? aws_route_table.public.id : aws_route_table.private.id
}
resource "aws_security_group" "app" {
  name   = "app"
  vpc_id = aws_vpc.main.id
}
resource "aws_security_group" "db" {
  name   = "db"
  vpc_id = aws_vpc.main.id
}
resource "aws_security_group_rule" "db_from_app" {
  type                     = "ingress"
  from_port                = 5432
  to_port                  = 5432
  protocol                 = "tcp"
  security_group_id        = aws_security_group.db.id
  source_security_group_id = aws_security_group.app.id
}
resource "aws_security_group_rule" "app_from_db" {
  type                     = "ingress"
  from_port                = 9100
  to_port                  = 9100
  protocol                 = "tcp"
  security_group_id        = aws_security_group.app.id
  source_security_group_id = aws_security_group.db.id
}
resource "aws_placement_group" "nodes" {
  name     = "nodes"
  strategy = "spread"
}
resource "aws_instance" "node" {
  count                  = 3
  ami                    = data.aws_ami.ubuntu.id
  instance_type          = "t3.small"
  key_name               = aws_key_pair.ops.key_name
  subnet_id              = aws_subnet.zone[count.index % 2].id
  vpc_security_group_ids = [aws_security_group.app.id, aws_security_group.db.id]
  placement_group        = aws_placement_group.nodes.id
  user_data              = "#cloud-config\\nhostname: node-${count.index}\\n"
  root_block_device {
    volume_size = 20
    encrypted   = true
  }
  metadata_options {
    http_endpoint = "enabled"
    http_tokens   = "required"
  }
  tags = { Name = "node-${count.index}", Role = "node" }
}
resource "aws_ebs_volume" "data" {
  count             = 3
  availability_zone = aws_instance.node[count.index].availability_zone
  size              = 10 + count.index
  type              = "gp3"
  tags              = { Name = "data-${count.index}" }
}
resource "aws_volume_attachment" "data" {
  count       = 3
  device_name = "/dev/sdf"
  volume_id   = aws_ebs_volume.data[count.index].id
  instance_id = aws_instance.node[count.index].id
}
resource "aws_network_interface" "back" {
  count           = 2
  subnet_id       = aws_subnet.zone[count.index].id
  security_groups = [aws_security_group.db.id]
  attachment {
    instance     = aws_instance.node[count.index].id
    device_index = 1
  }
}
resource "aws_network_interface" "own" {
  subnet_id = aws_subnet.zone[1].id
}
resource "aws_instance" "own_interface" {
  ami           = data.aws_ami.ubuntu.id
  instance_type = "t3.nano"
  network_interface {
    network_interface_id = aws_network_interface.own.id
    device_index         = 0
  }
}
resource "aws_network_interface" "late" {
  subnet_id = aws_subnet.zone[1].id
}
resource "aws_network_interface_attachment" "late" {
  instance_id          = aws_instance.own_interface.id
  network_interface_id = aws_network_interface.late.id
  device_index         = 1
}
resource "aws_eip" "node" {
  count             = 1
  tags              = { Name = "node" }
  network_interface = aws_instance.node[0].primary_network_interface_id # by instance only while it has just one
  vpc               = true
  depends_on        = [aws_internet_gateway.out]
}
resource "aws_eip" "own" {
  vpc = true
  tags = { Name = "own" }
}
resource "aws_eip_association" "own" {
  allocation_id        = aws_eip.own.id
  network_interface_id = aws_network_interface.own.id
}
resource "aws_ebs_snapshot" "data" {
  volume_id = aws_ebs_volume.data[0].id
}
data "aws_vpcs" "main" {
  tags       = { Name = "main" }
  depends_on = [aws_vpc.main]
}
data "aws_security_groups" "all" {
  filter {
    name   = "vpc-id"
    values = [aws_vpc.main.id]
  }
  depends_on = [aws_security_group.app, aws_security_group.db]
}
data "aws_instances" "nodes" {
  instance_tags = { Role = "node" }
  depends_on    = [aws_instance.node]
}
output "facts" {
  value = {
    account         = data.aws_caller_identity.me.account_id
    zones           = data.aws_availability_zones.up.names
    vpcs            = length(data.aws_vpcs.main.ids)
    subnets         = length(data.SUBNETS.all.ids)
    security_groups = length(data.aws_security_groups.all.ids)
    instances       = length(data.aws_instances.nodes.ids)
    node_public     = aws_instance.node[2].public_ip != ""
    names           = [for node in aws_instance.node : node.tags_all["Suite"]]
  }
}
"""

SUBNETS = {
    False: ("aws_subnet_ids", 'data "aws_subnet_ids" "all" {\n  vpc_id = aws_vpc.main.id\n'),
    True: (
        "aws_subnets",
        'data "aws_subnets" "all" {\n  filter {\n    name = "vpc-id"\n    values = [aws_vpc.main.id]\n  }\n',
    ),
}


@pytest.fixture
def config(provider) -> str:
    """The configuration in the provider's own words: its newer versions renamed a few things."""
    name, opening = SUBNETS[provider.newer]
    text = COMMON.replace("SUBNETS", name) + opening + "  depends_on = [aws_subnet.zone]\n}\n"
    return text.replace("  vpc = true\n", "").replace("  vpc        = true\n", "") if provider.newer else text


def test_a_large_configuration_is_made_changed_in_place_and_destroyed_without_a_trace(life_cycle, config, hive):
    after = config.replace('Role = "node" }', 'Role = "node", Tier = "app" }').replace(
        'resource "aws_ebs_snapshot" "data" {\n', 'resource "aws_ebs_snapshot" "data" {\n  tags = { Keep = "1" }\n'
    )

    _, outputs = life_cycle(config, after)

    assert outputs["facts"] == {
        "account": hive.account,
        "zones": [f"{hive.region}{letter}" for letter in "abc"],
        "vpcs": 1,
        "subnets": 2,
        "security_groups": 3,
        "instances": 3,
        "node_public": True,
        "names": ["functional"] * 3,
    }
    ec2 = hive.client("ec2")
    running = [{"Name": "tag:Tier", "Values": ["app"]}, {"Name": "instance-state-name", "Values": ["running"]}]
    nodes = [each for one in ec2.describe_instances(Filters=running)["Reservations"] for each in one["Instances"]]
    cards = sorted(len(node["NetworkInterfaces"]) for node in nodes)
    assert cards == [1, 2, 2]
    assert all(len(node["BlockDeviceMappings"]) == 2 for node in nodes)
    [first] = [node for node in nodes if {"Key": "Name", "Value": "node-0"} in node["Tags"]]
    [address] = ec2.describe_addresses(Filters=[{"Name": "instance-id", "Values": [first["InstanceId"]]}])[
        "Addresses"
    ]
    assert first["PublicIpAddress"] == address["PublicIp"]
