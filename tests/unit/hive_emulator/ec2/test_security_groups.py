from __future__ import annotations

import pytest

from hive_emulator.config import CloudConfig
from hive_emulator.testing import Desk

ANYWHERE = [{"CidrIp": "0.0.0.0/0"}]


def make(desk, vpc, name="web", **more):
    return desk("CreateSecurityGroup", VpcId=vpc, GroupName=name, Description="d", **more)["GroupId"]


def shown(desk, group):
    return desk("DescribeSecurityGroups", GroupIds=[group])["SecurityGroups"][0]


def tcp(port, **source):
    return {"IpProtocol": "tcp", "FromPort": port, "ToPort": port, **(source or {"IpRanges": ANYWHERE})}


def allow(desk, group, *permissions, **more):
    answer = desk("AuthorizeSecurityGroupIngress", GroupId=group, IpPermissions=list(permissions), **more)
    return answer["SecurityGroupRules"]


@pytest.fixture
def group(desk, vpc):
    return make(desk, vpc)


def test_a_new_group_lets_everything_out_and_nothing_in(desk, group):
    record = shown(desk, group)
    assert record["IpPermissions"] == []
    assert record["IpPermissionsEgress"][0]["IpProtocol"] == "-1"
    assert record["IpPermissionsEgress"][0]["IpRanges"] == ANYWHERE
    assert record["SecurityGroupArn"].endswith(f":security-group/{group}")


def test_names_are_unique_in_a_vpc_only(desk, vpc, group, refused):
    with refused("InvalidGroup.Duplicate", "'web'", vpc):
        make(desk, vpc)
    other = desk("CreateVpc", CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    assert make(desk, other) != group


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"GroupName": "default", "Description": "d"}, "InvalidParameterValue"),
        ({"GroupName": "sg-web", "Description": "d"}, "InvalidParameterValue"),
        ({"GroupName": "n" * 256, "Description": "d"}, "InvalidParameterValue"),
        ({"GroupName": "web", "Description": "naïve"}, "InvalidParameterValue"),
        ({"GroupName": "web"}, "MissingParameter"),
        ({"Description": "d"}, "MissingParameter"),
        ({"GroupName": "web", "Description": "d", "VpcId": "vpc-0123456789abcdef0"}, "InvalidVpcID.NotFound"),
    ],
)
def test_bad_names_and_descriptions_are_refused(desk, refused, params, code):
    with refused(code):
        desk("CreateSecurityGroup", **params)


def test_without_a_vpc_a_group_is_in_the_default_one_and_known_by_name(desk):
    made = desk("CreateSecurityGroup", GroupName="web", Description="d")["GroupId"]
    [found] = desk("DescribeSecurityGroups", GroupNames=["web"])["SecurityGroups"]
    assert found["GroupId"] == made
    desk(
        "AuthorizeSecurityGroupIngress",
        GroupName="web",
        IpProtocol="tcp",
        FromPort=22,
        ToPort=22,
        CidrIp="10.0.0.0/8",
    )
    assert shown(desk, made)["IpPermissions"][0]["IpRanges"] == [{"CidrIp": "10.0.0.0/8"}]
    desk("DeleteSecurityGroup", GroupName="web")


def test_a_groups_name_in_another_vpc_is_not_found_by_name(desk, group, refused):
    with refused("InvalidGroup.NotFound", "'web'"):
        desk("DescribeSecurityGroups", GroupNames=["web"])


def test_each_source_becomes_a_rule_with_an_id_and_they_show_grouped_by_ports(desk, vpc, group):
    wanted = {"PrefixListName": "list", "AddressFamily": "IPv4", "MaxEntries": 1}
    listed = desk("CreateManagedPrefixList", **wanted)["PrefixList"]["PrefixListId"]
    other = make(desk, vpc, "db")
    rules = allow(
        desk,
        group,
        {
            "IpProtocol": "tcp",
            "FromPort": 443,
            "ToPort": 443,
            "IpRanges": [{"CidrIp": "10.1.2.3/16", "Description": "office"}, {"CidrIp": "10.2.0.0/16"}],
            "Ipv6Ranges": [{"CidrIpv6": "2001:DB8::1/32"}],
            "PrefixListIds": [{"PrefixListId": listed}],
            "UserIdGroupPairs": [{"GroupId": other, "Description": "peers"}],
        },
    )
    assert len({rule["SecurityGroupRuleId"] for rule in rules}) == 5
    assert [rule.get("CidrIpv4") for rule in rules[:2]] == ["10.1.0.0/16", "10.2.0.0/16"]
    assert rules[2]["CidrIpv6"] == "2001:db8::/32"
    who = {"GroupId": other, "UserId": desk.account, "_GroupName": "db"}
    assert rules[4]["ReferencedGroupInfo"] == {**who, "VpcId": vpc}
    [permission] = shown(desk, group)["IpPermissions"]
    assert permission == {
        "IpProtocol": "tcp",
        "FromPort": 443,
        "ToPort": 443,
        "IpRanges": [{"CidrIp": "10.1.0.0/16", "Description": "office"}, {"CidrIp": "10.2.0.0/16"}],
        "Ipv6Ranges": [{"CidrIpv6": "2001:db8::/32"}],
        "PrefixListIds": [{"PrefixListId": listed}],
        "UserIdGroupPairs": [{**who, "Description": "peers"}],
    }


