"""RunInstances: what an instance gets, and what is refused."""

from __future__ import annotations

import base64

import pytest

from hive_emulator.ec2 import catalog

ZONE_B = "ap-southeast-2b"


@pytest.fixture
def arm(desk):
    wanted = [{"Name": "name", "Values": ["debian-12-arm64-*"]}]
    return desk("DescribeImages", Filters=wanted)["Images"][0]["ImageId"]


def test_an_instance_is_pending_in_the_answer_and_then_runs(launch, instance):
    made = launch()
    assert made["State"] == {"Code": 0, "Name": "pending"}
    shown = instance(made["InstanceId"])
    assert shown["State"] == {"Code": 16, "Name": "running"}
    assert (shown["Architecture"], shown["RootDeviceName"], shown["RootDeviceType"]) == ("x86_64", "/dev/xvda", "ebs")
    assert "Platform" not in shown


def test_all_instances_of_a_call_share_a_reservation(desk, debian):
    answer = desk("RunInstances", ImageId=debian, InstanceType="t3.nano", MinCount=2, MaxCount=3)
    assert [each["AmiLaunchIndex"] for each in answer["Instances"]] == [0, 1, 2]
    [reservation] = desk("DescribeInstances")["Reservations"]
    assert reservation["ReservationId"] == answer["ReservationId"]
    assert len({each["InstanceId"] for each in reservation["Instances"]}) == 3
    assert len({each["PrivateIpAddress"] for each in reservation["Instances"]}) == 3


def test_user_data_key_profile_monitoring_and_options_are_kept(desk, launch, instance):
    desk("CreateKeyPair", KeyName="ops", KeyType="ed25519")
    script = base64.b64encode(b"#!/bin/sh\n").decode()
    made = launch(
        KeyName="ops",
        UserData=script,
        IamInstanceProfile={"Name": "web"},
        Monitoring={"Enabled": True},
        EbsOptimized=True,
        MetadataOptions={"HttpTokens": "required", "HttpPutResponseHopLimit": 2},
        CpuOptions={"CoreCount": 1, "ThreadsPerCore": 1},
        InstanceInitiatedShutdownBehavior="terminate",
    )["InstanceId"]
    shown = instance(made)
    assert (shown["KeyName"], shown["Monitoring"]["State"], shown["EbsOptimized"]) == ("ops", "enabled", True)
    assert shown["IamInstanceProfile"]["Arn"] == f"arn:aws:iam::{desk.account}:instance-profile/web"
    assert shown["CpuOptions"] == {"CoreCount": 1, "ThreadsPerCore": 1}
    options = shown["MetadataOptions"]
    assert (options["HttpTokens"], options["HttpPutResponseHopLimit"], options["State"]) == ("required", 2, "applied")
    assert desk("DescribeInstanceAttribute", InstanceId=made, Attribute="userData")["UserData"] == {"Value": script}


def test_tags_go_to_the_instance_its_volumes_and_its_interfaces(desk, launch):
    kinds = ("instance", "volume", "network-interface")
    specs = [{"ResourceType": kind, "Tags": [{"Key": "of", "Value": kind}]} for kind in kinds]
    launch(TagSpecifications=specs)
    [tags] = [each["Instances"][0]["Tags"] for each in desk("DescribeInstances")["Reservations"]]
    assert tags == [{"Key": "of", "Value": "instance"}]
    assert desk("DescribeVolumes")["Volumes"][0]["Tags"] == [{"Key": "of", "Value": "volume"}]
    [interface] = desk("DescribeNetworkInterfaces")["NetworkInterfaces"]
    assert interface["TagSet"] == [{"Key": "of", "Value": "network-interface"}]


