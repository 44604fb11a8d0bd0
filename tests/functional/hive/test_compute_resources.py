"""Compute resource types of the real provider: made, planned empty, changed in place, planned empty, destroyed."""

from __future__ import annotations

BEFORE = """
data "aws_ami" "debian" {
  most_recent = true
  owners      = ["000000000000"]
  filter {
    name   = "name"
    values = ["*debian-12*"]
  }
  filter {
    name   = "architecture"
    values = ["x86_64"]
  }
  filter {
    name   = "virtualization-type"
    values = ["hvm"]
  }
  filter {
    name   = "root-device-type"
    values = ["ebs"]
  }
}
data "aws_subnet" "default" {
  default_for_az    = true
  availability_zone = "ap-southeast-2a"
}
resource "aws_key_pair" "one" {
  key_name   = "one"
  public_key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJyAuVHaOLzZ/UFSkUpj/5HFfF3DI2iyLi9sVeWmdFnC one@example"
}
resource "aws_placement_group" "spread" {
  name     = "spread"
  strategy = "spread"
}
resource "aws_security_group" "one" {
  name = "compute"
}
resource "aws_instance" "one" {
  ami                    = data.aws_ami.debian.id
  instance_type          = "t3.micro"
  key_name               = aws_key_pair.one.key_name
  subnet_id              = data.aws_subnet.default.id
  vpc_security_group_ids = [aws_security_group.one.id]
  placement_group        = aws_placement_group.spread.name
  user_data              = "#!/bin/sh\\necho hello\\n"
  iam_instance_profile   = "web"
  root_block_device {
    volume_size = 9
    tags        = { Name = "root" }
  }
  ebs_block_device {
    device_name           = "/dev/sdg"
    volume_type           = "gp3"
    volume_size           = 7
    iops                  = 3400
    throughput            = 200
    delete_on_termination = true
  }
  metadata_options {
    http_endpoint = "enabled"
    http_tokens   = "required"
  }
  credit_specification {
    cpu_credits = "standard"
  }
  tags = { Name = "one" }
}
resource "aws_instance" "grows" {
  ami           = data.aws_ami.debian.id
  instance_type = "t3.nano"
  subnet_id     = data.aws_subnet.default.id
}
resource "aws_instance" "bigger_root" {
  ami           = data.aws_ami.debian.id
  instance_type = "t3.nano"
  subnet_id     = data.aws_subnet.default.id
  root_block_device {
    volume_size = 12
  }
}
resource "aws_ebs_volume" "data" {
  availability_zone = "ap-southeast-2a"
  size              = 10
  type              = "gp3"
  tags              = { Name = "data" }
}
resource "aws_ebs_volume" "fast" {
  availability_zone = "ap-southeast-2a"
  size              = 20
  type              = "io1"
  iops              = 500
  encrypted         = true
}
resource "aws_volume_attachment" "data" {
  device_name = "/dev/sdh"
  volume_id   = aws_ebs_volume.data.id
  instance_id = aws_instance.bigger_root.id
}
resource "aws_ebs_snapshot" "data" {
  volume_id   = aws_ebs_volume.data.id
  description = "of the data"
}
resource "aws_ebs_snapshot_copy" "data" {
  source_snapshot_id = aws_ebs_snapshot.data.id
  source_region      = "ap-southeast-2"
}
resource "aws_ebs_volume" "restored" {
  availability_zone = "ap-southeast-2a"
  snapshot_id       = aws_ebs_snapshot.data.id
}
resource "aws_ami" "registered" {
  name                = "registered"
  description         = "before"
  virtualization_type = "hvm"
  architecture        = "x86_64"
  ena_support         = true
  root_device_name    = "/dev/xvda"
  ebs_block_device {
    device_name = "/dev/xvda"
    snapshot_id = aws_ebs_snapshot.data.id
    volume_size = 10
    volume_type = "gp3"
  }
}
resource "aws_ami_from_instance" "one" {
  name               = "from-one"
  source_instance_id = aws_instance.grows.id
}
data "aws_instance" "one" {
  instance_id = aws_instance.one.id
}
data "aws_ebs_volume" "root" {
  filter {
    name   = "attachment.instance-id"
    values = [aws_instance.grows.id]
  }
}
data "aws_ebs_snapshot" "data" {
  owners       = ["self"]
  snapshot_ids = [aws_ebs_snapshot.data.id]
}
data "aws_ami_ids" "ubuntu" {
  owners = ["099720109477"]
  filter {
    name   = "name"
    values = ["ubuntu/images/hvm-ssd-gp3/ubuntu-noble-24.04-amd64-server-*"]
  }
}
data "aws_ec2_instance_type" "gpu" {
  instance_type = "g5.12xlarge"
}
data "aws_ec2_instance_type_offerings" "t3" {
  location_type = "availability-zone"
  filter {
    name   = "instance-type"
    values = ["t3.*"]
  }
}
output "one" { value = aws_instance.one.id }
output "grows" { value = aws_instance.grows.id }
output "fast" { value = aws_ebs_volume.fast.id }
output "facts" {
  value = {
    private_ip    = data.aws_instance.one.private_ip == aws_instance.one.private_ip
    root_size     = data.aws_ebs_volume.root.size
    snapshot_size = data.aws_ebs_snapshot.data.volume_size
    ubuntu        = length(data.aws_ami_ids.ubuntu.ids)
    gpus          = data.aws_ec2_instance_type.gpu.total_gpu_memory
    offered       = length(distinct(data.aws_ec2_instance_type_offerings.t3.instance_types))
    public_ip     = aws_instance.one.public_ip != ""
  }
}
"""