def test_rules_carry_their_own_tags(desk, group):
    tags = [{"Key": "Why", "Value": "web"}]
    [rule] = allow(desk, group, tcp(80), TagSpecifications=[{"ResourceType": "security-group-rule", "Tags": tags}])
    found = desk("DescribeSecurityGroupRules", Filters=[{"Name": "tag:Why", "Values": ["web"]}])
    assert [each["SecurityGroupRuleId"] for each in found["SecurityGroupRules"]] == [rule["SecurityGroupRuleId"]]


def test_a_rule_that_is_there_already_is_refused_and_named_whatever_its_description(desk, group, refused):
    allow(desk, group, tcp(80))
    with refused("InvalidPermission.Duplicate", "peer: 0.0.0.0/0, TCP, from port: 80, to port: 80, ALLOW"):
        allow(desk, group, tcp(80, IpRanges=[{"CidrIp": "0.0.0.0/0", "Description": "again"}]))
    with refused("InvalidParameterValue", "multiple times"):
        allow(desk, group, tcp(81), tcp(81))


@pytest.mark.parametrize(
    ("permission", "words"),
    [
        ({"IpProtocol": "tcp", "IpRanges": ANYWHERE}, "both from and to ports"),
        ({"IpProtocol": "tcp", "FromPort": 80, "ToPort": 79, "IpRanges": ANYWHERE}, "80:79"),
        ({"IpProtocol": "udp", "FromPort": 0, "ToPort": 65536, "IpRanges": ANYWHERE}, "65536"),
        ({"IpProtocol": "icmp", "FromPort": 256, "ToPort": -1, "IpRanges": ANYWHERE}, "256"),
        ({"IpProtocol": "icmp", "FromPort": -1, "ToPort": 3, "IpRanges": ANYWHERE}, "ICMP"),
        ({"IpProtocol": "smoke", "IpRanges": ANYWHERE}, "smoke"),
        ({"IpProtocol": "256", "IpRanges": ANYWHERE}, "256"),
        (tcp(80, IpRanges=[{"CidrIp": "1.2.3.4"}]), "1.2.3.4"),
        (tcp(80, Ipv6Ranges=[{"CidrIpv6": "fe80::1%eth0/64"}]), "malformed"),
        (tcp(80, IpRanges=[{"CidrIp": "1.2.3.4/32", "Description": "naïve"}]), "description"),
    ],
)
def test_malformed_permissions_are_refused(desk, group, refused, permission, words):
    with refused("InvalidParameterValue", words):
        allow(desk, group, permission)
    assert shown(desk, group)["IpPermissions"] == []


def test_protocol_numbers_get_their_names_and_others_have_no_ports(desk, group):
    numbered = {"IpProtocol": "6", "FromPort": 1, "ToPort": 2, "IpRanges": ANYWHERE}
    rules = allow(desk, group, numbered, {"IpProtocol": "50", "IpRanges": ANYWHERE})
    assert [(each["IpProtocol"], each["FromPort"]) for each in rules] == [("tcp", 1), ("50", -1)]
    assert "FromPort" not in shown(desk, group)["IpPermissions"][1]


def test_a_permission_without_a_source_or_with_a_foreign_group_is_refused(desk, group, refused):
    with refused("MissingParameter"):
        desk("AuthorizeSecurityGroupIngress", GroupId=group, IpPermissions=[{"IpProtocol": "-1"}])
    other = desk("CreateVpc", CidrBlock="10.9.0.0/16")["Vpc"]["VpcId"]
    foreign = make(desk, other)
    with refused("InvalidGroup.NotFound", "different networks"):
        allow(desk, group, tcp(80, UserIdGroupPairs=[{"GroupId": foreign}]))
    with refused("InvalidGroup.NotFound"):
        allow(desk, group, tcp(80, UserIdGroupPairs=[{"GroupId": "sg-0123456789abcdef0"}]))
    with refused("InvalidGroupId.Malformed"):
        allow(desk, "web", tcp(80))


