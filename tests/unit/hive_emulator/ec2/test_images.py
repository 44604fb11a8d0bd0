"""Images: those that are there from the start, made from an instance, and registered."""

from __future__ import annotations

from datetime import timedelta
from fnmatch import fnmatchcase as fnmatch

import pytest

from hive_emulator.ec2 import images as image_family


def images(desk, *owners, **filters):
    wanted = [{"Name": name.replace("_", "-"), "Values": [value]} for name, value in filters.items()]
    return desk("DescribeImages", **({"Owners": list(owners)} if owners else {}), Filters=wanted)["Images"]


class TestStock:
    @pytest.mark.parametrize(
        "pattern",
        ["*debian-12*", "*debian-13*", "*ubuntu-22.04*", "*ubuntu-24.04*", "alpine-*", "Rocky-9-*", "*rocky-9*",
         "ubuntu/images/hvm-ssd-gp3/ubuntu-noble-24.04-*-server-*", "ubuntu/images/hvm-ssd/ubuntu-jammy-22.04-*"],
    )  # fmt: skip
    def test_what_people_search_for_is_found_for_both_architectures(self, desk, pattern):
        found = images(desk, name=pattern, virtualization_type="hvm", root_device_type="ebs", state="available")
        assert {image["Architecture"] for image in found} == {"x86_64", "arm64"}
        assert all(image["CreationDate"] and image["Public"] for image in found)

    def test_ids_are_the_same_in_every_cloud_and_region(self, desk):
        here = {image["Name"]: image["ImageId"] for image in images(desk)}
        desk.region = "eu-west-1"
        assert {image["Name"]: image["ImageId"] for image in images(desk)} == here
        assert len(set(here.values())) == len(here)

    @pytest.mark.parametrize("owner", ["000000000000", "amazon", "136693071363"])
    def test_they_are_found_under_their_owner_its_alias_and_the_system_account(self, desk, owner):
        for image in images(desk, owner, name="debian-12-*") + images(desk, owner_id="136693071363"):
            assert image["OwnerId"] == "136693071363"
            ids = [image["BlockDeviceMappings"][0]["Ebs"]["SnapshotId"]]
            [snapshot] = desk("DescribeSnapshots", SnapshotIds=ids, OwnerIds=[owner])["Snapshots"]
            assert snapshot["OwnerId"] == "136693071363"
        assert images(desk, "self") == []
        assert {image["OwnerId"] for image in images(desk, "aws-marketplace")} == {"679593333241"}
        assert len(images(desk, "000000000000")) == len(images(desk)) == len(images(desk, owner_id="000000000000"))

    def test_of_each_name_the_newest_is_for_x86_64(self, desk):
        """``most_recent`` takes the newest of what a name finds, whatever its architecture."""
        every = images(desk)
        twins = {image["Name"]: image for image in every}
        for image in every:
            for arm, amd in (("arm64", "amd64"), ("arm64", "x86_64"), ("aarch64", "x86_64")):
                twin = twins.get(image["Name"].replace(arm, amd))
                if twin is not None and twin is not image:
                    assert twin["CreationDate"] > image["CreationDate"], image["Name"]

    @pytest.mark.parametrize(
        ("pattern", "newest"),
        [
            ("*ubuntu-24.04*", "ubuntu-24.04-amd64-20250821"),
            ("*ubuntu-22.04*", "ubuntu-22.04-amd64-20250822"),
            ("ubuntu/images/hvm-ssd*/ubuntu-noble-24.04-*", "ubuntu/images/hvm-ssd-gp3/ubuntu-noble-24.04-amd64-*"),
            ("ubuntu/images/hvm-ssd/ubuntu-focal-20.04-*", "ubuntu/images/hvm-ssd/ubuntu-focal-20.04-amd64-*"),
            ("alpine-*", "alpine-3.22.1-x86_64-*"),
            ("Rocky-9-*", "Rocky-9-EC2-Base-9.6-20250531.0.x86_64"),
            ("AlmaLinux OS 9*", "AlmaLinux OS 9.6.20250522 x86_64"),
            ("debian-11-*", "debian-11-amd64-*"),
            ("amzn-ami-hvm-*-x86_64-gp2", "amzn-ami-hvm-*-x86_64-gp2"),
            ("amzn-ami-hvm-*", "amzn-ami-hvm-*-x86_64-gp2"),
            ("amzn-ami-minimal-hvm-*", "amzn-ami-minimal-hvm-*-x86_64-ebs"),
            ("amzn-ami-vpc-nat-*", "amzn-ami-vpc-nat-*-x86_64-ebs"),
            ("amzn2-ami-hvm-*", "amzn2-ami-hvm-2.0.20260930.0-x86_64-gp2"),
            ("amzn2-ami-hvm-*-arm64-gp2", "amzn2-ami-hvm-2.0.20260930.0-arm64-gp2"),
            ("amzn2-ami-minimal-hvm-*", "amzn2-ami-minimal-hvm-*-x86_64-ebs"),
            ("amzn2-ami-kernel-5.10-hvm-*", "amzn2-ami-kernel-5.10-hvm-*-x86_64-gp2"),
            ("al2023-ami-2023.*", "al2023-ami-2023.12.20260930.0-kernel-6.1-x86_64"),
            ("al2023-ami-minimal-*", "al2023-ami-minimal-2023.*-x86_64"),
            ("suse-sles-15-*", "suse-sles-15-sp6-*-x86_64"),
            ("RHEL-9*", "RHEL-9.6.0_HVM-*-x86_64-*"),
            ("Windows_Server-2016-English-Core-Base-*", "Windows_Server-2016-English-Core-Base-*"),
            ("Windows_Server-2022-English-Full-Base-*", "Windows_Server-2022-English-Full-Base-*"),
        ],
    )
    def test_most_recent_is_what_one_expects(self, desk, pattern, newest):
        for region in ("ap-southeast-2", "us-east-1"):
            desk.region = region
            found = images(desk, name=pattern)
            assert fnmatch(max(found, key=lambda image: image["CreationDate"])["Name"], newest)
            assert found == sorted(found, key=lambda image: image["CreationDate"], reverse=True)

    def test_windows_and_old_kinds_of_images_say_what_they_are(self, desk):
        [windows] = images(desk, name="Windows_Server-2022-English-Full-Base-*", platform="windows")
        assert (windows["PlatformDetails"], windows["UsageOperation"]) == ("Windows", "RunInstances:0002")
        [store] = images(desk, name="amzn-ami-minimal-hvm-*", root_device_type="instance-store")
        assert store["BlockDeviceMappings"] == []
        assert images(desk, name="amzn-ami-pv-*", virtualization_type="paravirtual", root_device_type="ebs")

    def test_the_newest_of_a_release_can_be_told_by_its_date(self, desk):
        found = images(desk, name="debian-12-amd64-*")
        assert len(found) > 1
        assert max(found, key=lambda image: image["CreationDate"])["Name"] == "debian-12-amd64-20250814-2204"

    def test_their_snapshots_are_there(self, desk):
        for image in images(desk, root_device_type="ebs"):
            ebs = image["BlockDeviceMappings"][0]["Ebs"]
            [snapshot] = desk("DescribeSnapshots", SnapshotIds=[ebs["SnapshotId"]])["Snapshots"]
            assert snapshot["VolumeSize"] == ebs["VolumeSize"]

    @pytest.mark.parametrize("action", ["DeregisterImage", "ModifyImageAttribute", "DescribeImageAttribute"])
    def test_they_are_not_the_accounts_to_change(self, desk, refused, debian, action):
        more = {"DescribeImageAttribute": {"Attribute": "description"}}.get(action, {})
        with refused("AuthFailure", debian):
            desk(action, ImageId=debian, **more)