@pytest.mark.parametrize(
    ("params", "code", "word"),
    [
        ({"ImageId": "ami-00000000000000000"}, "InvalidAMIID.NotFound", "ami-0"),
        ({"ImageId": "debian"}, "InvalidAMIID.Malformed", "debian"),
        ({"InstanceType": "t9.huge"}, "InvalidParameterValue", "t9.huge"),
        ({"InstanceType": "t4g.micro"}, "InvalidParameterValue", "arm64"),
        ({"KeyName": "nobodys"}, "InvalidKeyPair.NotFound", "nobodys"),
        ({"SubnetId": "subnet-00000000000000000"}, "InvalidSubnetID.NotFound", "subnet-0"),
        ({"SecurityGroupIds": ["sg-00000000000000000"]}, "InvalidGroup.NotFound", "sg-0"),
        ({"SecurityGroups": ["nobodys"]}, "InvalidGroup.NotFound", "nobodys"),
        ({"Placement": {"GroupName": "nobodys"}}, "InvalidPlacementGroup.Unknown", "nobodys"),
        ({"Placement": {"AvailabilityZone": "eu-west-1a"}}, "InvalidParameterValue", "eu-west-1a"),
        ({"MinCount": 0}, "InvalidParameterValue", "minCount"),
        ({"MinCount": 2}, "InvalidParameterCombination", "maxCount"),
        ({"UserData": "not base64!"}, "InvalidParameterValue", "BASE64"),
        ({"UserData": base64.b64encode(b"x" * 16385).decode()}, "InvalidParameterValue", "16384"),
        ({"InstanceType": "m5.large", "CreditSpecification": {"CpuCredits": "standard"}},
         "InvalidParameterCombination", "m5.large"),
        ({"CpuOptions": {"CoreCount": 3}}, "InvalidParameterValue", "CoreCount"),
        ({"MetadataOptions": {"HttpPutResponseHopLimit": 65}}, "InvalidParameterValue", "1 to 64"),
        ({"LaunchTemplate": {"LaunchTemplateName": "x"}}, "UnsupportedOperation", "LaunchTemplate"),
        ({"Placement": {"HostId": "h-1"}}, "UnsupportedOperation", "HostId"),
        ({"NetworkInterfaces": [{"DeviceIndex": 0, "Ipv4PrefixCount": 1}]}, "UnsupportedOperation", "Ipv4Prefix"),
        ({"BlockDeviceMappings": [{"DeviceName": "/dev/sdf", "Ebs": {"VolumeSize": 1, "OutpostArn": "x"}}]},
         "UnsupportedOperation", "OutpostArn"),
        ({"TagSpecifications": [{"ResourceType": "vpc", "Tags": []}]}, "InvalidParameterValue", "vpc"),
        ({"SubnetId": "subnet-1", "SecurityGroups": ["default"]}, "InvalidParameterCombination", "groupName"),
        ({"BlockDeviceMappings": [{"DeviceName": f"/dev/xvdb{letter}", "Ebs": {"VolumeSize": 1}}
                                  for letter in "abcdefghijklmnopqrstuvwxyz"]
                                 + [{"DeviceName": f"/dev/sd{letter}", "Ebs": {"VolumeSize": 1}} for letter in "fg"]},
         "AttachmentLimitExceeded", "t3.micro"),
    ],
)  # fmt: skip
def test_a_launch_that_cannot_be_is_refused_and_leaves_nothing(desk, refused, launch, params, code, word):
    with refused(code, word):
        launch(**params)
    assert desk("DescribeInstances")["Reservations"] == []
    assert desk("DescribeVolumes")["Volumes"] == []
    assert desk("DescribeNetworkInterfaces")["NetworkInterfaces"] == []


def test_an_image_of_the_types_architecture_is_taken(launch, arm):
    assert launch(ImageId=arm, InstanceType="t4g.small")["Architecture"] == "arm64"


def test_no_image_no_instance(desk, refused):
    with refused("MissingParameter", "ImageId"):
        desk("RunInstances", InstanceType="t3.micro", MinCount=1, MaxCount=1)


