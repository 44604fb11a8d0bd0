from __future__ import annotations

import pytest

from hive_emulator.ec2 import tagging
from hive_emulator.errors import ApiError


def spec(*tags, kind="vpc"):
    return {"TagSpecifications": [{"ResourceType": kind, "Tags": list(tags)}]}


def test_tags_of_the_wanted_type_are_taken_and_an_absent_value_is_empty():
    params = spec({"Key": "Name", "Value": "one"}, {"Key": "Bare"})
    assert tagging.on_create(params, "vpc") == [{"Key": "Name", "Value": "one"}, {"Key": "Bare", "Value": ""}]


def test_another_type_is_refused_unless_the_call_may_tag_it_too():
    params = spec({"Key": "Name"}, kind="volume")
    with pytest.raises(ApiError, match="'volume' is not a valid taggable resource type"):
        tagging.on_create(params, "instance")
    assert tagging.on_create(params, "instance", among=["volume"]) == []
    assert tagging.on_create(params, "volume", among=["instance"]) == [{"Key": "Name", "Value": ""}]


@pytest.mark.parametrize(
    ("tags", "code"),
    [
        ([{"Key": ""}], "InvalidParameterValue"),
        ([{"Key": "k" * 129}], "InvalidParameterValue"),
        ([{"Key": "k", "Value": "v" * 257}], "InvalidParameterValue"),
        ([{"Key": "aws:name"}], "InvalidParameterValue"),
        ([{"Key": "AWS:name"}], "InvalidParameterValue"),
        ([{"Key": "k", "Value": "1"}, {"Key": "k", "Value": "2"}], "InvalidParameterValue"),
        ([{"Key": str(number)} for number in range(51)], "TagLimitExceeded"),
    ],
)
def test_what_is_beyond_the_limits_is_refused(tags, code):
    with pytest.raises(ApiError) as caught:
        tagging.checked(tags)
    assert caught.value.code == code


def test_the_limits_themselves_are_allowed():
    tags = [{"Key": "k" * 128, "Value": "v" * 256}, *({"Key": str(number)} for number in range(49))]
    assert len(tagging.checked(tags)) == 50


def test_a_specification_without_tags_is_refused(desk, refused):
    with refused("InvalidParameterValue", "at least one tag"):
        desk("CreateVpc", CidrBlock="10.0.0.0/16", TagSpecifications=[{"ResourceType": "vpc"}])