class TestFromInstance:
    def test_it_has_a_snapshot_of_every_disk(self, desk, launch, volume):
        instance = launch()["InstanceId"]
        data = volume(Size=30, VolumeType="io1", Iops=300)["VolumeId"]
        desk("AttachVolume", VolumeId=data, InstanceId=instance, Device="/dev/sdf")
        made = desk("CreateImage", InstanceId=instance, Name="mine", Description="all of it")["ImageId"]
        [image] = images(desk, "self")
        disks = {each["DeviceName"]: each["Ebs"] for each in image["BlockDeviceMappings"]}
        assert image["ImageId"] == made
        assert (disks["/dev/xvda"]["VolumeSize"], disks["/dev/xvda"]["DeleteOnTermination"]) == (8, True)
        assert (disks["/dev/sdf"]["VolumeSize"], disks["/dev/sdf"]["Iops"]) == (30, 300)
        assert (image["SourceInstanceId"], image["State"], image["Public"]) == (instance, "available", False)
        for ebs in disks.values():
            [snapshot] = desk("DescribeSnapshots", SnapshotIds=[ebs["SnapshotId"]])["Snapshots"]
            assert snapshot["Description"] == f"Created by CreateImage({instance}) for {made}"

    def test_a_disk_can_be_left_out_changed_or_added(self, desk, launch, volume):
        instance = launch()["InstanceId"]
        desk("AttachVolume", VolumeId=volume()["VolumeId"], InstanceId=instance, Device="/dev/sdf")
        wanted = [
            {"DeviceName": "/dev/sdf"},  # NoDevice, whose empty value counts as absent
            {"DeviceName": "/dev/xvda", "Ebs": {"DeleteOnTermination": False}},
            {"DeviceName": "/dev/sdg", "Ebs": {"VolumeSize": 3}},
        ]
        desk("CreateImage", InstanceId=instance, Name="mine", BlockDeviceMappings=wanted)
        [image] = images(desk, "self")
        disks = {each["DeviceName"]: each["Ebs"] for each in image["BlockDeviceMappings"]}
        assert sorted(disks) == ["/dev/sdg", "/dev/xvda"]
        assert (disks["/dev/xvda"]["DeleteOnTermination"], disks["/dev/xvda"]["VolumeSize"]) == (False, 8)

    def test_an_instance_launched_from_it_gets_its_disks(self, desk, launch, volume, instance):
        source = launch()["InstanceId"]
        desk("AttachVolume", VolumeId=volume(Size=30)["VolumeId"], InstanceId=source, Device="/dev/sdf")
        image = desk("CreateImage", InstanceId=source, Name="mine")["ImageId"]
        copy = instance(launch(ImageId=image)["InstanceId"])
        assert [each["DeviceName"] for each in copy["BlockDeviceMappings"]] == ["/dev/xvda", "/dev/sdf"]

    def test_tags_go_to_the_image_and_its_snapshots(self, desk, launch):
        specs = [{"ResourceType": kind, "Tags": [{"Key": "of", "Value": kind}]} for kind in ("image", "snapshot")]
        desk("CreateImage", InstanceId=launch()["InstanceId"], Name="mine", TagSpecifications=specs)
        assert images(desk, "self")[0]["Tags"] == [{"Key": "of", "Value": "image"}]
        [snapshot] = desk("DescribeSnapshots", OwnerIds=["self"])["Snapshots"]
        assert snapshot["Tags"] == [{"Key": "of", "Value": "snapshot"}]

    def test_a_terminated_instance_has_no_image(self, desk, refused, launch):
        gone = launch()["InstanceId"]
        desk("TerminateInstances", InstanceIds=[gone])
        with refused("IncorrectState", gone):
            desk("CreateImage", InstanceId=gone, Name="mine")


