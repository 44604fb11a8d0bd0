"""The demo's last step: what has our tags is named, and what the account had before is not."""

from __future__ import annotations

from demo.left import left
from hive_emulator.testing import RunningHive

TAGS = [{"Key": "saltform:environment", "Value": "staging"}]


def test_only_what_has_our_tags_and_has_not_ended_is_left(hive: RunningHive, nothing_left: None) -> None:
    ec2 = hive.client("ec2")
    before = left(ec2)
    vpc = ec2.create_vpc(CidrBlock="10.99.0.0/16", TagSpecifications=[{"ResourceType": "vpc", "Tags": TAGS}])
    name = vpc["Vpc"]["VpcId"]
    image = ec2.describe_images()["Images"][0]["ImageId"]
    tags = [{"ResourceType": "instance", "Tags": TAGS}]
    (instance,) = ec2.run_instances(ImageId=image, MinCount=1, MaxCount=1, TagSpecifications=tags)["Instances"]
    assert set(left(ec2)) - set(before) == {f"vpc {name}", f"instance {instance['InstanceId']}"}
    ec2.delete_vpc(VpcId=name)
    ec2.terminate_instances(InstanceIds=[instance["InstanceId"]])
    assert left(ec2) == before
