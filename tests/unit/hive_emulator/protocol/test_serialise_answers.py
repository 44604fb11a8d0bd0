"""What an answer looks like, beyond what botocore reads from it."""

from __future__ import annotations

from hive_emulator.protocol.model import operation
from hive_emulator.protocol.serialise import error_document
from hive_emulator.store.state import Record


def written(action: str, answer: dict) -> str:
    return operation("ec2", action).write(answer)


def test_an_empty_list_is_an_empty_container() -> None:
    assert written("DescribeVpcs", {"Vpcs": []}) == "<vpcSet></vpcSet>"


def test_an_empty_enum_and_none_are_left_out() -> None:
    answer = {"Vpc": {"State": "", "InstanceTenancy": None, "VpcId": ""}}
    assert written("CreateVpc", answer) == "<vpc><vpcId></vpcId></vpc>"


def test_what_the_shape_does_not_have_stays_inside() -> None:
    assert written("CreateVpc", {"Vpc": {"VpcId": "v", "_secret": "x", "Nonsense": 1}}) == (
        "<vpc><vpcId>v</vpcId></vpc>"
    )


def test_a_stored_record_is_written_once_and_its_replacement_anew() -> None:
    record = Record({"VpcId": "v"})
    assert "<vpcId>v</vpcId>" in written("DescribeVpcs", {"Vpcs": [record]})
    kept = record.xml
    assert "<vpcId>v</vpcId>" in written("DescribeVpcs", {"Vpcs": [record]})
    assert record.xml is kept
    assert "<vpcId>w</vpcId>" in written("DescribeVpcs", {"Vpcs": [Record({"VpcId": "w"})]})


def test_one_record_under_two_shapes_is_written_by_each() -> None:
    record = Record({"VpcId": "v", "GroupId": "g", "GroupName": "n"})
    assert "<groupName>n</groupName>" in written("DescribeSecurityGroups", {"SecurityGroups": [record]})
    assert "groupName" not in written("DescribeVpcs", {"Vpcs": [record]})
    assert "<groupName>n</groupName>" in written("DescribeSecurityGroups", {"SecurityGroups": [record]})


def test_characters_that_xml_can_not_carry_are_replaced() -> None:
    assert written("CreateVpc", {"Vpc": {"VpcId": "a\x00b\x1fc\ud800"}}) == "<vpc><vpcId>a�b�c�</vpcId></vpc>"


def test_an_ec2_error_has_the_root_that_old_go_clients_read() -> None:
    assert error_document("ec2", "A.B", "x < y", "id") == (
        '<?xml version="1.0" encoding="UTF-8"?>\n<Response><Errors><Error><Code>A.B</Code>'
        "<Message>x &lt; y</Message></Error></Errors><RequestID>id</RequestID></Response>"
    )


def test_an_sts_error_says_who_is_to_blame() -> None:
    assert "<ErrorResponse><Error><Type>Sender</Type><Code>A</Code>" in error_document("query", "A", "m", "id")