class TestRegister:
    @pytest.fixture
    def snapshot(self, desk, volume):
        return desk("CreateSnapshot", VolumeId=volume(Size=10)["VolumeId"])["SnapshotId"]

    def test_an_image_is_made_of_a_snapshot(self, desk, snapshot, launch):
        root = {"DeviceName": "/dev/xvda", "Ebs": {"SnapshotId": snapshot}}
        made = desk(
            "RegisterImage",
            Name="own",
            Architecture="x86_64",
            RootDeviceName="/dev/xvda",
            VirtualizationType="hvm",
            BlockDeviceMappings=[root],
        )["ImageId"]
        [image] = images(desk, "self", name="own")
        assert image["ImageId"] == made
        assert image["BlockDeviceMappings"][0]["Ebs"]["VolumeSize"] == 10
        assert launch(ImageId=made)["ImageId"] == made

    @pytest.mark.parametrize(
        ("params", "code"),
        [
            ({"Name": "x"}, "InvalidAMIName.Malformed"),
            ({"Name": "a name with #"}, "InvalidAMIName.Malformed"),
            ({"Name": "fine"}, "MissingParameter"),
            (
                {
                    "Name": "fine",
                    "RootDeviceName": "/dev/xvda",
                    "BlockDeviceMappings": [{"DeviceName": "/dev/xvda", "Ebs": {"VolumeSize": 8}}],
                },
                "InvalidBlockDeviceMapping",
            ),
            (
                {
                    "Name": "fine",
                    "RootDeviceName": "/dev/xvda",
                    "BlockDeviceMappings": [{"DeviceName": "/dev/xvda", "Ebs": {"VolumeSize": 8}}] * 2,
                },
                "InvalidBlockDeviceMapping",
            ),
        ],
    )
    def test_an_image_that_could_not_boot_is_refused(self, desk, refused, params, code):
        with refused(code):
            desk("RegisterImage", **params)

    def test_a_name_can_be_used_once(self, desk, refused, launch):
        running = launch()["InstanceId"]
        made = desk("CreateImage", InstanceId=running, Name="mine")["ImageId"]
        with refused("InvalidAMIName.Duplicate", "mine", made):
            desk("CreateImage", InstanceId=running, Name="mine")


