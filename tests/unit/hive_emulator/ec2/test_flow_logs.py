"""Flow logs: of each kind of resource, to each kind of destination, and gone with what they log."""

from __future__ import annotations

import pytest

BUCKET = {"LogDestinationType": "s3", "LogDestination": "arn:aws:s3:::logs/vpc"}
ROLE = "arn:aws:iam::000000000001:role/logs"


def make(desk, resource, kind="VPC", **more):
    wanted = {"ResourceIds": [resource], "ResourceType": kind, "TrafficType": "ALL", **(more or BUCKET)}
    return desk("CreateFlowLogs", **wanted)


def shown(desk, **params):
    return desk("DescribeFlowLogs", **params)["FlowLogs"]


def test_a_log_to_a_bucket_has_its_defaults(desk, vpc):
    [made] = make(desk, vpc)["FlowLogIds"]
    [one] = shown(desk, FlowLogIds=[made, "fl-12345678"])
    assert (one["ResourceId"], one["FlowLogStatus"], one["MaxAggregationInterval"]) == (vpc, "ACTIVE", 600)
    assert one["LogFormat"].startswith("${version} ")
    [again] = make(desk, vpc)["Unsuccessful"]
    assert again["Error"]["Code"] == "FlowLogAlreadyExists"
    assert desk("DeleteFlowLogs", FlowLogIds=[made])["Unsuccessful"] == []
    [gone] = desk("DeleteFlowLogs", FlowLogIds=[made])["Unsuccessful"]
    assert gone["Error"]["Code"] == "InvalidFlowLogId.NotFound"


def test_a_log_group_is_named_or_given_as_an_arn(desk, vpc, subnet):
    make(desk, vpc, LogGroupName="flows", DeliverLogsPermissionArn=ROLE)
    arn = "arn:aws:logs:ap-southeast-2:000000000001:log-group:flows:*"
    make(desk, subnet, "Subnet", LogDestination=arn, DeliverLogsPermissionArn=ROLE)
    assert [each["LogGroupName"] for each in shown(desk)] == ["flows", "flows"]
    assert len(shown(desk, Filter=[{"Name": "resource-id", "Values": [subnet]}])) == 1


@pytest.mark.parametrize(
    ("params", "word"),
    [
        ({"LogGroupName": "flows"}, "DeliverLogsPermissionArn"),
        ({"DeliverLogsPermissionArn": ROLE}, "LogDestination"),
        ({"LogDestinationType": "s3", "LogDestination": "logs"}, "LogDestination"),
        ({**BUCKET, "LogGroupName": "flows"}, "only provide"),
        ({**BUCKET, "DeliverLogsPermissionArn": ROLE}, "s3"),
        ({"LogGroupName": "flows", "DeliverLogsPermissionArn": "me"}, "DeliverLogsPermissionArn"),
    ],
)
def test_a_destination_that_cannot_be_is_refused(desk, vpc, refused, params, word):
    with refused("InvalidParameter", word):
        make(desk, vpc, **params)


def test_figures_and_resources_that_cannot_be_are_refused(desk, vpc, refused):
    with refused("InvalidParameterValue", "60 or 600"):
        make(desk, vpc, **BUCKET, MaxAggregationInterval=61)
    [failed] = make(desk, "vpc-12345678")["Unsuccessful"]
    assert failed["Error"]["Code"] == "InvalidVpcID.NotFound"


def test_logs_go_with_what_they_log(desk, vpc, subnet):
    interface = desk("CreateNetworkInterface", SubnetId=subnet)["NetworkInterface"]["NetworkInterfaceId"]
    for resource, kind in ((vpc, "VPC"), (subnet, "Subnet"), (interface, "NetworkInterface")):
        make(desk, resource, kind)
    desk("DeleteNetworkInterface", NetworkInterfaceId=interface)
    desk("DeleteSubnet", SubnetId=subnet)
    assert [each["ResourceId"] for each in shown(desk)] == [vpc]
    desk("DeleteVpc", VpcId=vpc)
    assert shown(desk) == []
