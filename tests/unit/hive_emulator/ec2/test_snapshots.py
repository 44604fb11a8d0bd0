"""Snapshots of volumes, copies, and who holds them."""

from __future__ import annotations

import pytest


@pytest.fixture
def snapshot(desk, volume):
    made = volume(Size=12, Encrypted=True)
    return desk("CreateSnapshot", VolumeId=made["VolumeId"], Description="nightly")


def own(desk, **wanted):
    return desk("DescribeSnapshots", OwnerIds=["self"], **wanted)["Snapshots"]


def test_a_new_snapshot_is_pending_and_then_completed(desk, snapshot):
    assert (snapshot["State"], snapshot["Progress"]) == ("pending", "")
    [shown] = own(desk)
    assert (shown["State"], shown["Progress"], shown["VolumeSize"]) == ("completed", "100%", 12)
    assert (shown["Description"], shown["Encrypted"], shown["OwnerId"]) == ("nightly", True, desk.account)


def test_a_volume_from_a_snapshot_has_its_size_and_key(desk, refused, volume, snapshot):
    made = desk("CreateVolume", AvailabilityZone="ap-southeast-2b", SnapshotId=snapshot["SnapshotId"])
    assert (made["Size"], made["Encrypted"], made["KmsKeyId"]) == (12, True, snapshot["KmsKeyId"])
    assert volume(Size=20, SnapshotId=snapshot["SnapshotId"])["Size"] == 20
    with refused("InvalidParameterValue", "smaller than snapshot"):
        volume(Size=11, SnapshotId=snapshot["SnapshotId"])


def test_a_snapshot_outlives_its_volume(desk, snapshot):
    desk("DeleteVolume", VolumeId=snapshot["VolumeId"])
    assert [each["SnapshotId"] for each in own(desk)] == [snapshot["SnapshotId"]]


def test_a_copy_stands_on_its_own(desk, snapshot):
    copied = desk(
        "CopySnapshot",
        SourceRegion="ap-southeast-2",
        SourceSnapshotId=snapshot["SnapshotId"],
        Description="copy",
        TagSpecifications=[{"ResourceType": "snapshot", "Tags": [{"Key": "a", "Value": "b"}]}],
    )
    desk("DeleteSnapshot", SnapshotId=snapshot["SnapshotId"])
    [shown] = own(desk)
    assert shown["SnapshotId"] == copied["SnapshotId"]
    assert (shown["VolumeSize"], shown["Encrypted"], shown["Description"]) == (12, True, "copy")
    assert shown["Tags"] == [{"Key": "a", "Value": "b"}]


def test_a_snapshot_is_copied_from_another_region(desk, refused, snapshot):
    desk.region = "eu-west-1"
    with refused("InvalidSnapshot.NotFound", snapshot["SnapshotId"]):
        desk("CopySnapshot", SourceRegion="eu-west-1", SourceSnapshotId=snapshot["SnapshotId"])
    desk("CopySnapshot", SourceRegion="ap-southeast-2", SourceSnapshotId=snapshot["SnapshotId"])
    assert [each["VolumeSize"] for each in own(desk)] == [12]


def test_a_snapshot_is_held_by_the_image_that_uses_it(desk, refused, launch):
    image = desk("CreateImage", InstanceId=launch()["InstanceId"], Name="mine")["ImageId"]
    [held] = own(desk)
    with refused("InvalidSnapshot.InUse", held["SnapshotId"], image):
        desk("DeleteSnapshot", SnapshotId=held["SnapshotId"])
    desk("DeregisterImage", ImageId=image)
    desk("DeleteSnapshot", SnapshotId=held["SnapshotId"])
    assert own(desk) == []


def test_snapshots_of_stock_images_can_be_used_but_not_deleted(desk, refused, volume):
    [public, *_] = desk("DescribeSnapshots", OwnerIds=["000000000000"])["Snapshots"]
    assert volume(SnapshotId=public["SnapshotId"], Size=50)["SnapshotId"] == public["SnapshotId"]
    with refused("UnauthorizedOperation", public["SnapshotId"]):
        desk("DeleteSnapshot", SnapshotId=public["SnapshotId"])
    assert own(desk) == []


def test_snapshots_are_found_by_owner_restorer_and_filter(desk, snapshot):
    one = [snapshot["SnapshotId"]]

    def found(**wanted):
        return [each["SnapshotId"] for each in desk("DescribeSnapshots", **wanted)["Snapshots"]]

    assert found(OwnerIds=[desk.account]) == found(RestorableByUserIds=["self"]) == one
    assert found(Filters=[{"Name": "volume-size", "Values": ["12"]}]) == one
    assert found(Filters=[{"Name": "description", "Values": ["night*"]}]) == one
    assert snapshot["SnapshotId"] not in found(OwnerIds=["amazon"])
    assert snapshot["SnapshotId"] not in found(RestorableByUserIds=["all"])


def test_an_unknown_or_malformed_snapshot_is_named(desk, refused):
    with refused("InvalidSnapshot.NotFound", "snap-00000000000000000"):
        desk("DescribeSnapshots", SnapshotIds=["snap-00000000000000000"])
    with refused("InvalidSnapshotID.Malformed", "nightly"):
        desk("DeleteSnapshot", SnapshotId="nightly")


def test_nobody_else_may_use_a_snapshot(desk, snapshot):
    answer = desk("DescribeSnapshotAttribute", SnapshotId=snapshot["SnapshotId"], Attribute="createVolumePermission")
    assert answer["CreateVolumePermissions"] == []
