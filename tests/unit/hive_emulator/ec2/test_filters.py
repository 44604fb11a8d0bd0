from __future__ import annotations

import fnmatch
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_emulator.ec2 import filters
from hive_emulator.errors import ApiError

TABLE = {"name": filters.Path("Name"), "port": filters.Path("Rules.Port"), "on": filters.Path("On")}
RECORDS = [
    {
        "Name": "web-1",
        "Rules": [{"Port": 80}, {"Port": 443}],
        "On": True,
        "Tags": [{"Key": "Tier", "Value": "front"}],
    },
    {"Name": "web-2", "Rules": [{"Port": 22}], "On": False, "Tags": [{"Key": "Tier", "Value": ""}]},
    {"Name": "a*b", "Rules": [], "Tags": []},
]


def names(*wanted):
    chosen = filters.apply(RECORDS, [{"Name": name, "Values": values} for name, values in wanted], TABLE)
    return [record["Name"] for record in chosen]


def test_values_of_one_filter_are_alternatives_and_filters_add_up():
    assert names(("name", ["web-1", "web-2"])) == ["web-1", "web-2"]
    assert names(("name", ["web-1", "web-2"]), ("port", ["22"])) == ["web-2"]


def test_a_path_walks_through_lists_and_a_number_is_matched_by_its_digits():
    assert names(("port", ["443"])) == ["web-1"]


def test_booleans_are_true_and_false_in_small_letters():
    assert names(("on", ["true"])) == ["web-1"]
    assert names(("on", ["false"])) == ["web-2"]
    assert names(("on", ["True"])) == []


def test_star_and_question_mark_are_wildcards_and_a_backslash_takes_them_literally():
    assert names(("name", ["web-?"])) == ["web-1", "web-2"]
    assert names(("name", ["*"])) == ["web-1", "web-2", "a*b"]
    assert names(("name", [r"a\*b"])) == ["a*b"]
    assert names(("name", [r"web\-1"])) == ["web-1"]


def test_tags_match_by_key_and_value_by_key_and_by_value():
    assert names(("tag:Tier", ["front"])) == ["web-1"]
    assert names(("tag:Tier", [""])) == ["web-2"]
    assert names(("tag:tier", ["*"])) == []
    assert names(("tag-key", ["Tie*"])) == ["web-1", "web-2"]
    assert names(("tag-value", ["front"])) == ["web-1"]


def test_an_unknown_filter_names_itself():
    with pytest.raises(ApiError) as caught:
        names(("colour", ["red"]))
    assert (caught.value.code, caught.value.message) == ("InvalidParameterValue", "The filter 'colour' is invalid")


@pytest.mark.parametrize(
    ("given_filter", "code"),
    [
        ({"Values": ["x"]}, "MissingParameter"),
        ({"Name": "name"}, "InvalidParameterValue"),
        ({"Name": "name", "Values": ["x"] * 201}, "FilterLimitExceeded"),
        ({"Name": "name", "Values": ["x" * 1001]}, "InvalidParameterValue"),
        ({"Name": "name", "Values": ["x" * 1000] * 66}, "FilterLimitExceeded"),
    ],
)
def test_a_filter_without_a_name_or_values_or_with_too_many_is_refused(given_filter, code):
    with pytest.raises(ApiError) as caught:
        filters.apply(RECORDS, [given_filter], TABLE)
    assert caught.value.code == code


def test_more_filters_than_fifty_are_refused():
    with pytest.raises(ApiError) as caught:
        names(*[("name", ["*"])] * 51)
    assert caught.value.code == "FilterLimitExceeded"


def test_many_wildcards_cost_no_more_than_their_length():
    text, pattern = "a" * 5000, "*a" * 200 + "*b"
    started = time.monotonic()
    assert filters.apply([{"Name": text}], [{"Name": "name", "Values": [pattern]}], TABLE) == []
    assert filters.apply([{"Name": text + "b"}], [{"Name": "name", "Values": [pattern]}], TABLE)
    assert time.monotonic() - started < 60  # one that goes back and tries again would take years


@given(st.text(alphabet="ab*?.[]()+^$|\n", max_size=8), st.text(alphabet="ab.[]()+^$|\n", max_size=8))
def test_only_star_and_question_mark_mean_something(pattern, text):
    # fnmatch has the same two wildcards once its square brackets are made literal.
    expected = fnmatch.fnmatchcase(text, pattern.replace("[", "[[]"))
    found = filters.apply([{"Name": text}], [{"Name": "name", "Values": [pattern]}], TABLE) if pattern else []
    assert bool(found) is (expected if pattern else False)
