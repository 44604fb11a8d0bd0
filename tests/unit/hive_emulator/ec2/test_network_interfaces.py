from __future__ import annotations

import re

import pytest

from hive_emulator.testing import Desk


def make(desk, subnet, **more):
    return desk("CreateNetworkInterface", SubnetId=subnet, **more)["NetworkInterface"]


def shown(desk, interface):
    return desk("DescribeNetworkInterfaces", NetworkInterfaceIds=[interface])["NetworkInterfaces"][0]


def private(interface):
    return [each["PrivateIpAddress"] for each in interface["PrivateIpAddresses"]]


@pytest.fixture
def group(desk, vpc):
    return desk("CreateSecurityGroup", VpcId=vpc, GroupName="web", Description="d")["GroupId"]


def test_an_interface_has_an_address_a_name_a_mac_and_the_default_group(desk, vpc, subnet):
    made = make(desk, subnet, Description="mine")
    assert (made["PrivateIpAddress"], made["Status"], made["VpcId"]) == ("10.0.1.4", "available", vpc)
    assert made["PrivateDnsName"] == "ip-10-0-1-4.ap-southeast-2.compute.internal"
    assert re.fullmatch(r"02(:[0-9a-f]{2}){5}", made["MacAddress"])
    assert [each["GroupName"] for each in made["Groups"]] == ["default"]
    assert made["SourceDestCheck"] is True and made["RequesterManaged"] is False


def test_names_in_us_east_1_are_those_of_old():
    desk = Desk(region="us-east-1")
    subnet, *_ = desk("DescribeSubnets")["Subnets"]
    assert make(desk, subnet["SubnetId"])["PrivateDnsName"] == "ip-172-31-0-4.ec2.internal"


def test_addresses_can_be_listed_or_counted_the_primary_one_first(desk, subnet, refused):
    listed = [{"PrivateIpAddress": "10.0.1.20"}, {"PrivateIpAddress": "10.0.1.10", "Primary": True}]
    assert private(make(desk, subnet, PrivateIpAddresses=listed)) == ["10.0.1.10", "10.0.1.20"]
    assert private(make(desk, subnet, PrivateIpAddresses=[{"PrivateIpAddress": "10.0.1.50"}])) == ["10.0.1.50"]
    counted = make(desk, subnet, PrivateIpAddress="10.0.1.5", SecondaryPrivateIpAddressCount=2)
    assert private(counted) == ["10.0.1.5", "10.0.1.4", "10.0.1.6"]
    with refused("InvalidParameterCombination"):
        make(desk, subnet, PrivateIpAddresses=[{"PrivateIpAddress": "10.0.1.30"}], SecondaryPrivateIpAddressCount=1)
    with refused("InvalidParameterCombination"):
        make(desk, subnet, PrivateIpAddress="10.0.1.30", PrivateIpAddresses=listed)
    with refused("InvalidParameterValue", "twice"):
        make(desk, subnet, PrivateIpAddresses=[{"PrivateIpAddress": "10.0.1.40"}] * 2)


def test_groups_must_be_in_the_vpc_and_five_at_most(desk, vpc, subnet, refused):
    other = desk("CreateVpc", CidrBlock="10.9.0.0/16")["Vpc"]["VpcId"]
    foreign = desk("CreateSecurityGroup", VpcId=other, GroupName="f", Description="d")["GroupId"]
    with refused("InvalidParameterValue", "different networks"):
        make(desk, subnet, Groups=[foreign])
    groups = [
        desk("CreateSecurityGroup", VpcId=vpc, GroupName=f"g{number}", Description="d")["GroupId"]
        for number in range(6)
    ]
    assert len(make(desk, subnet, Groups=groups[:5])["Groups"]) == 5
    with refused("SecurityGroupsPerInterfaceLimitExceeded"):
        make(desk, subnet, Groups=groups)
    with refused("InvalidGroup.NotFound"):
        make(desk, subnet, Groups=["sg-0123456789abcdef0"])


def test_description_source_check_and_groups_change_one_at_a_time(desk, subnet, group, refused):
    made = make(desk, subnet, Description="before")["NetworkInterfaceId"]

    def modify(**what):
        desk("ModifyNetworkInterfaceAttribute", NetworkInterfaceId=made, **what)

    modify(Description={"Value": "after"})
    modify(SourceDestCheck={"Value": False})
    modify(Groups=[group])
    record = shown(desk, made)
    assert (record["Description"], record["SourceDestCheck"], record["Groups"][0]["GroupId"]) == (
        "after",
        False,
        group,
    )
    with refused("InvalidParameterCombination", "Description, SourceDestCheck"):
        modify(Description={"Value": "x"}, SourceDestCheck={"Value": True})
    with refused("InvalidAttachmentID.NotFound"):
        modify(Attachment={"AttachmentId": "eni-attach-1", "DeleteOnTermination": True})
    modify()  # what is left of Description.Value="" once empty values are dropped
    assert shown(desk, made)["Description"] == ""


