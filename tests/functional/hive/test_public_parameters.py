"""The Systems Manager's public parameters for images, with boto3 and with Terraform."""

from __future__ import annotations

import pytest
from botocore.exceptions import ClientError

from hive_emulator.testing import RunningHive

AMAZON = "/aws/service/ami-amazon-linux-latest"


@pytest.mark.parametrize(
    ("name", "image"),
    [
        (f"{AMAZON}/amzn2-ami-hvm-x86_64-gp2", "amzn2-ami-hvm-2.0.20260930.0-x86_64-gp2"),
        (f"{AMAZON}/al2023-ami-kernel-default-arm64", "al2023-ami-2023.12.20260930.0-kernel-6.1-arm64"),
        (f"{AMAZON}/amzn-ami-hvm-x86_64-s3", "amzn-ami-hvm-2018.03.0.20231218.0-x86_64-s3"),
        (
            "/aws/service/canonical/ubuntu/server/22.04/stable/current/amd64/hvm/ebs-gp2/ami-id",
            "ubuntu/*-22.04-amd64-*",
        ),
        (
            "/aws/service/canonical/ubuntu/server/noble/stable/current/arm64/hvm/ebs-gp3/ami-id",
            "ubuntu/*-24.04-arm64-*",
        ),
        ("/aws/service/debian/release/12/latest/amd64", "debian-12-amd64-20250814-2204"),
        (
            "/aws/service/ami-windows-latest/Windows_Server-2022-English-Full-Base",
            "Windows_Server-2022-English-Full-*",
        ),
    ],
)
def test_a_parameter_names_the_newest_image(hive: RunningHive, name: str, image: str) -> None:
    found = hive.client("ssm").get_parameter(Name=name)["Parameter"]
    assert (found["Name"], found["Type"], found["DataType"]) == (name, "String", "aws:ec2:image")
    assert found["ARN"] == f"arn:aws:ssm:ap-southeast-2::parameter{name}"
    assert found["LastModifiedDate"].year >= 2023
    wanted = [{"Name": "name", "Values": [image]}]
    ids = [each["ImageId"] for each in hive.client("ec2").describe_images(Filters=wanted)["Images"]]
    assert found["Value"] in ids
    assert hive.client("ssm").get_parameter(Name=found["ARN"])["Parameter"] == found


def test_several_at_once_and_what_is_not_there(hive: RunningHive) -> None:
    ssm = hive.client("ssm")
    known, unknown = f"{AMAZON}/al2023-ami-kernel-default-x86_64", "/aws/service/nothing"
    answer = ssm.get_parameters(Names=[known, unknown])
    assert [each["Name"] for each in answer["Parameters"]] == [known]
    assert answer["InvalidParameters"] == [unknown]
    with pytest.raises(ClientError) as caught:
        ssm.get_parameter(Name=unknown)
    assert caught.value.response["Error"]["Code"] == "ParameterNotFound"
    with pytest.raises(ClientError) as caught:
        ssm.put_parameter(Name="/mine", Value="1", Type="String")
    assert caught.value.response["Error"]["Code"] == "InvalidAction"


FAMILIES = {
    "amazon1": ("amazon", "amzn-ami-hvm-*-x86_64-gp2"),
    "amazon2": ("amazon", "amzn2-ami-hvm-*-x86_64-gp2"),
    "amazon2023": ("amazon", "al2023-ami-2023.*-x86_64"),
    "nat": ("amazon", "amzn-ami-vpc-nat-*"),
    "ubuntu": ("099720109477", "ubuntu/images/hvm-ssd-gp3/ubuntu-noble-24.04-amd64-server-*"),
    "debian": ("136693071363", "debian-12-amd64-*"),
    "rocky": ("792107900819", "Rocky-9-EC2-Base-9.*x86_64"),
    "alma": ("764336703387", "AlmaLinux OS 9*x86_64"),
    "suse": ("013907871322", "suse-sles-15-*-x86_64"),
    "rhel": ("309956199498", "RHEL-9*x86_64*"),
    "windows": ("amazon", "Windows_Server-2016-English-Core-Base-*"),
    "marketplace": ("aws-marketplace", "Rocky-9-*"),
}


def test_terraform_finds_an_image_of_every_family_and_runs_one_by_its_parameter(tf, nothing_left) -> None:
    images = "\n".join(
        f"""
data "aws_ami" "{family}" {{
  owners      = ["{owner}"]
  most_recent = true
  filter {{
    name   = "name"
    values = ["{name}"]
  }}
}}
output "{family}" {{ value = data.aws_ami.{family}.architecture }}
"""
        for family, (owner, name) in FAMILIES.items()
    )
    space = tf(
        images
        + f"""
data "aws_ssm_parameter" "image" {{ name = "{AMAZON}/al2023-ami-kernel-default-x86_64" }}
resource "aws_instance" "one" {{
  ami           = data.aws_ssm_parameter.image.value
  instance_type = "t2.micro"
}}
"""
    )
    try:
        space.apply()
        assert space.plan() == {}
        assert set(space.outputs().values()) == {"x86_64"}
    finally:
        space.destroy()