class TestNetwork:
    def test_without_a_subnet_it_is_in_the_default_one_with_a_public_address(self, desk, launch, instance):
        shown = instance(launch()["InstanceId"])
        home, *_ = desk("DescribeSubnets", Filters=[{"Name": "default-for-az", "Values": ["true"]}])["Subnets"]
        assert shown["SubnetId"] == home["SubnetId"]
        assert shown["PublicIpAddress"] and shown["PublicDnsName"].startswith("ec2-")
        [interface] = shown["NetworkInterfaces"]
        assert interface["Attachment"]["DeviceIndex"] == 0
        assert interface["Attachment"]["DeleteOnTermination"] is True
        assert interface["Association"]["PublicIp"] == shown["PublicIpAddress"]
        assert shown["SecurityGroups"] == interface["Groups"] and shown["SecurityGroups"][0]["GroupName"] == "default"

    def test_in_a_subnet_without_public_addresses_it_gets_one_only_when_asked(
        self, launch, instance, subnet, gateway
    ):
        plain = instance(launch(SubnetId=subnet)["InstanceId"])
        assert "PublicIpAddress" not in plain and plain["PublicDnsName"] == ""
        asked = [{"DeviceIndex": 0, "SubnetId": subnet, "AssociatePublicIpAddress": True}]
        assert instance(launch(NetworkInterfaces=asked)["InstanceId"])["PublicIpAddress"]

    def test_a_private_address_can_be_chosen_once(self, refused, launch, subnet):
        assert launch(SubnetId=subnet, PrivateIpAddress="10.0.1.77")["PrivateIpAddress"] == "10.0.1.77"
        with refused("InvalidIPAddress.InUse", "10.0.1.77"):
            launch(SubnetId=subnet, PrivateIpAddress="10.0.1.77")

    def test_groups_are_given_by_id_or_by_name(self, desk, launch, vpc, subnet):
        ours = desk("CreateSecurityGroup", GroupName="ours", Description="x", VpcId=vpc)["GroupId"]
        assert launch(SubnetId=subnet, SecurityGroupIds=[ours])["SecurityGroups"][0]["GroupId"] == ours
        home = desk("CreateSecurityGroup", GroupName="home", Description="in the default VPC")["GroupId"]
        assert launch(SecurityGroups=["home"])["SecurityGroups"][0]["GroupId"] == home

    def test_an_interface_that_exists_outlives_the_instance(self, desk, refused, launch, subnet):
        own = desk("CreateNetworkInterface", SubnetId=subnet)["NetworkInterface"]["NetworkInterfaceId"]
        wanted = [{"DeviceIndex": 0, "NetworkInterfaceId": own}, {"DeviceIndex": 1, "SubnetId": subnet}]
        made = launch(NetworkInterfaces=wanted)
        assert [each["NetworkInterfaceId"] for each in made["NetworkInterfaces"]][0] == own
        with refused("InvalidNetworkInterface.InUse", own):
            launch(NetworkInterfaces=wanted[:1])
        desk("TerminateInstances", InstanceIds=[made["InstanceId"]])
        [left] = desk("DescribeNetworkInterfaces")["NetworkInterfaces"]
        assert (left["NetworkInterfaceId"], left["Status"]) == (own, "available")

    @pytest.mark.parametrize(
        ("interfaces", "more", "word"),
        [
            ([{"DeviceIndex": 1}], {}, "0"),
            ([{"DeviceIndex": 0}, {"DeviceIndex": 0}], {}, "device index"),
            ([{"DeviceIndex": 0, "AssociatePublicIpAddress": True}, {"DeviceIndex": 1}], {}, "multiple"),
            ([{"DeviceIndex": 0}], {"SecurityGroupIds": ["sg-1"]}, "SecurityGroupIds"),
            ([{"DeviceIndex": 0, "NetworkInterfaceId": "eni-1"}], {"MaxCount": 2}, "NetworkInterfaceId"),
        ],
    )
    def test_interfaces_that_contradict_each_other_are_refused(self, refused, launch, interfaces, more, word):
        with refused("InvalidParameterCombination", word):
            launch(NetworkInterfaces=interfaces, **more)

    def test_a_type_has_so_many_interfaces(self, refused, launch):
        with refused("AttachmentLimitExceeded", "t3.micro"):
            launch(NetworkInterfaces=[{"DeviceIndex": index} for index in range(3)])

    def test_a_subnet_decides_the_zone(self, desk, refused, launch, vpc):
        made = desk("CreateSubnet", VpcId=vpc, CidrBlock="10.0.9.0/24", AvailabilityZone=ZONE_B)["Subnet"]["SubnetId"]
        assert launch(SubnetId=made)["Placement"]["AvailabilityZone"] == ZONE_B
        with refused("InvalidParameterValue", ZONE_B):
            launch(SubnetId=made, Placement={"AvailabilityZone": "ap-southeast-2a"})

    def test_all_interfaces_are_in_one_zone(self, desk, refused, launch, vpc, subnet):
        far = desk("CreateSubnet", VpcId=vpc, CidrBlock="10.0.9.0/24", AvailabilityZone=ZONE_B)["Subnet"]["SubnetId"]
        with refused("InvalidParameterCombination", "same availability zone"):
            launch(NetworkInterfaces=[{"DeviceIndex": 0, "SubnetId": subnet}, {"DeviceIndex": 1, "SubnetId": far}])

    def test_what_happens_to_an_interface_shows_in_the_instance(self, desk, launch, instance, vpc, subnet, gateway):
        made = launch(SubnetId=subnet)["InstanceId"]
        extra = desk("CreateNetworkInterface", SubnetId=subnet)["NetworkInterface"]["NetworkInterfaceId"]
        link = desk("AttachNetworkInterface", NetworkInterfaceId=extra, InstanceId=made, DeviceIndex=1)
        first, _ = sorted(instance(made)["NetworkInterfaces"], key=lambda each: each["Attachment"]["DeviceIndex"])
        address, place = desk("AllocateAddress"), first["NetworkInterfaceId"]
        desk("AssociateAddress", AllocationId=address["AllocationId"], NetworkInterfaceId=place)
        assert instance(made)["PublicIpAddress"] == address["PublicIp"]
        desk("DisassociateAddress", PublicIp=address["PublicIp"])
        assert "PublicIpAddress" not in instance(made)
        desk("DetachNetworkInterface", AttachmentId=link["AttachmentId"])
        [primary] = instance(made)["NetworkInterfaces"]
        group = desk("CreateSecurityGroup", GroupName="late", Description="x", VpcId=vpc)["GroupId"]
        desk("ModifyNetworkInterfaceAttribute", NetworkInterfaceId=primary["NetworkInterfaceId"], Groups=[group])
        assert instance(made)["SecurityGroups"] == [{"GroupId": group, "GroupName": "late"}]