def test_secondary_addresses_come_and_go_the_primary_one_stays(desk, subnet, refused):
    made = make(desk, subnet)["NetworkInterfaceId"]
    desk("AssignPrivateIpAddresses", NetworkInterfaceId=made, PrivateIpAddresses=["10.0.1.50"])
    answer = desk("AssignPrivateIpAddresses", NetworkInterfaceId=made, SecondaryPrivateIpAddressCount=1)
    assert [each["PrivateIpAddress"] for each in answer["AssignedPrivateIpAddresses"]] == ["10.0.1.5"]
    assert desk("DescribeSubnets", SubnetIds=[subnet])["Subnets"][0]["AvailableIpAddressCount"] == 248
    desk("UnassignPrivateIpAddresses", NetworkInterfaceId=made, PrivateIpAddresses=["10.0.1.50", "10.0.1.5"])
    assert private(shown(desk, made)) == ["10.0.1.4"]
    assert desk("DescribeSubnets", SubnetIds=[subnet])["Subnets"][0]["AvailableIpAddressCount"] == 250
    with refused("InvalidParameterValue", "10.0.1.4"):
        desk("UnassignPrivateIpAddresses", NetworkInterfaceId=made, PrivateIpAddresses=["10.0.1.4"])
    with refused("MissingParameter"):
        desk("AssignPrivateIpAddresses", NetworkInterfaceId=made)


def test_ipv6_addresses_come_out_of_the_subnets_block(desk, refused):
    vpc = desk("CreateVpc", CidrBlock="10.0.0.0/16", AmazonProvidedIpv6CidrBlock=True)["Vpc"]
    block = vpc["Ipv6CidrBlockAssociationSet"][0]["Ipv6CidrBlock"].replace("/56", "/64")
    subnet = desk("CreateSubnet", VpcId=vpc["VpcId"], CidrBlock="10.0.1.0/24", Ipv6CidrBlock=block)["Subnet"]
    chosen = block.replace("::/64", "::a")
    made = make(desk, subnet["SubnetId"], Ipv6Addresses=[{"Ipv6Address": chosen}])
    assert made["Ipv6Addresses"][0]["Ipv6Address"] == chosen
    with refused("InvalidIPAddress.InUse"):
        make(desk, subnet["SubnetId"], Ipv6Addresses=[{"Ipv6Address": chosen}])
    with refused("InvalidParameterValue", "twice"):
        make(desk, subnet["SubnetId"], Ipv6Addresses=[{"Ipv6Address": block.replace("::/64", "::b")}] * 2)
    interface = made["NetworkInterfaceId"]
    more = desk("AssignIpv6Addresses", NetworkInterfaceId=interface, Ipv6AddressCount=2)["AssignedIpv6Addresses"]
    desk("UnassignIpv6Addresses", NetworkInterfaceId=interface, Ipv6Addresses=more)
    assert [each["Ipv6Address"] for each in shown(desk, interface)["Ipv6Addresses"]] == [chosen]
    with refused("InvalidParameterValue"):
        desk("UnassignIpv6Addresses", NetworkInterfaceId=interface, Ipv6Addresses=more)


def test_an_ipv6_address_needs_a_block(desk, subnet, refused):
    with refused("InvalidParameterValue", "IPv6"):
        make(desk, subnet, Ipv6AddressCount=1)


@pytest.fixture
def instance(desk, subnet):
    image = desk("DescribeImages", Filters=[{"Name": "name", "Values": ["*debian-12*"]}])["Images"][0]["ImageId"]
    launched = desk("RunInstances", ImageId=image, InstanceType="t3.nano", SubnetId=subnet, MinCount=1, MaxCount=1)[
        "Instances"
    ][0]
    return launched["InstanceId"]


