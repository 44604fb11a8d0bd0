"""Volumes: created, found, changed in place, deleted."""

from __future__ import annotations

import pytest

ZONE = "ap-southeast-2a"


def test_a_new_volume_is_creating_and_then_available(desk, volume):
    made = volume(Size=5)
    assert made["State"] == "creating"
    [shown] = desk("DescribeVolumes", VolumeIds=[made["VolumeId"]])["Volumes"]
    assert (shown["State"], shown["VolumeType"], shown["Iops"], shown["Throughput"]) == (
        "available",
        "gp3",
        3000,
        125,
    )
    assert (shown["AvailabilityZone"], shown["Encrypted"], shown["Attachments"]) == (ZONE, False, [])


@pytest.mark.parametrize(
    ("params", "code", "word"),
    [
        ({"AvailabilityZone": "eu-west-1a", "Size": 8}, "InvalidZone.NotFound", "eu-west-1a"),
        ({"Size": 8}, "MissingParameter", "availabilityZone"),
        ({"AvailabilityZone": ZONE}, "MissingParameter", "size"),
        ({"AvailabilityZone": ZONE, "SnapshotId": "snap-00000000000000000"}, "InvalidSnapshot.NotFound", "snap-0"),
        ({"AvailabilityZone": ZONE, "Size": 8, "KmsKeyId": "abc"}, "InvalidParameterDependency", "Encrypted"),
        ({"AvailabilityZone": ZONE, "Size": 8, "MultiAttachEnabled": True}, "InvalidParameterCombination", "gp3"),
    ],
)
def test_a_volume_that_cannot_be_is_refused(desk, refused, params, code, word):
    with refused(code, word):
        desk("CreateVolume", **params)


def test_a_zone_can_be_given_by_its_id(desk):
    assert desk("CreateVolume", AvailabilityZoneId="apse2-az3", Size=1)["AvailabilityZone"] == "ap-southeast-2c"


def test_an_encrypted_volume_shows_its_key(volume):
    assert volume(Encrypted=True)["KmsKeyId"] == volume(Encrypted=True)["KmsKeyId"]
    assert volume(Encrypted=True, KmsKeyId="alias/mine")["KmsKeyId"].endswith(":alias/mine")
    assert "KmsKeyId" not in volume()


def test_volumes_are_found_by_what_they_are_and_where_they_are_attached(desk, volume, launch):
    tags = [{"ResourceType": "volume", "Tags": [{"Key": "Name", "Value": "data"}]}]
    data = volume(Size=33, TagSpecifications=tags)["VolumeId"]
    instance = launch()
    root = instance["BlockDeviceMappings"][0]["Ebs"]["VolumeId"]

    def found(**wanted):
        filters = [{"Name": name, "Values": [value]} for name, value in wanted.items()]
        return [each["VolumeId"] for each in desk("DescribeVolumes", Filters=filters)["Volumes"]]

    assert found(size="33") == found(status="available") == found(**{"tag:Name": "d?ta"}) == [data]
    attached = {"attachment.instance-id": instance["InstanceId"], "attachment.device": "/dev/xvda"}
    assert found(**attached) == found(**{"attachment.instance-id": "i-*"}) == [root]
    assert found(**{"attachment.instance-id": instance["InstanceId"], "attachment.device": "/dev/sdf"}) == []


def test_volumes_come_in_pages(desk, volume):
    made = [volume(Size=1)["VolumeId"] for _ in range(7)]
    first = desk("DescribeVolumes", MaxResults=5)
    rest = desk("DescribeVolumes", MaxResults=5, NextToken=first["NextToken"])
    assert [each["VolumeId"] for page in (first, rest) for each in page["Volumes"]] == made
    assert "NextToken" not in rest


def test_a_deleted_volume_is_gone(desk, refused, volume):
    made = volume()["VolumeId"]
    desk("DeleteVolume", VolumeId=made)
    for action in ("DescribeVolumes", "DescribeVolumeStatus"):
        with refused("InvalidVolume.NotFound", made):
            desk(action, VolumeIds=[made])
    with refused("InvalidVolume.NotFound", made):
        desk("DeleteVolume", VolumeId=made)
    with refused("InvalidParameterValue", "vol-..."):
        desk("DeleteVolume", VolumeId="disk-1")


def test_a_quota_on_all_volumes_together_is_kept(desk, refused, volume):
    desk.emulator.config.quotas["volumes-gib"] = 20
    volume(Size=15)
    with refused("VolumeLimitExceeded"):
        volume(Size=6)
    made = volume(Size=5)["VolumeId"]
    with refused("VolumeLimitExceeded", "volumes-gib"):
        desk("ModifyVolume", VolumeId=made, Size=6)