class TestAttributes:
    @pytest.fixture
    def mine(self, desk, launch):
        return desk("CreateImage", InstanceId=launch()["InstanceId"], Name="mine", Description="old")["ImageId"]

    def test_a_description_is_changed_and_emptied(self, desk, mine):
        desk("ModifyImageAttribute", ImageId=mine, Description={"Value": "new"})
        answer = desk("DescribeImageAttribute", ImageId=mine, Attribute="description")
        assert answer["Description"] == {"Value": "new"}
        desk("ModifyImageAttribute", ImageId=mine)
        assert images(desk, "self")[0]["Description"] == ""

    def test_launch_permissions_are_given_and_taken(self, desk, refused, mine):
        desk("ModifyImageAttribute", ImageId=mine, LaunchPermission={"Add": [{"UserId": "000000000002"}]})
        desk(
            "ModifyImageAttribute",
            ImageId=mine,
            Attribute="launchPermission",
            OperationType="add",
            UserGroups=["all"],
        )
        answer = desk("DescribeImageAttribute", ImageId=mine, Attribute="launchPermission")
        assert answer["LaunchPermissions"] == [{"UserId": "000000000002"}, {"Group": "all"}]
        assert images(desk, "self", is_public="true")
        desk("ModifyImageAttribute", ImageId=mine, LaunchPermission={"Remove": [{"Group": "all"}]})
        assert images(desk, "self", is_public="true") == []
        with refused("InvalidAMIAttributeItemValue", "bob"):
            desk("ModifyImageAttribute", ImageId=mine, LaunchPermission={"Add": [{"UserId": "bob"}]})

    def test_permission_in_the_older_form_leaves_the_description(self, desk, refused, mine):
        desk("ModifyImageAttribute", ImageId=mine, Description={"Value": "kept"})
        arn = "arn:aws:organizations::123456789012:organization/o-1"
        desk("ModifyImageAttribute", ImageId=mine, OperationType="add", UserIds=["000000000002"])
        desk("ModifyImageAttribute", ImageId=mine, OperationType="add", OrganizationArns=[arn])
        answer = desk("DescribeImageAttribute", ImageId=mine, Attribute="launchPermission")
        assert answer["LaunchPermissions"] == [{"UserId": "000000000002"}, {"OrganizationArn": arn}]
        with refused("InvalidParameterValue", "ProductCodes"):
            desk("ModifyImageAttribute", ImageId=mine, ProductCodes=["abc"])
        answer = desk("DescribeImageAttribute", ImageId=mine, Attribute="description")
        assert answer["Description"] == {"Value": "kept"}

    def test_an_image_is_found_by_who_may_launch_it(self, desk, mine):
        def launchable(user):
            return [image["ImageId"] for image in desk("DescribeImages", ExecutableUsers=[user])["Images"]]

        assert mine not in launchable("all")
        desk("ModifyImageAttribute", ImageId=mine, LaunchPermission={"Add": [{"UserId": "000000000002"}]})
        assert launchable("000000000002") == [mine]

    @pytest.mark.parametrize(
        ("attribute", "member"), [("bootMode", "BootMode"), ("blockDeviceMapping", "BlockDeviceMappings")]
    )
    def test_other_attributes_can_be_asked_for(self, desk, mine, attribute, member):
        assert desk("DescribeImageAttribute", ImageId=mine, Attribute=attribute)[member]

    def test_what_an_image_says_about_metadata_and_tpm_holds_for_its_instances(self, desk, mine, launch):
        disks = desk("DescribeImages", ImageIds=[mine])["Images"][0]["BlockDeviceMappings"]
        root = {"RootDeviceName": disks[0]["DeviceName"], "BlockDeviceMappings": disks, "Architecture": "x86_64"}
        root["VirtualizationType"] = "hvm"
        strict = desk("RegisterImage", Name="strict", ImdsSupport="v2.0", TpmSupport="v2.0", **root)["ImageId"]
        made = launch(ImageId=strict)
        assert made["TpmSupport"] == "v2.0"
        options = made["MetadataOptions"]
        assert (options["HttpTokens"], options["HttpPutResponseHopLimit"]) == ("required", 2)
        asked = launch(ImageId=strict, MetadataOptions={"HttpTokens": "optional"})["MetadataOptions"]
        assert asked["HttpTokens"] == "optional"

    def test_a_snapshot_that_another_image_needs_stays_and_so_does_a_stock_one(self, desk, mine, debian):
        [disk] = desk("DescribeImages", ImageIds=[mine])["Images"][0]["BlockDeviceMappings"]
        [stock] = desk("DescribeImages", ImageIds=[debian])["Images"][0]["BlockDeviceMappings"]
        same = [{"DeviceName": "/dev/xvda", "Ebs": {"SnapshotId": disk["Ebs"]["SnapshotId"]}}]
        desk("RegisterImage", Name="twin", RootDeviceName="/dev/xvda", BlockDeviceMappings=same)
        answer = desk("DeregisterImage", ImageId=mine, DeleteAssociatedSnapshots=True)
        assert [each["ReturnCode"] for each in answer["DeleteSnapshotResults"]] == ["skipped"]
        root = stock["DeviceName"]
        other = desk("RegisterImage", Name="other", RootDeviceName=root, BlockDeviceMappings=[stock])["ImageId"]
        answer = desk("DeregisterImage", ImageId=other, DeleteAssociatedSnapshots=True)
        assert [each["ReturnCode"] for each in answer["DeleteSnapshotResults"]] == ["missing-permissions"]

    def test_a_deregistered_image_is_gone_and_its_snapshots_go_when_asked(self, desk, refused, mine, monkeypatch):
        answer = desk("DeregisterImage", ImageId=mine, DeleteAssociatedSnapshots=True)
        assert answer["DeleteSnapshotResults"][0]["ReturnCode"] == "success"
        assert desk("DescribeSnapshots", OwnerIds=["self"])["Snapshots"] == []
        assert desk("DescribeImages", ImageIds=[mine])["Images"] == []
        with refused("InvalidAMIID.NotFound", mine):
            desk("DeregisterImage", ImageId=mine)
        with monkeypatch.context() as later:
            later.setattr(image_family, "_GONE_FOR", timedelta(0))
            with refused("InvalidAMIID.NotFound", mine):
                desk("DescribeImages", ImageIds=[mine])


def test_an_image_takes_the_iops_that_it_is_given(desk, volume):
    snapshot = desk("CreateSnapshot", VolumeId=volume(Size=8)["VolumeId"])["SnapshotId"]
    for kind, iops in (("io1", 5000), ("gp2", 100)):
        root = {"DeviceName": "/dev/sda1", "Ebs": {"SnapshotId": snapshot, "VolumeType": kind, "Iops": iops}}
        params = {"Name": f"of {kind}", "RootDeviceName": "/dev/sda1", "BlockDeviceMappings": [root]}
        made = desk("RegisterImage", **params)["ImageId"]
        [shown] = desk("DescribeImages", ImageIds=[made])["Images"]
        assert shown["BlockDeviceMappings"][0]["Ebs"]["Iops"] == iops