def test_an_interface_is_attached_to_an_instance_and_detached(desk, subnet, instance, refused):
    made = make(desk, subnet)["NetworkInterfaceId"]
    attach = {"NetworkInterfaceId": made, "InstanceId": instance}
    with refused("InvalidParameterValue", "device index '0'"):
        desk("AttachNetworkInterface", DeviceIndex=0, **attach)
    attachment = desk("AttachNetworkInterface", DeviceIndex=1, **attach)["AttachmentId"]
    record = shown(desk, made)
    assert (record["Status"], record["Attachment"]["InstanceId"]) == ("in-use", instance)
    assert record["Attachment"]["DeleteOnTermination"] is False
    with refused("InvalidNetworkInterface.InUse"):
        desk("AttachNetworkInterface", DeviceIndex=2, **attach)
    changed = {"AttachmentId": attachment, "DeleteOnTermination": True}
    desk("ModifyNetworkInterfaceAttribute", NetworkInterfaceId=made, Attachment=changed)
    assert shown(desk, made)["Attachment"]["DeleteOnTermination"] is True
    desk("DetachNetworkInterface", AttachmentId=attachment)
    assert "Attachment" not in shown(desk, made)
    with refused("InvalidAttachmentID.NotFound"):
        desk("DetachNetworkInterface", AttachmentId=attachment)


def test_the_first_interface_stays_and_a_type_has_room_for_so_many(desk, subnet, instance, refused):
    first = desk("DescribeNetworkInterfaces", Filters=[{"Name": "attachment.instance-id", "Values": [instance]}])
    attachment = first["NetworkInterfaces"][0]["Attachment"]["AttachmentId"]
    with refused("OperationNotPermitted", "device index 0"):
        desk("DetachNetworkInterface", AttachmentId=attachment)
    second, third = (make(desk, subnet)["NetworkInterfaceId"] for _ in range(2))
    desk("AttachNetworkInterface", NetworkInterfaceId=second, InstanceId=instance, DeviceIndex=1)
    with refused("AttachmentLimitExceeded", "t3.nano"):
        desk("AttachNetworkInterface", NetworkInterfaceId=third, InstanceId=instance, DeviceIndex=2)


def test_an_interface_of_an_instance_has_as_many_addresses_as_its_type_allows(desk, launch, refused):
    [own] = launch(InstanceType="t3.micro")["NetworkInterfaces"]
    more = {"NetworkInterfaceId": own["NetworkInterfaceId"], "SecondaryPrivateIpAddressCount": 1}
    desk("AssignPrivateIpAddresses", **more)
    with refused("PrivateIpAddressLimitExceeded", "t3.micro has 2 at most"):
        desk("AssignPrivateIpAddresses", **more)


def test_an_interface_of_another_zone_can_not_be_attached(desk, vpc, instance, refused):
    elsewhere = desk("CreateSubnet", VpcId=vpc, CidrBlock="10.0.2.0/24", AvailabilityZone="ap-southeast-2b")["Subnet"]
    made = make(desk, elsewhere["SubnetId"])["NetworkInterfaceId"]
    with refused("InvalidParameterCombination", "same availability zone"):
        desk("AttachNetworkInterface", NetworkInterfaceId=made, InstanceId=instance, DeviceIndex=1)


def test_absurd_numbers_are_refused(desk, subnet, refused):
    made = make(desk, subnet)["NetworkInterfaceId"]
    for params in ({"SecondaryPrivateIpAddressCount": 10**9}, {"Ipv6AddressCount": 10**9}, {"Ipv6AddressCount": -1}):
        with refused("InvalidParameterValue", "AddressCount"):
            make(desk, subnet, **params)
    with refused("InvalidParameterValue"):
        desk("AssignIpv6Addresses", NetworkInterfaceId=made, Ipv6AddressCount=10**9)
    with refused("InvalidParameterValue"):
        desk("AssignPrivateIpAddresses", NetworkInterfaceId=made, SecondaryPrivateIpAddressCount=-3)


def test_a_listed_address_that_is_not_named_is_any(desk, subnet):
    assert private(make(desk, subnet, PrivateIpAddresses=[{"Primary": True}, {}])) == ["10.0.1.4", "10.0.1.5"]


def test_an_attachment_that_has_ended_is_shown_detached_to_who_asks_for_it_by_its_id(desk, subnet, instance):
    made = make(desk, subnet)["NetworkInterfaceId"]
    attach = {"NetworkInterfaceId": made, "InstanceId": instance, "DeviceIndex": 1}
    first = desk("AttachNetworkInterface", **attach)["AttachmentId"]
    desk("DetachNetworkInterface", AttachmentId=first)

    def asked(attachment):
        wanted = [{"Name": "attachment.attachment-id", "Values": [attachment]}]
        found = desk("DescribeNetworkInterfaces", Filters=wanted)["NetworkInterfaces"]
        return [(each["NetworkInterfaceId"], each["Attachment"]["Status"]) for each in found]

    assert asked(first) == [(made, "detached")]
    assert "Attachment" not in shown(desk, made)
    second = desk("AttachNetworkInterface", **attach)["AttachmentId"]
    assert (asked(first), asked(second)) == ([], [(made, "attached")])


