"""Attributes and options of an instance."""

from __future__ import annotations

import base64

import pytest


@pytest.fixture
def running(launch):
    return launch()["InstanceId"]


def ask(desk, instance_id, attribute):
    answer = desk("DescribeInstanceAttribute", InstanceId=instance_id, Attribute=attribute)
    [value] = [answer[key] for key in answer if key != "InstanceId"]
    return value


@pytest.mark.parametrize(
    ("attribute", "expected"),
    [
        ("instanceType", {"Value": "t3.micro"}),
        ("disableApiTermination", {"Value": False}),
        ("disableApiStop", {"Value": False}),
        ("instanceInitiatedShutdownBehavior", {"Value": "stop"}),
        ("rootDeviceName", {"Value": "/dev/xvda"}),
        ("sourceDestCheck", {"Value": True}),
        ("ebsOptimized", {"Value": False}),
        ("enaSupport", {"Value": True}),
        ("sriovNetSupport", {"Value": "simple"}),
        ("enclaveOptions", {"Enabled": False}),
        ("userData", {}),
        ("kernel", {}),
        ("ramdisk", {}),
        ("productCodes", []),
    ],
)
def test_a_fresh_instance_has_the_defaults(desk, running, attribute, expected):
    assert ask(desk, running, attribute) == expected


def test_groups_and_disks_can_be_asked_for(desk, running):
    assert [group["GroupName"] for group in ask(desk, running, "groupSet")] == ["default"]
    assert [disk["DeviceName"] for disk in ask(desk, running, "blockDeviceMapping")] == ["/dev/xvda"]


@pytest.mark.parametrize(
    ("member", "value", "attribute"),
    [
        ("DisableApiTermination", True, "disableApiTermination"),
        ("DisableApiStop", True, "disableApiStop"),
        ("SourceDestCheck", False, "sourceDestCheck"),
        ("InstanceInitiatedShutdownBehavior", "terminate", "instanceInitiatedShutdownBehavior"),
    ],
)
def test_a_running_instance_can_be_changed(desk, running, member, value, attribute):
    desk("ModifyInstanceAttribute", InstanceId=running, **{member: {"Value": value}})
    assert ask(desk, running, attribute) == {"Value": value}


@pytest.mark.parametrize(
    ("member", "value", "attribute"),
    [
        ("InstanceType", "m5.large", "instanceType"),
        ("EbsOptimized", True, "ebsOptimized"),
        ("EnaSupport", False, "enaSupport"),
    ],
)
def test_some_attributes_change_only_while_it_is_stopped(desk, refused, running, member, value, attribute):
    with refused("IncorrectInstanceState", running, "stopped"):
        desk("ModifyInstanceAttribute", InstanceId=running, **{member: {"Value": value}})
    desk("StopInstances", InstanceIds=[running])
    desk("ModifyInstanceAttribute", InstanceId=running, **{member: {"Value": value}})
    assert ask(desk, running, attribute) == {"Value": value}


def test_a_new_type_brings_its_own_cpus_and_must_fit(desk, refused, running, instance):
    desk("StopInstances", InstanceIds=[running])
    desk("ModifyInstanceAttribute", InstanceId=running, InstanceType={"Value": "c5.2xlarge"})
    assert instance(running)["CpuOptions"] == {"CoreCount": 4, "ThreadsPerCore": 2}
    for wrong in ("t4g.micro", "t9.huge"):
        with refused("InvalidParameterValue"):
            desk("ModifyInstanceAttribute", InstanceId=running, InstanceType={"Value": wrong})


def test_attributes_can_be_given_by_name_and_value(desk, refused, running):
    desk("ModifyInstanceAttribute", InstanceId=running, Attribute="disableApiStop", Value="true")
    assert ask(desk, running, "disableApiStop") == {"Value": True}
    for unknown in ("colour", "enclaveOptions"):
        with refused("InvalidParameterValue", unknown):
            desk("ModifyInstanceAttribute", InstanceId=running, Attribute=unknown, Value="red")


def test_user_data_arrives_decoded_or_in_base64_and_is_shown_in_base64(desk, running):
    desk("StopInstances", InstanceIds=[running])
    desk("ModifyInstanceAttribute", InstanceId=running, UserData={"Value": b"one"})
    assert ask(desk, running, "userData") == {"Value": base64.b64encode(b"one").decode()}
    text = base64.b64encode(b"two").decode()
    desk("ModifyInstanceAttribute", InstanceId=running, Attribute="userData", Value=text)
    assert ask(desk, running, "userData") == {"Value": text}


