"""How parameters are read, and how what can't be read is refused: always with a code and the parameter's name."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest

from hive_emulator.errors import ApiError
from hive_emulator.protocol import parse
from hive_emulator.protocol.model import operation


def read(action: str, body: str | bytes, service: str = "ec2") -> dict[str, Any]:
    raw = body.encode() if isinstance(body, str) else body
    return operation(service, action).parse(parse.fields(raw))


def refused(action: str, body: str | bytes) -> tuple[str, str]:
    with pytest.raises(ApiError) as caught:
        read(action, body)
    assert caught.value.status == 400
    return caught.value.code, caught.value.message


def test_lists_are_numbered_from_one() -> None:
    assert read("DescribeVpcs", "VpcId.1=a&VpcId.2=b") == {"VpcIds": ["a", "b"]}


def test_lists_may_be_written_with_member() -> None:
    assert read("DescribeVpcs", "VpcId.member.1=a&VpcId.member.2=b") == {"VpcIds": ["a", "b"]}


def test_a_list_stops_at_the_first_gap() -> None:
    assert read("DescribeVpcs", "VpcId.1=a&VpcId.3=c") == {"VpcIds": ["a"]}
    assert read("DescribeVpcs", "VpcId.2=b") == {}


def test_entries_are_in_the_order_of_their_numbers() -> None:
    numbers = list(range(12, 0, -1))
    body = "&".join(f"VpcId.{n}=v{n}" for n in numbers)
    assert read("DescribeVpcs", body) == {"VpcIds": [f"v{n}" for n in range(1, 13)]}


def test_1024_entries_are_the_most() -> None:
    body = "&".join(f"VpcId.{n}=v" for n in range(1, 1025))
    assert len(read("DescribeVpcs", body)["VpcIds"]) == 1024
    assert refused("DescribeVpcs", body + "&VpcId.1025=v") == (
        "MalformedQueryString",
        "The list VpcId has more than 1,024 entries",
    )


@pytest.mark.parametrize("index", ["0", "01", "-1", "x", "1x", "99999999", ""])
def test_an_index_that_is_no_number_is_named(index: str) -> None:
    assert refused("DescribeVpcs", f"VpcId.{index}=v") == (
        "UnknownParameter",
        f"The parameter VpcId.{index} is not recognized",
    )


def test_empty_values_count_as_absent() -> None:
    body = "MinCount=1&MaxCount=1&Placement.AvailabilityZone=&IamInstanceProfile.Name=&KeyName="
    assert read("RunInstances", body) == {"MinCount": 1, "MaxCount": 1}


def test_a_tags_value_may_be_empty_which_is_another_thing_than_any_value() -> None:
    asked = {"Resources": ["vpc-1"], "Tags": [{"Key": "k", "Value": ""}, {"Key": "l"}]}
    assert read("DeleteTags", "ResourceId.1=vpc-1&Tag.1.Key=k&Tag.1.Value=&Tag.2.Key=l") == asked


def test_an_empty_entry_of_a_list_keeps_its_place() -> None:
    assert read("DescribeVpcs", "VpcId.1=") == {"VpcIds": [""]}
    assert read("DescribeVpcs", "Filter.1.Name=&Filter.2.Name=x") == {"Filters": [{}, {"Name": "x"}]}


def test_the_same_names_are_read_anew_each_time() -> None:
    first = read("DescribeVpcs", "VpcId.1=a&Filter.1.Name=x")
    first["VpcIds"].append("spoilt")
    assert read("DescribeVpcs", "VpcId.1=&Filter.1.Name=") == {"VpcIds": [""], "Filters": [{}]}
    assert read("DescribeVpcs", "VpcId.1=b&Filter.1.Name=y") == {"VpcIds": ["b"], "Filters": [{"Name": "y"}]}


def test_what_the_same_names_lack_depends_on_their_values() -> None:
    assert read("DeleteVpc", "VpcId=v") == {"VpcId": "v"}
    assert refused("DeleteVpc", "VpcId=")[0] == "MissingParameter"


def test_an_unknown_parameter_names_itself() -> None:
    assert refused("CreateVpc", "CidrBlock=10.0.0.0/16&Colour=red") == (
        "UnknownParameter",
        "The parameter Colour is not recognized",
    )
    assert refused("DescribeVpcs", "Filter.1.Name=a&Filter.1.Valeu.1=b")[1] == (
        "The parameter Filter.1.Valeu is not recognized"
    )
    assert refused("DescribeVpcs", ".DryRun=true")[1] == "The parameter .DryRun is not recognized"


def test_what_has_no_name_is_no_parameter() -> None:
    assert read("DescribeVpcs", "&&VpcId.1=a&&=x&=y") == {"VpcIds": ["a"]}


def test_a_missing_parameter_is_named_as_the_client_writes_it() -> None:
    assert refused("DeleteVpc", "") == ("MissingParameter", "The request must contain the parameter VpcId")
    assert refused("RunInstances", "MinCount=1")[1] == "The request must contain the parameter MaxCount"


@pytest.mark.parametrize(
    ("action", "body", "expected"),
    [
        (
            "RunInstances",
            "MinCount=one&MaxCount=1",
            "Value (one) for parameter MinCount is invalid. Expected a whole",
        ),
        ("RunInstances", "MinCount=1.5&MaxCount=1", "Value (1.5) for parameter MinCount"),
        ("RunInstances", "MinCount=99999999999&MaxCount=1", "at most 32 bits"),
        ("RunInstances", f"MinCount={'9' * 5000}&MaxCount=1", "…) for parameter MinCount"),
        ("RunInstances", "MinCount=1&MaxCount=1&EbsOptimized=maybe", "Expected true or false."),
        ("RunInstances", "MinCount=%D9%A1&MaxCount=1", "for parameter MinCount"),  # an Arabic digit one
        ("ImportKeyPair", "KeyName=k&PublicKeyMaterial=%%%25", None),
        ("ImportKeyPair", "KeyName=k&PublicKeyMaterial=***", "Expected base64."),
        ("CreateVpc", "InstanceTenancy=lunar", "Valid values are: default, dedicated, host."),
        ("CreateVpc", "CidrBlock=%00", "characters that can't be used"),
    ],
)
def test_a_value_of_the_wrong_type_is_refused_by_name(action: str, body: str, expected: str | None) -> None:
    code, message = refused(action, body)
    if expected is None:
        assert code == "MalformedQueryString"
    else:
        assert code == "InvalidParameterValue"
        assert expected in message


def test_times_are_read_as_utc() -> None:
    when = datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone.utc)
    for text in ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05", "2026-01-02T04:04:05%2B01:00"):
        read_time = parse._scalar({"type": "timestamp"}, "timestamp", parse.fields(f"t={text}".encode())["t"], "t")
        assert read_time == when


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"A=%zz", "two hexadecimal digits"),
        (b"A=%E4", "not valid UTF-8"),
        (b"A=\xff", "not valid UTF-8"),
        (b"A=1&A=2", "given twice"),
        (b"A=1&A.B=2", "both a value and members"),
        (b"A.B=2&A=1", "both a value and members"),
        (b"x" * 2000 + b"=1", "longer than 256 characters"),
        (b".".join([b"x"] * 21) + b"=1", "more than 20 parts"),
        (b"a=" + b"x" * 1024 * 1024, "longer than 1,048,576 bytes"),
        (b"a=" + b"%41" * 65_537, "more than 65,536 characters"),
        (b"&".join(b"a%d=1" % n for n in range(10_001)), "more than 10,000 parameters"),
    ],
)
def test_what_is_no_query_string_is_malformed(body: bytes, words: str) -> None:
    code, message = refused("DescribeVpcs", body)
    assert code == "MalformedQueryString"
    assert words in message


@pytest.mark.parametrize(
    ("action", "body"),
    [
        ("RunInstances", "MinCount=1&MaxCount=1&Placement=here"),
        ("DescribeVpcs", "VpcId=vpc-1"),
        ("DescribeVpcs", "Filter.1=x"),
        ("DescribeVpcs", "Filter.1="),
    ],
)
def test_a_value_where_members_belong_is_malformed(action: str, body: str) -> None:
    assert refused(action, body)[0] == "MalformedQueryString"


def test_members_where_a_value_belongs_are_unknown() -> None:
    assert refused("CreateVpc", "CidrBlock.Size=1") == (
        "UnknownParameter",
        "The parameter CidrBlock.Size is not recognized",
    )