class TestDisks:
    def disks(self, desk, made):
        found = {each["VolumeId"]: each for each in desk("DescribeVolumes")["Volumes"]}
        return {each["DeviceName"]: found[each["Ebs"]["VolumeId"]] for each in made["BlockDeviceMappings"]}

    def test_the_root_is_the_images_unless_said_otherwise(self, desk, launch):
        plain = self.disks(desk, launch())["/dev/xvda"]
        assert (plain["Size"], plain["VolumeType"], plain["State"]) == (8, "gp3", "in-use")
        wanted = {"DeviceName": "/dev/xvda", "Ebs": {"VolumeSize": 20, "VolumeType": "io2", "Iops": 1000}}
        root = self.disks(desk, launch(BlockDeviceMappings=[wanted]))["/dev/xvda"]
        assert (root["Size"], root["VolumeType"], root["Iops"]) == (20, "io2", 1000)
        assert root["SnapshotId"] == plain["SnapshotId"]

    def test_more_disks_are_added_and_those_that_go_with_it_go(self, desk, launch):
        made = launch(
            BlockDeviceMappings=[
                {"DeviceName": "/dev/sdf", "Ebs": {"VolumeSize": 3}},
                {"DeviceName": "/dev/sdg", "Ebs": {"VolumeSize": 4, "DeleteOnTermination": False, "Encrypted": True}},
            ]
        )
        disks = self.disks(desk, made)
        assert {device: disk["Size"] for device, disk in disks.items()} == {
            "/dev/xvda": 8,
            "/dev/sdf": 3,
            "/dev/sdg": 4,
        }
        assert disks["/dev/sdg"]["Encrypted"] is True
        desk("TerminateInstances", InstanceIds=[made["InstanceId"]])
        [left] = desk("DescribeVolumes")["Volumes"]
        assert (left["Size"], left["State"]) == (4, "available")

    @pytest.mark.parametrize(
        ("mapping", "code"),
        [
            ({"DeviceName": "/dev/xvda", "Ebs": {"VolumeSize": 7}}, "InvalidBlockDeviceMapping"),
            ({"DeviceName": "/dev/xvda"}, "InvalidBlockDeviceMapping"),
            ({"DeviceName": "/dev/sdf", "Ebs": {"VolumeType": "gp3"}}, "MissingParameter"),
            ({"DeviceName": "/dev/sdf", "Ebs": {"VolumeSize": 2, "VolumeType": "io1"}}, "InvalidParameterValue"),
            ({"DeviceName": "/dev/nvme1", "Ebs": {"VolumeSize": 2}}, "InvalidParameterValue"),
            ({"Ebs": {"VolumeSize": 2}}, "InvalidBlockDeviceMapping"),
        ],
    )
    def test_disks_that_cannot_be_are_refused(self, refused, launch, mapping, code):
        with refused(code):
            launch(BlockDeviceMappings=[mapping])

    def test_a_device_is_named_once(self, refused, launch):
        with refused("InvalidBlockDeviceMapping", "/dev/sdf"):
            launch(BlockDeviceMappings=[{"DeviceName": "/dev/sdf", "Ebs": {"VolumeSize": 2}}] * 2)


