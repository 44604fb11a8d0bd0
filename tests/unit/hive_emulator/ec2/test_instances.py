"""Instances after their launch: found, stopped, started, rebooted, terminated."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from hive_emulator.action import Call


@pytest.fixture
def running(launch):
    return launch()["InstanceId"]


def name(instance):
    return instance["State"]["Name"]


def test_a_stopped_instance_loses_its_lent_address_and_gets_a_new_one(desk, running, instance):
    before = instance(running)
    [change] = desk("StopInstances", InstanceIds=[running])["StoppingInstances"]
    assert (change["PreviousState"]["Name"], change["CurrentState"]["Name"]) == ("running", "stopping")
    stopped = instance(running)
    assert (name(stopped), stopped["PrivateIpAddress"]) == ("stopped", before["PrivateIpAddress"])
    assert "PublicIpAddress" not in stopped
    assert stopped["StateReason"]["Code"] == "Client.UserInitiatedShutdown"
    [change] = desk("StartInstances", InstanceIds=[running])["StartingInstances"]
    assert (change["PreviousState"]["Name"], change["CurrentState"]["Name"]) == ("stopped", "pending")
    started = instance(running)
    assert name(started) == "running" and "StateReason" not in started
    assert started["PublicIpAddress"]


def test_an_elastic_address_stays_over_a_stop(desk, launch, instance, subnet, gateway):
    made = launch(SubnetId=subnet)["InstanceId"]
    address = desk("AllocateAddress")
    desk("AssociateAddress", AllocationId=address["AllocationId"], InstanceId=made)
    desk("StopInstances", InstanceIds=[made])
    assert instance(made)["PublicIpAddress"] == address["PublicIp"]


def test_to_ask_for_the_state_it_has_changes_nothing(desk, running):
    [change] = desk("StartInstances", InstanceIds=[running])["StartingInstances"]
    assert change["PreviousState"] == change["CurrentState"] == {"Code": 16, "Name": "running"}
    desk("StopInstances", InstanceIds=[running])
    [change] = desk("StopInstances", InstanceIds=[running])["StoppingInstances"]
    assert change["PreviousState"] == change["CurrentState"] == {"Code": 80, "Name": "stopped"}


def test_a_reboot_needs_a_running_instance(desk, refused, running):
    assert desk("RebootInstances", InstanceIds=[running]) == {}
    desk("StopInstances", InstanceIds=[running])
    with refused("IncorrectInstanceState", running, "stopped"):
        desk("RebootInstances", InstanceIds=[running])


class TestTermination:
    def test_it_lets_go_of_everything_and_stays_visible(self, desk, running, instance):
        [change] = desk("TerminateInstances", InstanceIds=[running])["TerminatingInstances"]
        assert (change["PreviousState"]["Name"], change["CurrentState"]["Name"]) == ("running", "shutting-down")
        shown = instance(running)
        assert name(shown) == "terminated"
        assert shown["NetworkInterfaces"] == shown["BlockDeviceMappings"] == shown["SecurityGroups"] == []
        assert not {"VpcId", "SubnetId", "PrivateIpAddress", "PublicIpAddress"} & shown.keys()
        assert desk("DescribeVolumes")["Volumes"] == []
        assert desk("DescribeNetworkInterfaces")["NetworkInterfaces"] == []

    def test_an_elastic_address_is_free_again(self, desk, launch, subnet, gateway):
        made = launch(SubnetId=subnet)["InstanceId"]
        address = desk("AllocateAddress")["AllocationId"]
        desk("AssociateAddress", AllocationId=address, InstanceId=made)
        desk("TerminateInstances", InstanceIds=[made])
        assert "AssociationId" not in desk("DescribeAddresses")["Addresses"][0]
        desk("ReleaseAddress", AllocationId=address)

    def test_it_is_gone_after_an_hour(self, desk, refused, running, monkeypatch):
        desk("TerminateInstances", InstanceIds=[running])
        later = datetime.now(timezone.utc) + timedelta(minutes=59)
        _at(monkeypatch, desk, later)
        assert desk("DescribeInstances")["Reservations"]
        _at(monkeypatch, desk, later + timedelta(minutes=2))
        assert desk("DescribeInstances")["Reservations"] == []
        with refused("InvalidInstanceID.NotFound", running):
            desk("DescribeInstances", InstanceIds=[running])

    def test_the_next_termination_forgets_the_old_ones(self, desk, running, launch, monkeypatch):
        desk("TerminateInstances", InstanceIds=[running])
        other = launch()["InstanceId"]
        _at(monkeypatch, desk, datetime.now(timezone.utc) + timedelta(hours=2))
        desk("TerminateInstances", InstanceIds=[other])
        kept = [each["InstanceId"] for each in desk.emulator.call(desk.account, desk.region).cloud.all("instance")]
        assert kept == [other]

    def test_twice_is_once(self, desk, running):
        desk("TerminateInstances", InstanceIds=[running])
        [change] = desk("TerminateInstances", InstanceIds=[running])["TerminatingInstances"]
        assert change["PreviousState"] == change["CurrentState"] == {"Code": 48, "Name": "terminated"}

    @pytest.mark.parametrize("verb", ["StartInstances", "StopInstances", "RebootInstances"])
    def test_nothing_brings_it_back(self, desk, refused, running, verb):
        desk("TerminateInstances", InstanceIds=[running])
        with refused("IncorrectInstanceState", running, "terminated"):
            desk(verb, InstanceIds=[running])


def _at(monkeypatch, desk, when):
    make = desk.emulator.__class__.call

    def call(self, *args, **kwargs) -> Call:
        made = make(self, *args, **kwargs)
        made.now = when
        return made

    monkeypatch.setattr(desk.emulator, "call", call.__get__(desk.emulator))


class TestProtection:
    def test_a_protected_instance_is_not_terminated(self, desk, refused, launch, instance):
        made = launch(DisableApiTermination=True)["InstanceId"]
        with refused("OperationNotPermitted", "disableApiTermination", made):
            desk("TerminateInstances", InstanceIds=[made])
        assert name(instance(made)) == "running"
        desk("ModifyInstanceAttribute", InstanceId=made, DisableApiTermination={"Value": False})
        desk("TerminateInstances", InstanceIds=[made])

    def test_one_protected_instance_keeps_all_of_a_call(self, desk, refused, launch, instance):
        free, held = launch()["InstanceId"], launch(DisableApiTermination=True)["InstanceId"]
        with refused("OperationNotPermitted", held):
            desk("TerminateInstances", InstanceIds=[free, held])
        assert name(instance(free)) == "running"

    def test_a_protected_instance_is_not_stopped(self, desk, refused, launch):
        made = launch(DisableApiStop=True)["InstanceId"]
        with refused("OperationNotPermitted", "disableApiStop", made):
            desk("StopInstances", InstanceIds=[made])
        desk("TerminateInstances", InstanceIds=[made])


class TestDescribe:
    def test_instances_are_found_by_what_they_are(self, desk, launch):
        tags = [{"ResourceType": "instance", "Tags": [{"Key": "Role", "Value": "db"}]}]
        db = launch(InstanceType="m5.large", TagSpecifications=tags)
        web = launch()

        def found(**wanted):
            filters = [{"Name": key.replace("__", ".").replace("_", "-"), "Values": [v]} for key, v in wanted.items()]
            answer = desk("DescribeInstances", Filters=filters)["Reservations"]
            return [each["InstanceId"] for one in answer for each in one["Instances"]]

        assert (
            found(instance_type="m5.*") == found(**{"tag:Role": "db"}) == found(tag_key="Role") == [db["InstanceId"]]
        )
        assert (
            found(instance_state_name="running")
            == found(instance_state_code="16")
            == [
                db["InstanceId"],
                web["InstanceId"],
            ]
        )
        card = web["NetworkInterfaces"][0]["NetworkInterfaceId"]
        assert found(network_interface__network_interface_id=card) == [web["InstanceId"]]
        disk = db["BlockDeviceMappings"][0]["Ebs"]["VolumeId"]
        assert found(block_device_mapping__volume_id=disk) == [db["InstanceId"]]
        assert found(private_ip_address=web["PrivateIpAddress"]) == [web["InstanceId"]]
        assert found(owner_id=desk.account, architecture="arm64") == []

    def test_tags_of_an_interface_find_its_instance(self, desk, launch):
        made = launch()
        card = made["NetworkInterfaces"][0]["NetworkInterfaceId"]
        desk("CreateTags", Resources=[card], Tags=[{"Key": "plane", "Value": "data"}])
        wanted = [{"Name": "network-interface.tag-key", "Values": ["plane"]}]
        [found] = desk("DescribeInstances", Filters=wanted)["Reservations"]
        assert found["Instances"][0]["InstanceId"] == made["InstanceId"]
        desk("DeleteTags", Resources=[card])
        assert desk("DescribeInstances", Filters=wanted)["Reservations"] == []

    def test_public_names_come_and_go_with_the_vpcs_attribute(self, desk, running, instance):
        assert instance(running)["PublicDnsName"]
        for wanted in (False, True):
            desk("ModifyVpcAttribute", VpcId=instance(running)["VpcId"], EnableDnsHostnames={"Value": wanted})
            assert bool(instance(running)["PublicDnsName"]) is wanted

    def test_pages_hold_together(self, desk, launch):
        made = [launch()["InstanceId"] for _ in range(7)]
        first = desk("DescribeInstances", MaxResults=5)
        rest = desk("DescribeInstances", MaxResults=5, NextToken=first["NextToken"])
        both = first["Reservations"] + rest["Reservations"]
        assert [each["InstanceId"] for one in both for each in one["Instances"]] == made

    def test_ids_and_pages_exclude_each_other(self, desk, refused, running):
        with refused("InvalidParameterCombination", "maxResults"):
            desk("DescribeInstances", InstanceIds=[running], MaxResults=5)

    def test_an_unknown_filter_and_an_unknown_id_are_named(self, desk, refused):
        with refused("InvalidParameterValue", "colour"):
            desk("DescribeInstances", Filters=[{"Name": "colour", "Values": ["red"]}])
        with refused("InvalidInstanceID.NotFound", "i-00000000000000000"):
            desk("DescribeInstances", InstanceIds=["i-00000000000000000"])
        with refused("InvalidInstanceID.Malformed", "web-1"):
            desk("DescribeInstances", InstanceIds=["web-1"])

    def test_a_stored_record_is_answered_as_it_is_so_that_its_xml_can_be_kept(self, desk, running):
        def shown():
            return desk("DescribeInstances")["Reservations"][0]["Instances"][0]

        assert shown() is shown()


class TestStatus:
    def test_running_instances_pass_their_checks(self, desk, running, launch):
        stopped = launch()["InstanceId"]
        desk("StopInstances", InstanceIds=[stopped])
        [status] = desk("DescribeInstanceStatus")["InstanceStatuses"]
        assert status["InstanceId"] == running
        assert status["InstanceStatus"]["Status"] == status["SystemStatus"]["Status"] == "ok"
        everyone = desk("DescribeInstanceStatus", IncludeAllInstances=True)["InstanceStatuses"]
        assert {each["InstanceId"]: each["InstanceStatus"]["Status"] for each in everyone} == {
            running: "ok",
            stopped: "not-applicable",
        }

    def test_statuses_are_filtered(self, desk, running):
        for wanted, count in (("passed", 1), ("failed", 0)):
            filters = [{"Name": "system-status.reachability", "Values": [wanted]}]
            assert len(desk("DescribeInstanceStatus", Filters=filters)["InstanceStatuses"]) == count


@pytest.mark.parametrize("action", ["StartInstances", "StopInstances", "RebootInstances", "TerminateInstances"])
def test_who_changes_instances_must_name_some(desk, refused, action):
    with refused("InvalidParameterCombination", "No instances specified"):
        desk(action)


def test_all_ids_that_are_unknown_are_named(desk, refused, launch):
    known, one, two = launch()["InstanceId"], "i-00000000000000001", "i-00000000000000002"
    with refused("InvalidInstanceID.NotFound", f"The instance IDs '{one}, {two}' do not exist"):
        desk("DescribeInstances", InstanceIds=[one, known, two])
    with refused("InvalidVolume.NotFound", "The volumes 'vol-00000000, vol-11111111' do not exist."):
        desk("DescribeVolumes", VolumeIds=["vol-00000000", "vol-11111111"])
    with refused("InvalidAMIID.NotFound", "The image ids '[ami-00000000, ami-11111111]' do not exist"):
        desk("DescribeImages", ImageIds=["ami-00000000", "ami-11111111"])