class TestModify:
    def test_a_change_is_modifying_and_then_completed(self, desk, volume):
        made = volume(Size=5)["VolumeId"]
        begun = desk("ModifyVolume", VolumeId=made, Size=9, Iops=4000)["VolumeModification"]
        assert (begun["ModificationState"], begun["OriginalSize"], begun["TargetSize"]) == ("modifying", 5, 9)
        [done] = desk("DescribeVolumesModifications", VolumeIds=[made])["VolumesModifications"]
        assert (done["ModificationState"], done["Progress"], done["TargetIops"]) == ("completed", 100, 4000)
        [shown] = desk("DescribeVolumes")["Volumes"]
        assert (shown["Size"], shown["Iops"], shown["Throughput"]) == (9, 4000, 125)

    def test_figures_stay_while_the_type_does_and_start_anew_with_another_type(self, desk, volume):
        made = volume(Size=100, Iops=5000, Throughput=300)["VolumeId"]
        desk("ModifyVolume", VolumeId=made, Size=120)
        [kept] = desk("DescribeVolumes")["Volumes"]
        assert (kept["Size"], kept["Iops"], kept["Throughput"]) == (120, 5000, 300)
        desk("ModifyVolume", VolumeId=made, VolumeType="gp2")
        [changed] = desk("DescribeVolumes")["Volumes"]
        assert changed["Iops"] == 360
        assert "Throughput" not in changed
        desk("ModifyVolume", VolumeId=made, VolumeType="io2")
        assert desk("DescribeVolumes")["Volumes"][0]["Iops"] == 3000

    @pytest.mark.parametrize(
        ("params", "code", "word"),
        [
            ({"Size": 4}, "InvalidParameterValue", "smaller"),
            ({}, "InvalidParameterCombination", "size"),
            ({"Throughput": 2000}, "InvalidParameterValue", "1000"),
            ({"MultiAttachEnabled": True}, "InvalidParameterCombination", "gp3"),
        ],
    )
    def test_what_cannot_be_changed_is_refused_and_nothing_is_changed(
        self, desk, refused, volume, params, code, word
    ):
        made = volume(Size=5)["VolumeId"]
        before = desk("DescribeVolumes")["Volumes"]
        with refused(code, word):
            desk("ModifyVolume", VolumeId=made, **params)
        assert desk("DescribeVolumes")["Volumes"] == before

    def test_changes_are_found_by_filter_and_their_absence_is_said(self, desk, refused, volume):
        one, two = volume(Size=5)["VolumeId"], volume(Size=5)["VolumeId"]
        desk("ModifyVolume", VolumeId=one, Size=6)
        wanted = [{"Name": "target-size", "Values": ["6"]}]
        found = desk("DescribeVolumesModifications", Filters=wanted)["VolumesModifications"]
        assert [each["VolumeId"] for each in found] == [one]
        with refused("InvalidVolumeModification.NotFound", two):
            desk("DescribeVolumesModifications", VolumeIds=[two])


def test_the_status_of_a_volume_is_ok(desk, volume):
    made = volume()["VolumeId"]
    wanted = [{"Name": "volume-status.status", "Values": ["ok"]}]
    [status] = desk("DescribeVolumeStatus", VolumeIds=[made], Filters=wanted)["VolumeStatuses"]
    assert {each["Name"]: each["Status"] for each in status["VolumeStatus"]["Details"]} == {
        "io-enabled": "passed",
        "io-performance": "normal",
    }
    answer = desk("DescribeVolumeAttribute", VolumeId=made, Attribute="autoEnableIO")
    assert answer["AutoEnableIO"] == {"Value": False}


def test_the_status_of_a_volume_names_the_instances_that_have_it(desk, volume, launch):
    volume()
    instance = launch()
    root = instance["BlockDeviceMappings"][0]["Ebs"]["VolumeId"]

    def found(name, value):
        wanted = [{"Name": f"attachment-status.{name}", "Values": [value]}]
        return desk("DescribeVolumeStatus", Filters=wanted)["VolumeStatuses"]

    [status] = found("instance-id", instance["InstanceId"])
    assert status["VolumeId"] == root
    assert status["AttachmentStatuses"] == [{"InstanceId": instance["InstanceId"], "IoPerformance": "normal"}]
    assert found("io-performance", "normal") == [status]
    assert found("io-performance", "stalled") == found("instance-id", "i-00000000000000000") == []
