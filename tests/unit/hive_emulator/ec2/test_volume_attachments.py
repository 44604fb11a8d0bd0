"""Volumes on instances."""

from __future__ import annotations

import pytest


@pytest.fixture
def running(launch):
    return launch()["InstanceId"]


def attach(desk, volume_id, instance_id, device="/dev/sdf"):
    return desk("AttachVolume", VolumeId=volume_id, InstanceId=instance_id, Device=device)


def test_an_attachment_shows_in_the_volume_and_in_the_instance(desk, volume, running, instance):
    made = volume()["VolumeId"]
    assert attach(desk, made, running)["State"] == "attaching"
    [shown] = desk("DescribeVolumes", VolumeIds=[made])["Volumes"]
    [attachment] = shown["Attachments"]
    assert (shown["State"], attachment["State"], attachment["InstanceId"]) == ("in-use", "attached", running)
    mapping = instance(running)["BlockDeviceMappings"][-1]
    assert mapping["DeviceName"] == "/dev/sdf"
    assert (mapping["Ebs"]["VolumeId"], mapping["Ebs"]["DeleteOnTermination"]) == (made, False)


def test_a_detached_volume_is_available_again(desk, volume, running, instance):
    made = volume()["VolumeId"]
    attach(desk, made, running)
    assert desk("DetachVolume", VolumeId=made)["State"] == "detaching"
    [shown] = desk("DescribeVolumes", VolumeIds=[made])["Volumes"]
    assert (shown["State"], shown["Attachments"]) == ("available", [])
    assert [each["DeviceName"] for each in instance(running)["BlockDeviceMappings"]] == ["/dev/xvda"]


def test_zones_must_match(desk, refused, volume, running):
    made = volume(AvailabilityZone="ap-southeast-2b")["VolumeId"]
    with refused("InvalidVolume.ZoneMismatch", made, running):
        attach(desk, made, running)


def test_a_volume_is_on_one_instance_only(desk, refused, volume, running, launch):
    made = volume()["VolumeId"]
    attach(desk, made, running)
    with refused("VolumeInUse", made):
        attach(desk, made, launch()["InstanceId"])
    with refused("VolumeInUse", made, running):
        desk("DeleteVolume", VolumeId=made)


def test_a_multi_attach_volume_is_on_several_and_says_which_one_to_leave(desk, refused, volume, running, launch):
    made = volume(VolumeType="io1", Size=10, Iops=100, MultiAttachEnabled=True)["VolumeId"]
    other = launch()["InstanceId"]
    attach(desk, made, running)
    attach(desk, made, other)
    with refused("MissingParameter", "instanceId"):
        desk("DetachVolume", VolumeId=made)
    desk("DetachVolume", VolumeId=made, InstanceId=running)
    [shown] = desk("DescribeVolumes", VolumeIds=[made])["Volumes"]
    assert (shown["State"], [each["InstanceId"] for each in shown["Attachments"]]) == ("in-use", [other])


def test_a_device_is_used_once(desk, refused, volume, running):
    attach(desk, volume()["VolumeId"], running)
    with refused("InvalidParameterValue", "/dev/sdf", "already in use"):
        attach(desk, volume()["VolumeId"], running)


@pytest.mark.parametrize("device", ["/dev/nvme1n1", "sdfoo", "/dev/sd1", "C:", "/dev/xvdzz", "/dev/sda0"])
def test_what_is_not_a_device_name_is_refused(desk, refused, volume, running, device):
    with refused("InvalidParameterValue", "not a valid EBS device name"):
        attach(desk, volume()["VolumeId"], running, device)


@pytest.mark.parametrize("device", ["/dev/sdb", "/dev/sdb15", "/dev/xvdf", "/dev/xvdba", "xvdf"])
def test_device_names_of_linux_and_windows_are_taken(desk, volume, running, device):
    assert attach(desk, volume()["VolumeId"], running, device)["Device"] == device


def test_an_instance_type_takes_so_many_volumes(desk, refused, volume, launch):
    big = launch(InstanceType="g5.48xlarge")["InstanceId"]  # 9 with its root
    for letter in "bcdefghi":
        attach(desk, volume(Size=1)["VolumeId"], big, f"/dev/sd{letter}")
    with refused("AttachmentLimitExceeded", "g5.48xlarge", "9"):
        attach(desk, volume(Size=1)["VolumeId"], big, "/dev/sdj")


def test_a_root_volume_leaves_only_a_stopped_instance_which_then_cannot_start(desk, refused, running, instance):
    root = instance(running)["BlockDeviceMappings"][0]["Ebs"]["VolumeId"]
    with refused("OperationNotPermitted", root):
        desk("DetachVolume", VolumeId=root)
    desk("StopInstances", InstanceIds=[running])
    desk("DetachVolume", VolumeId=root)
    with refused("InvalidParameterValue", "/dev/xvda"):
        desk("StartInstances", InstanceIds=[running])
    attach(desk, root, running, "/dev/xvda")
    desk("StartInstances", InstanceIds=[running])


def test_to_detach_what_is_not_attached_is_refused(desk, refused, volume, running):
    made = volume()["VolumeId"]
    with refused("IncorrectState", "available"):
        desk("DetachVolume", VolumeId=made)
    attach(desk, made, running)
    with refused("InvalidAttachment.NotFound", "/dev/sdz"):
        desk("DetachVolume", VolumeId=made, Device="/dev/sdz")


def test_a_terminated_instance_takes_no_volume(desk, refused, volume, running):
    desk("TerminateInstances", InstanceIds=[running])
    with refused("IncorrectState", running):
        attach(desk, volume()["VolumeId"], running)