def test_sixty_rules_in_each_direction_are_the_limit(desk, group, refused):
    allow(desk, group, *(tcp(port) for port in range(60)))
    with refused("RulesPerSecurityGroupLimitExceeded"):
        allow(desk, group, tcp(99))
    desk("AuthorizeSecurityGroupEgress", GroupId=group, IpPermissions=[tcp(99)])


def test_rules_for_ipv4_and_ipv6_are_counted_apart_and_a_group_as_both(desk, group, refused):
    ports = [{"IpProtocol": "tcp", "FromPort": port, "ToPort": port} for port in range(60)]
    allow(desk, group, *(tcp(port) for port in range(60)))
    allow(desk, group, *({**one, "Ipv6Ranges": [{"CidrIpv6": "::/0"}]} for one in ports[:59]))
    with refused("RulesPerSecurityGroupLimitExceeded"):
        allow(desk, group, {**ports[0], "UserIdGroupPairs": [{"GroupId": group}]})
    desk("RevokeSecurityGroupIngress", GroupId=group, IpPermissions=[tcp(0)])
    allow(desk, group, {**ports[0], "UserIdGroupPairs": [{"GroupId": group}]})
    with refused("RulesPerSecurityGroupLimitExceeded"):
        allow(desk, group, {**ports[59], "Ipv6Ranges": [{"CidrIpv6": "::/0"}]})


def test_revoke_by_permission_by_id_and_in_the_form_of_old(desk, group):
    allow(desk, group, tcp(80), tcp(81), tcp(82))
    answer = desk("RevokeSecurityGroupIngress", GroupId=group, IpPermissions=[tcp(80)])
    assert [rule["FromPort"] for rule in answer["RevokedSecurityGroupRules"]] == [80]
    wanted = next(rule for rule in desk("DescribeSecurityGroupRules")["SecurityGroupRules"] if rule["FromPort"] == 81)
    desk("RevokeSecurityGroupIngress", GroupId=group, SecurityGroupRuleIds=[wanted["SecurityGroupRuleId"]])
    desk("RevokeSecurityGroupIngress", GroupId=group, IpProtocol="tcp", FromPort=82, ToPort=82, CidrIp="0.0.0.0/0")
    assert shown(desk, group)["IpPermissions"] == []


def test_revoking_what_is_not_there_is_refused_except_in_the_default_vpc(desk, group, refused):
    with refused("InvalidPermission.NotFound"):
        desk("RevokeSecurityGroupIngress", GroupId=group, IpPermissions=[tcp(80)])
    at_home = desk("CreateSecurityGroup", GroupName="home", Description="d")["GroupId"]
    answer = desk("RevokeSecurityGroupIngress", GroupId=at_home, IpPermissions=[tcp(80)])
    assert answer["UnknownIpPermissions"][0]["FromPort"] == 80
    with refused("InvalidSecurityGroupRuleId.NotFound"):
        desk("RevokeSecurityGroupEgress", GroupId=group, SecurityGroupRuleIds=["sgr-0123456789abcdef0"])


def test_the_providers_first_call_takes_the_open_egress_away(desk, group, refused):
    everything = {"IpProtocol": "-1", "FromPort": 0, "ToPort": 0}
    desk("RevokeSecurityGroupEgress", GroupId=group, IpPermissions=[{**everything, "IpRanges": ANYWHERE}])
    assert shown(desk, group)["IpPermissionsEgress"] == []
    with refused("InvalidPermission.NotFound"):
        ranges = [{"CidrIpv6": "::/0"}]
        desk("RevokeSecurityGroupEgress", GroupId=group, IpPermissions=[{**everything, "Ipv6Ranges": ranges}])