CHANGES = (
    ('resource "aws_key_pair" "one" {\n', 'resource "aws_key_pair" "one" {\n  tags = { Owner = "ops" }\n'),
    ('  strategy = "spread"\n', '  strategy = "spread"\n  tags     = { Owner = "ops" }\n'),
    ("    volume_size = 12\n", "    volume_size = 16\n"),
    ('tags        = { Name = "root" }', 'tags        = { Name = "system" }'),
    ('http_tokens   = "required"', 'http_tokens   = "optional"'),
    ('cpu_credits = "standard"', 'cpu_credits = "unlimited"'),
    ('iam_instance_profile   = "web"', 'iam_instance_profile   = "db"'),
    ('tags = { Name = "one" }', 'tags = { Name = "first" }\n  monitoring = true\n  source_dest_check = false'),
    ('"t3.nano"\n', '"t3.small"\n  disable_api_termination = false\n'),
    (
        '  size              = 10\n  type              = "gp3"\n',
        '  size              = 30\n  type              = "gp3"\n',
    ),
    ("  iops              = 500\n", "  iops              = 900\n"),
    ('tags              = { Name = "data" }', 'tags              = { Name = "records" }'),
    ('description = "of the data"\n', 'description = "of the data"\n  tags        = { Kept = "yes" }\n'),
    ('"before"', '"after"'),
    ('"from-one"\n', '"from-one"\n  tags = { Kept = "yes" }\n'),
    (
        '  source_region      = "ap-southeast-2"\n',
        '  source_region      = "ap-southeast-2"\n  tags = { Kept = "yes" }\n',
    ),
)


def changed(config: str) -> str:
    for old, new in CHANGES:
        assert old in config, old
        config = config.replace(old, new, 1)
    return config


def test_every_compute_resource_type_lives_through_create_update_and_destroy(life_cycle, hive):
    _, outputs = life_cycle(BEFORE, changed(BEFORE))

    assert outputs["facts"] == {
        "private_ip": True,
        "root_size": 8,
        "snapshot_size": 10,
        "ubuntu": 1,
        "gpus": 4 * 22888,
        "offered": 7,
        "public_ip": True,
    }
    ec2 = hive.client("ec2")
    [one], [grown] = (
        ec2.describe_instances(InstanceIds=[outputs[name]])["Reservations"][0]["Instances"]
        for name in ("one", "grows")
    )
    assert (one["Monitoring"]["State"], one["SourceDestCheck"]) == ("enabled", False)
    assert one["MetadataOptions"]["HttpTokens"] == "optional"
    assert one["Placement"]["GroupName"] == "spread"
    assert one["IamInstanceProfile"]["Arn"].endswith(":instance-profile/db")
    assert grown["InstanceType"] == "t3.small"
    disks = {each["DeviceName"]: each["Ebs"]["VolumeId"] for each in one["BlockDeviceMappings"]}
    volumes = {each["VolumeId"]: each for each in ec2.describe_volumes()["Volumes"]}
    assert {device: volumes[volume]["Size"] for device, volume in disks.items()} == {"/dev/xvda": 9, "/dev/sdg": 7}
    assert {"Key": "Name", "Value": "system"} in volumes[disks["/dev/xvda"]]["Tags"]
    assert 16 in [volume["Size"] for volume in volumes.values()]
    [data] = ec2.describe_volumes(Filters=[{"Name": "tag:Name", "Values": ["records"]}])["Volumes"]
    assert (data["Size"], data["Attachments"][0]["Device"]) == (30, "/dev/sdh")
    [fast] = ec2.describe_volumes(VolumeIds=[outputs["fast"]])["Volumes"]
    assert (fast["Iops"], fast["Encrypted"]) == (900, True)