def test_user_data_is_emptied_by_an_empty_value(desk, launch):
    made = launch(UserData=base64.b64encode(b"old").decode())["InstanceId"]
    desk("StopInstances", InstanceIds=[made])
    desk("ModifyInstanceAttribute", InstanceId=made)
    assert ask(desk, made, "userData") == {}


def test_one_attribute_at_a_time(desk, refused, running):
    with refused("InvalidParameterCombination", "DisableApiStop", "EbsOptimized"):
        desk(
            "ModifyInstanceAttribute",
            InstanceId=running,
            DisableApiStop={"Value": True},
            EbsOptimized={"Value": True},
        )


def test_groups_are_changed_on_the_only_interface(desk, refused, running, instance):
    vpc = instance(running)["VpcId"]
    group = desk("CreateSecurityGroup", GroupName="web", Description="x", VpcId=vpc)["GroupId"]
    desk("ModifyInstanceAttribute", InstanceId=running, Groups=[group])
    assert [each["GroupId"] for each in instance(running)["SecurityGroups"]] == [group]
    subnet = instance(running)["SubnetId"]
    extra = desk("CreateNetworkInterface", SubnetId=subnet)["NetworkInterface"]["NetworkInterfaceId"]
    desk("AttachNetworkInterface", NetworkInterfaceId=extra, InstanceId=running, DeviceIndex=1)
    with refused("InvalidInstanceID", "multiple interfaces"):
        desk("ModifyInstanceAttribute", InstanceId=running, Groups=[group])


def test_whether_a_disk_goes_with_it_can_be_changed(desk, refused, running):
    wanted = [{"DeviceName": "/dev/xvda", "Ebs": {"DeleteOnTermination": False}}]
    desk("ModifyInstanceAttribute", InstanceId=running, BlockDeviceMappings=wanted)
    assert ask(desk, running, "blockDeviceMapping")[0]["Ebs"]["DeleteOnTermination"] is False
    with refused("InvalidInstanceAttributeValue", "/dev/sdz"):
        desk("ModifyInstanceAttribute", InstanceId=running, BlockDeviceMappings=[{"DeviceName": "/dev/sdz"}])
    desk("TerminateInstances", InstanceIds=[running])
    assert [each["State"] for each in desk("DescribeVolumes")["Volumes"]] == ["available"]


def test_a_terminated_instance_is_not_changed(desk, refused, running):
    desk("TerminateInstances", InstanceIds=[running])
    with refused("IncorrectInstanceState", running):
        desk("ModifyInstanceAttribute", InstanceId=running, DisableApiStop={"Value": True})


class TestOptions:
    def test_metadata_options_are_changed_one_by_one(self, desk, refused, running, instance):
        answer = desk("ModifyInstanceMetadataOptions", InstanceId=running, HttpTokens="required")
        assert answer["InstanceMetadataOptions"]["State"] == "pending"
        desk("ModifyInstanceMetadataOptions", InstanceId=running, HttpPutResponseHopLimit=3)
        options = instance(running)["MetadataOptions"]
        assert (options["HttpTokens"], options["HttpPutResponseHopLimit"]) == ("required", 3)
        assert options["State"] == "applied"
        with refused("InvalidParameterCombination"):
            desk("ModifyInstanceMetadataOptions", InstanceId=running)

    def test_credits_are_unlimited_unless_said_otherwise_and_can_be_changed(self, desk, launch):
        plain = launch()["InstanceId"]
        frugal = launch(CreditSpecification={"CpuCredits": "standard"})["InstanceId"]

        def shown(**wanted):
            rows = desk("DescribeInstanceCreditSpecifications", **wanted)["InstanceCreditSpecifications"]
            return {each["InstanceId"]: each["CpuCredits"] for each in rows}

        assert shown(InstanceIds=[plain, frugal]) == {plain: "unlimited", frugal: "standard"}
        assert shown() == {plain: "unlimited"}
        answer = desk(
            "ModifyInstanceCreditSpecification",
            InstanceCreditSpecifications=[
                {"InstanceId": frugal, "CpuCredits": "unlimited"},
                {"InstanceId": "i-00000000000000000", "CpuCredits": "standard"},
            ],
        )
        assert answer["SuccessfulInstanceCreditSpecifications"] == [{"InstanceId": frugal}]
        [failed] = answer["UnsuccessfulInstanceCreditSpecifications"]
        assert failed["Error"]["Code"] == "InvalidInstanceID.NotFound"
        assert shown(InstanceIds=[frugal]) == {frugal: "unlimited"}

    def test_credits_of_a_t2_are_standard_unless_said_otherwise(self, desk, launch):
        for given, expected in (
            ({}, "standard"),
            ({"CreditSpecification": {"CpuCredits": "unlimited"}}, "unlimited"),
        ):
            made = launch(InstanceType="t2.micro", **given)["InstanceId"]
            [row] = desk("DescribeInstanceCreditSpecifications", InstanceIds=[made])["InstanceCreditSpecifications"]
            assert row["CpuCredits"] == expected

    def test_a_type_without_credits_has_none(self, desk, refused, launch):
        made = launch(InstanceType="m5.large")["InstanceId"]
        with refused("InvalidParameterValue", "m5.large"):
            desk("DescribeInstanceCreditSpecifications", InstanceIds=[made])

    def test_monitoring_is_switched(self, desk, running, instance):
        [answer] = desk("MonitorInstances", InstanceIds=[running])["InstanceMonitorings"]
        assert answer["Monitoring"]["State"] == "pending"
        assert instance(running)["Monitoring"]["State"] == "enabled"
        desk("UnmonitorInstances", InstanceIds=[running])
        assert instance(running)["Monitoring"]["State"] == "disabled"


