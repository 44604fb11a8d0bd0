"""Reading one state document, good and bad."""

from __future__ import annotations

import json

import pytest

from saltform.errors import StateError
from saltform.tfstate import Head, Output, State, read

GOOD = {
    "version": 4,
    "terraform_version": "1.11.4",
    "serial": 7,
    "lineage": "abc",
    "outputs": {
        "id": {"value": "vpc-1", "type": "string"},
        "keys": {"value": ["a"], "type": ["list", "string"], "sensitive": True},
    },
    "resources": [
        {"mode": "managed", "type": "aws_vpc", "name": "main", "instances": [{}]},
        {"mode": "data", "type": "aws_ami", "name": "os", "instances": [{}]},
        {
            "module": 'module.net["a.b"]',
            "mode": "managed",
            "type": "aws_subnet",
            "name": "s",
            "instances": [{"index_key": 0}, {"index_key": 'x"y'}, {"index_key": 0, "deposed": "1"}],
        },
    ],
}


def document(**changes):
    return json.dumps({**GOOD, **changes}).encode()


def test_everything_that_is_asked_of_a_state():
    state = read(document())
    assert (state.serial, state.lineage, state.terraform_version) == (7, "abc", "1.11.4")
    assert state.head == Head(7, "abc")
    assert state.outputs == {
        "id": Output("vpc-1", False, "string"),
        "keys": Output(["a"], True, ["list", "string"]),
    }
    assert state.resources == [
        "aws_vpc.main",
        "data.aws_ami.os",
        'module.net["a.b"].aws_subnet.s[0]',
        'module.net["a.b"].aws_subnet.s["x\\"y"]',
    ]


def test_a_state_without_anything_in_it():
    state = read(document(outputs=None, resources=None))
    assert (state.outputs, state.resources) == ({}, [])


def test_a_value_does_not_show_in_a_representation():
    assert "vpc-1" not in repr(read(document()).outputs)


def test_a_file_is_read_by_its_path(tmp_path):
    (tmp_path / "s").write_bytes(document())
    assert read(tmp_path / "s").serial == 7


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(StateError, match=r"/s: No such file"):
        read(tmp_path / "s")


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "it is empty"),
        (b" \n", "it is empty"),
        (document()[:100], "it has 100 bytes"),
        (b"\xff\xfe\x00", "it has 3 bytes"),
        (b"[]", "found a list, expected an object"),
        (b"{}", "found the format version None, expected 4"),
        (document(version="four"), "found the format version 'four', expected 4"),
        (document(serial="x"), "not the shape of a state"),
        (document(outputs={"a": 1}), "not the shape of a state"),
        (document(outputs=["a"]), "not the shape of a state"),
        (document(resources=[{"instances": [{}]}]), "not the shape of a state"),
        (json.dumps({"version": 4}).encode(), "not the shape of a state: KeyError 'serial'"),
    ],
)
def test_what_is_malformed_says_why_and_not_to_delete_it(content, why):
    with pytest.raises(StateError, match="the state is malformed") as caught:
        read(content, "staging/net")
    assert f"staging/net: {why}" in caught.value.detail or why in caught.value.detail
    assert "don't delete it" in caught.value.fix


def test_a_newer_format_is_told_apart():
    with pytest.raises(StateError, match="newer than Saltform knows.*version 5, known is 4"):
        read(document(version=5))


def test_an_older_format_is_told_apart():
    with pytest.raises(StateError, match="before Terraform 0.12"):
        read(document(version=3))


def test_an_encrypted_state_is_told_apart():
    with pytest.raises(StateError, match="encrypted by OpenTofu"):
        read(json.dumps({"serial": 1, "lineage": "a", "meta": {}, "encrypted_data": "…"}).encode())


@pytest.mark.parametrize(
    ("address", "managed"),
    [
        ("aws_vpc.this", True),
        ("data.aws_ami.this", False),
        ("module.main.data.aws_ami.this", False),
        ('module.main.module.x["a.data.b[0]"].data.aws_ami.this', False),
        ("module.main.module.data.aws_vpc.this", True),
        ('module.main.module.x["a.data.b"].aws_vpc.this', True),
        ('module.main.aws_vpc.this["data.x"]', True),
        ("module.data[0].data.aws_ami.this", False),
    ],
)
def test_what_terraform_made_is_told_from_what_it_looked_up(address, managed):
    assert State(1, "l", "", {}, [address]).managed == ([address] if managed else [])


def test_a_deposed_half_without_a_new_one_is_still_there():
    resource = {"mode": "managed", "type": "t", "name": "n"}
    both = [{"index_key": 0}, {"index_key": 0, "deposed": "a1"}, {"index_key": 1, "deposed": "b2"}]
    document = {"version": 4, "serial": 1, "lineage": "l", "resources": [{**resource, "instances": both}]}
    assert read(json.dumps(document).encode()).resources == ["t.n[0]", "t.n[1]"]