@pytest.fixture
def dual(desk):
    """A subnet with an IPv6 block."""
    vpc = desk("CreateVpc", CidrBlock="10.8.0.0/16", AmazonProvidedIpv6CidrBlock=True)["Vpc"]
    block = vpc["Ipv6CidrBlockAssociationSet"][0]["Ipv6CidrBlock"].replace("/56", "/64")
    subnet = desk("CreateSubnet", VpcId=vpc["VpcId"], CidrBlock="10.8.1.0/24", Ipv6CidrBlock=block)["Subnet"]
    return subnet["SubnetId"]


def test_the_first_ipv6_address_is_the_primary_one_when_asked(desk, dual, launch, refused):
    def primaries(interface):
        return [each["IsPrimaryIpv6"] for each in interface["Ipv6Addresses"]]

    assert primaries(make(desk, dual, Ipv6AddressCount=2, EnablePrimaryIpv6=True)) == [True, False]
    launched = launch(SubnetId=dual, Ipv6AddressCount=1, EnablePrimaryIpv6=True)
    assert primaries(launched["NetworkInterfaces"][0]) == [True]
    late = make(desk, dual, Ipv6AddressCount=1, Description="mine")["NetworkInterfaceId"]
    desk("ModifyNetworkInterfaceAttribute", NetworkInterfaceId=late, EnablePrimaryIpv6=True)
    assert primaries(shown(desk, late)) == [True]
    assert shown(desk, late)["Description"] == "mine"
    with refused("InvalidParameterValue", "primary"):
        desk("ModifyNetworkInterfaceAttribute", NetworkInterfaceId=late, EnablePrimaryIpv6=False)
    [first] = [each["Ipv6Address"] for each in shown(desk, late)["Ipv6Addresses"]]
    with refused("InvalidParameterValue", "primary"):
        desk("UnassignIpv6Addresses", NetworkInterfaceId=late, Ipv6Addresses=[first])


def test_type_and_connection_tracking_are_kept_from_the_start(desk, subnet, launch):
    wanted = {"InterfaceType": "efa", "ConnectionTrackingSpecification": {"UdpTimeout": 40}}
    for each in (
        make(desk, subnet, **wanted)["NetworkInterfaceId"],
        launch(NetworkInterfaces=[{"DeviceIndex": 0, **wanted}])["NetworkInterfaces"][0]["NetworkInterfaceId"],
    ):
        assert shown(desk, each)["InterfaceType"] == "efa"
        assert shown(desk, each)["ConnectionTrackingConfiguration"] == {"UdpTimeout": 40}


def test_what_is_not_supported_is_refused_by_name_and_empties_nothing(desk, subnet, refused):
    made = make(desk, subnet, Description="mine")["NetworkInterfaceId"]
    with refused("UnsupportedOperation", "EnaSrdSpecification"):
        desk("ModifyNetworkInterfaceAttribute", NetworkInterfaceId=made, EnaSrdSpecification={"EnaSrdEnabled": True})
    assert shown(desk, made)["Description"] == "mine"
    for action in ("AssignPrivateIpAddresses", "UnassignPrivateIpAddresses"):
        with refused("UnsupportedOperation", "Ipv4Prefixes"):
            desk(action, NetworkInterfaceId=made, Ipv4Prefixes=["10.0.1.16/28"])


def test_a_public_name_is_there_only_while_the_vpc_has_dns_host_names(desk, vpc, subnet, gateway):
    made = make(desk, subnet)["NetworkInterfaceId"]
    address = desk("AllocateAddress", Domain="vpc")["AllocationId"]
    desk("AssociateAddress", AllocationId=address, NetworkInterfaceId=made)

    def names():
        [shown] = desk("DescribeNetworkInterfaces", NetworkInterfaceIds=[made])["NetworkInterfaces"]
        [private] = shown["PrivateIpAddresses"]
        return shown["Association"]["PublicDnsName"], private["Association"]["PublicDnsName"]

    assert names() == ("", "")
    desk("ModifyVpcAttribute", VpcId=vpc, EnableDnsHostnames={"Value": True})
    assert all(name.startswith("ec2-") for name in names())