def test_a_rule_is_rewritten_under_its_id(desk, group, refused):
    [first, second] = allow(desk, group, tcp(80), tcp(81))
    its_id = first["SecurityGroupRuleId"]

    def modify(**rule):
        updates = [{"SecurityGroupRuleId": its_id, "SecurityGroupRule": rule}]
        desk("ModifySecurityGroupRules", GroupId=group, SecurityGroupRules=updates)

    modify(IpProtocol="udp", FromPort=53, ToPort=53, CidrIpv4="10.0.0.0/8", Description="names")
    [rule] = desk("DescribeSecurityGroupRules", SecurityGroupRuleIds=[its_id])["SecurityGroupRules"]
    assert (rule["IpProtocol"], rule["CidrIpv4"], rule["Description"]) == ("udp", "10.0.0.0/8", "names")
    protocols = {each["IpProtocol"] for each in shown(desk, group)["IpPermissions"]}
    assert protocols == {"tcp", "udp"}
    with refused("InvalidPermission.Duplicate"):
        modify(IpProtocol="tcp", FromPort=81, ToPort=81, CidrIpv4="0.0.0.0/0")
    with refused("InvalidParameterValue", "type of source"):
        modify(IpProtocol="tcp", FromPort=81, ToPort=81, CidrIpv6="::/0")
    with refused("MissingParameter", "CidrIpv4"):
        modify(IpProtocol="tcp", FromPort=81, ToPort=81)
    with refused("MissingParameter", "IpProtocol"):
        modify(FromPort=81, ToPort=81, CidrIpv4="0.0.0.0/0")
    with refused("InvalidGroupId.Malformed", "sg-zz"):
        desk("DescribeSecurityGroupRules", Filters=[{"Name": "group-id", "Values": ["sg-zz"]}])


def test_descriptions_change_by_permission_and_by_id(desk, group, refused):
    [rule] = allow(desk, group, tcp(80))
    described = tcp(80, IpRanges=[{"CidrIp": "0.0.0.0/0", "Description": "one"}])
    desk("UpdateSecurityGroupRuleDescriptionsIngress", GroupId=group, IpPermissions=[described])
    assert shown(desk, group)["IpPermissions"][0]["IpRanges"][0]["Description"] == "one"
    by_id = [{"SecurityGroupRuleId": rule["SecurityGroupRuleId"], "Description": "two"}]
    desk("UpdateSecurityGroupRuleDescriptionsIngress", GroupId=group, SecurityGroupRuleDescriptions=by_id)
    assert shown(desk, group)["IpPermissions"][0]["IpRanges"][0]["Description"] == "two"
    with refused("InvalidPermission.NotFound"):
        desk("UpdateSecurityGroupRuleDescriptionsEgress", GroupId=group, IpPermissions=[described])


def test_a_default_group_stays(desk, vpc, refused):
    found = desk("DescribeSecurityGroups", Filters=[{"Name": "vpc-id", "Values": [vpc]}])["SecurityGroups"]
    with refused("CannotDelete", found[0]["GroupId"]):
        desk("DeleteSecurityGroup", GroupId=found[0]["GroupId"])


def test_a_deleted_group_takes_its_rules_along(desk, group, refused):
    allow(desk, group, tcp(80))
    desk("DeleteSecurityGroup", GroupId=group)
    rules = desk("DescribeSecurityGroupRules", Filters=[{"Name": "group-id", "Values": [group]}])
    assert rules["SecurityGroupRules"] == []
    with refused("InvalidGroup.NotFound", f"The security group '{group}' does not exist"):
        shown(desk, group)


def test_groups_are_found_by_what_their_rules_say(desk, vpc, group):
    allow(desk, group, tcp(80, IpRanges=[{"CidrIp": "10.7.0.0/16"}]))

    def found(name, value):
        wanted = [{"Name": name, "Values": [value]}, {"Name": "vpc-id", "Values": [vpc]}]
        return [each["GroupId"] for each in desk("DescribeSecurityGroups", Filters=wanted)["SecurityGroups"]]

    assert found("ip-permission.cidr", "10.7.0.0/16") == [group]
    assert found("ip-permission.from-port", "80") == [group]
    assert found("ip-permission.protocol", "udp") == []
    assert group in found("egress.ip-permission.cidr", "0.0.0.0/0")
    assert found("group-name", "w?b") == [group]
    allow(desk, group, tcp(81, IpRanges=[], UserIdGroupPairs=[{"GroupName": "web"}]))
    assert found("ip-permission.group-name", "web") == [group]
    assert found("ip-permission.group-name", "default") != [group]


def test_a_security_group_quota_can_be_set(refused):
    desk = Desk(config=CloudConfig(quotas={"security-groups": 2}))
    desk("CreateSecurityGroup", GroupName="one", Description="d")
    with refused("SecurityGroupLimitExceeded"):
        desk("CreateSecurityGroup", GroupName="two", Description="d")