class TestCapacity:
    def test_a_type_without_room_is_refused_and_one_with_less_gives_what_it_has(self, desk, refused, launch, debian):
        desk.emulator.config.capacity["g5.xlarge"] = 0
        with refused("InsufficientInstanceCapacity", "g5.xlarge", "ap-southeast-2a"):
            launch(InstanceType="g5.xlarge")
        desk.emulator.config.capacity["m5.large"] = 3
        launch(InstanceType="m5.large")
        answer = desk("RunInstances", ImageId=debian, InstanceType="m5.large", MinCount=1, MaxCount=9)
        assert len(answer["Instances"]) == 2
        with refused("InsufficientInstanceCapacity"):
            launch(InstanceType="m5.large")

    def test_a_stopped_instance_gives_its_room_away_and_has_to_find_some_again(self, desk, refused, launch):
        desk.emulator.config.capacity["t3.micro"] = 1
        first = launch()["InstanceId"]
        desk("StopInstances", InstanceIds=[first])
        second = launch()["InstanceId"]
        with refused("InsufficientInstanceCapacity"):
            desk("StartInstances", InstanceIds=[first])
        desk("TerminateInstances", InstanceIds=[second])
        desk("StartInstances", InstanceIds=[first])

    def test_quotas_count_instances_and_vcpus_by_family(self, desk, refused, launch, debian):
        quotas = desk.emulator.config.quotas
        quotas["instances"] = 2
        launch(MinCount=1, MaxCount=5)
        assert sum(len(each["Instances"]) for each in desk("DescribeInstances")["Reservations"]) == 2
        with refused("InstanceLimitExceeded", "limit of 2"):
            launch()
        quotas.clear()
        quotas["vcpus-g"] = 4
        launch(InstanceType="g4dn.xlarge")
        with refused("VcpuLimitExceeded", "limit of 4"):
            launch(InstanceType="g5.xlarge")
        launch(InstanceType="m5.24xlarge")
        quotas["vcpus"] = 4 + catalog.vcpus("m5.24xlarge") + 2 * 2 + 1
        with refused("VcpuLimitExceeded"):
            launch()


def test_an_image_of_an_old_kind_runs_on_the_types_that_can(desk, launch, instance, refused):
    def image(kind):
        wanted = [{"Name": "name", "Values": [f"amzn-ami-{kind}"]}]
        return desk("DescribeImages", Filters=wanted)["Images"][0]["ImageId"]

    made = instance(launch(ImageId=image("minimal-hvm-*-s3"), InstanceType="m3.medium")["InstanceId"])
    assert (made["RootDeviceType"], made["BlockDeviceMappings"]) == ("instance-store", [])
    assert launch(ImageId=image("pv-*-ebs"), InstanceType="m1.small")["VirtualizationType"] == "paravirtual"
    with refused("InvalidParameterCombination", "'hvm' is required", "t3.micro"):
        launch(ImageId=image("pv-*-ebs"))
    with refused("InvalidParameterCombination", "instance-store"):
        launch(ImageId=image("minimal-hvm-*-s3"))
    with refused("UnsupportedOperation", "cannot be stopped"):
        desk("StopInstances", InstanceIds=[made["InstanceId"]])


def test_without_a_default_subnet_in_the_zone_a_launch_must_name_one(desk, launch, refused):
    wanted = [{"Name": "availability-zone", "Values": [ZONE_B]}]
    [subnet] = desk("DescribeSubnets", Filters=wanted)["Subnets"]
    placed = launch(Placement={"AvailabilityZone": ZONE_B})
    assert placed["SubnetId"] == subnet["SubnetId"]
    desk("TerminateInstances", InstanceIds=[placed["InstanceId"]])
    desk("DeleteSubnet", SubnetId=subnet["SubnetId"])
    with refused("MissingInput", ZONE_B):
        launch(Placement={"AvailabilityZone": ZONE_B})


def test_monitoring_is_pending_in_the_answer_and_enabled_afterwards(launch, instance):
    made = launch(Monitoring={"Enabled": True})
    assert made["Monitoring"]["State"] == "pending"
    assert instance(made["InstanceId"])["Monitoring"]["State"] == "enabled"
    assert launch()["Monitoring"]["State"] == "disabled"


def test_an_instance_of_windows_says_so(desk, launch, instance):
    wanted = [{"Name": "name", "Values": ["Windows_Server-2022-English-Full-Base-*"]}]
    image = desk("DescribeImages", Filters=wanted)["Images"][0]["ImageId"]
    assert instance(launch(ImageId=image)["InstanceId"])["Platform"] == "windows"
