from __future__ import annotations

import base64

import pytest

from hive_emulator.ec2 import paging
from hive_emulator.errors import ApiError

RECORDS = [{"Id": f"r-{number}"} for number in range(12)]


def shown(answer):
    return [record["Id"] for record in answer["Rs"]]


def pages(records, size):
    token, found = {}, []
    while True:
        answer = paging.page("Rs", records, {"MaxResults": size, **token}, "Id")
        found.append(shown(answer))
        if "NextToken" not in answer:
            return found
        token = {"NextToken": answer["NextToken"]}


def test_without_max_results_everything_comes_at_once():
    assert paging.page("Rs", RECORDS, {}, "Id") == {"Rs": RECORDS}


def test_pages_have_every_record_once_and_the_last_has_no_token():
    found = pages(RECORDS, 5)
    assert [len(page) for page in found] == [5, 5, 2]
    assert sum(found, []) == [record["Id"] for record in RECORDS]


def test_a_last_page_that_is_just_full_has_no_token():
    assert [len(page) for page in pages(RECORDS[:10], 5)] == [5, 5]


def test_reading_goes_on_after_the_last_record_when_others_came_or_went():
    first = paging.page("Rs", RECORDS, {"MaxResults": 5}, "Id")
    fewer = RECORDS[2:]
    second = paging.page("Rs", fewer, {"MaxResults": 5, "NextToken": first["NextToken"]}, "Id")
    assert shown(second)[0] == "r-5"


def test_reading_goes_on_by_count_when_the_last_record_is_gone():
    first = paging.page("Rs", RECORDS, {"MaxResults": 5}, "Id")
    left = [record for record in RECORDS if record["Id"] != "r-4"]
    second = paging.page("Rs", left, {"MaxResults": 5, "NextToken": first["NextToken"]}, "Id")
    assert shown(second)[0] == "r-6"


@pytest.mark.parametrize("size", [4, 0, -1, 1001])
def test_a_page_size_out_of_range_is_refused(size):
    with pytest.raises(ApiError, match="InvalidParameterValue.*maxResults"):
        paging.page("Rs", RECORDS, {"MaxResults": size}, "Id")


@pytest.mark.parametrize(
    "token",
    ["x", "é", "W10=", base64.b64encode(b"[1]").decode(), base64.b64encode(b'["Rs",-1,"a"]').decode(),
     base64.b64encode(b'["Rs",true,"a"]').decode(), base64.b64encode(b"{}").decode(),
     base64.b64encode(b"\xff").decode()],
)  # fmt: skip
def test_a_made_up_token_is_refused(token):
    with pytest.raises(ApiError) as caught:
        paging.page("Rs", RECORDS, {"NextToken": token}, "Id")
    assert caught.value.code == "InvalidNextToken"


def test_a_token_of_another_call_is_refused():
    other = paging.page("Others", RECORDS, {"MaxResults": 5}, "Id")
    with pytest.raises(ApiError) as caught:
        paging.page("Rs", RECORDS, {"MaxResults": 5, "NextToken": other["NextToken"]}, "Id")
    assert caught.value.code == "InvalidNextToken"


@pytest.mark.parametrize(
    ("action", "member"),
    [
        ("DescribeInstances", "InstanceIds"),
        ("DescribeInstanceStatus", "InstanceIds"),
        ("DescribeInstanceCreditSpecifications", "InstanceIds"),
        ("DescribeNetworkInterfaces", "NetworkInterfaceIds"),
    ],
)
def test_some_calls_take_either_ids_or_pages(desk, refused, action, member):
    with refused("InvalidParameterCombination", member):
        desk(action, **{member: ["x-1"], "MaxResults": 5})