class TestConsole:
    def test_output_is_base64_and_names_the_instance(self, desk, running):
        answer = desk("GetConsoleOutput", InstanceId=running)
        assert running in base64.b64decode(answer["Output"]).decode()

    def test_uefi_data_is_there_only_for_what_was_booted_with_uefi(self, desk, refused, running, launch, debian):
        assert desk("GetInstanceUefiData", InstanceId=running)["UefiData"] == ""
        with refused("InvalidInstanceID.Malformed", debian):
            desk("GetInstanceUefiData", InstanceId=debian)


class TestProfiles:
    def associations(self, desk, **wanted):
        return desk("DescribeIamInstanceProfileAssociations", **wanted)["IamInstanceProfileAssociations"]

    def test_a_profile_is_put_on_replaced_and_taken_off(self, desk, refused, running, instance):
        begun = desk("AssociateIamInstanceProfile", InstanceId=running, IamInstanceProfile={"Name": "web"})
        assert begun["IamInstanceProfileAssociation"]["State"] == "associating"
        of_it = [{"Name": "instance-id", "Values": [running]}]
        [association] = self.associations(desk, Filters=of_it)
        assert association["State"] == "associated"
        with refused("IncorrectState", running):
            desk("AssociateIamInstanceProfile", InstanceId=running, IamInstanceProfile={"Name": "db"})
        replaced = desk(
            "ReplaceIamInstanceProfileAssociation",
            AssociationId=association["AssociationId"],
            IamInstanceProfile={"Name": "db"},
        )["IamInstanceProfileAssociation"]
        assert instance(running)["IamInstanceProfile"]["Arn"].endswith(":instance-profile/db")
        desk("DisassociateIamInstanceProfile", AssociationId=replaced["AssociationId"])
        assert "IamInstanceProfile" not in instance(running)
        assert self.associations(desk) == []

    def test_an_association_that_is_gone_is_named(self, desk, refused, launch):
        launch(IamInstanceProfile={"Name": "web"}, MinCount=2, MaxCount=2)
        assert len({each["AssociationId"] for each in self.associations(desk)}) == 2
        with refused("InvalidAssociationID.NotFound", "iip-assoc-0"):
            desk("DisassociateIamInstanceProfile", AssociationId="iip-assoc-0")
        with refused("InvalidAssociationID.NotFound", "iip-assoc-0"):
            self.associations(desk, AssociationIds=["iip-assoc-0"])


def test_recovery_and_names_in_dns_are_changed(desk, running, instance):
    desk("ModifyInstanceMaintenanceOptions", InstanceId=running, AutoRecovery="disabled")
    answer = desk("ModifyInstanceMaintenanceOptions", InstanceId=running, RebootMigration="disabled")
    assert (answer["AutoRecovery"], answer["RebootMigration"]) == ("disabled", "disabled")
    desk("ModifyPrivateDnsNameOptions", InstanceId=running, EnableResourceNameDnsARecord=True)
    shown = instance(running)
    assert shown["MaintenanceOptions"] == {"AutoRecovery": "disabled", "RebootMigration": "disabled"}
    assert shown["PrivateDnsNameOptions"]["EnableResourceNameDnsARecord"] is True


def test_enhanced_networking_is_there_already_and_user_data_stays(desk, refused, launch):
    made = launch(UserData="aGVsbG8=")["InstanceId"]
    desk("StopInstances", InstanceIds=[made])
    desk("ModifyInstanceAttribute", InstanceId=made, SriovNetSupport={"Value": "simple"})
    answer = desk("DescribeInstanceAttribute", InstanceId=made, Attribute="userData")
    assert answer["UserData"] == {"Value": "aGVsbG8="}
    with refused("InvalidParameterValue", "simple"):
        desk("ModifyInstanceAttribute", InstanceId=made, SriovNetSupport={"Value": "none"})
