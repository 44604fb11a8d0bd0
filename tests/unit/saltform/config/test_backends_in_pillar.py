"""`backend:` in pillar: one state for each component, nothing secret in it, and each mistake with its way out."""

from __future__ import annotations

import itertools
import json

import pytest

from saltform.config.backends import KINDS, block, decode, encode, lacks_lock, located, place
from saltform.config.load import load
from saltform.config.types import Backend, CredentialSource
from saltform.errors import ConfigError

S3 = {"type": "s3", "bucket": "states", "region": "eu-central-1"}


def components(defaults=None, environment=None, own=None):
    tree = {
        "defaults": {"backend": defaults} if defaults else {},
        "environments": {
            "staging": {
                **({"backend": environment} if environment else {}),
                "components": {"net": {"module": "m", **({"backend": own} if own else {})}, "app": {"module": "m"}},
            }
        },
    }
    return load({"infrastructure": tree}).environments["staging"].components


def problems(backend):
    with pytest.raises(ConfigError) as caught:
        components(own=backend)
    return [str(problem) for problem in caught.value.problems]


def test_the_nearest_one_counts_and_each_component_has_a_state_of_its_own():
    assert components()["net"].backend == Backend("local", {})
    found = components(defaults=S3, own={"type": "pg", "conn_str": "postgres://db/states"})
    assert found["net"].backend.settings == {"conn_str": "postgres://db/states", "schema_name": "staging.net"}
    assert found["app"].backend.settings["key"] == "staging/app/terraform.tfstate"
    found = components(defaults=S3, environment={**S3, "bucket": "other", "key": "tf/{component}@{environment}"})
    assert found["net"].backend.settings["key"] == "tf/net@staging"
    assert found["net"].backend.settings["bucket"] == "other"


@pytest.mark.parametrize(
    ("backend", "said"),
    [
        ({"type": "s4"}, "s3"),
        ({"type": "s3", "region": "x"}, "backend:bucket"),
        ({**S3, "bukcet": "x"}, "bucket"),
        ({**S3, "secret_key": "hunter2hunter2"}, "AWS_SECRET_ACCESS_KEY"),
        ({**S3, "key": "one/state/for/all"}, "{environment}/{component}/terraform.tfstate"),
        ({"type": "pg", "conn_str": "postgres://me:hunter2hunter2@db/states"}, "no password"),
        ({"type": "pg", "conn_str": "host=db password=hunter2hunter2"}, "no password"),
        ({"type": "http", "address": "https://states/all"}, "{environment}/{component}"),
        ({"type": "http", "address": "https://s/{environment}/{component}", "password": "hunter2hunter2"}, "TF_HTTP"),
        ({"type": "local", "credentials": {"environment": "X"}}, "a file of this master"),
        ({**S3, "credentials": {"vautl": "x"}}, "vault"),
    ],
)
def test_a_mistake_is_said_with_its_way_out_and_without_its_secret(backend, said):
    found = problems(backend)
    assert any(said in text for text in found), found
    assert "hunter2" not in str(found)


def test_no_two_components_share_a_schema_and_none_is_too_long():
    names = ["a", "a_b", "b", "a-b", "b_c", "x" * 64, "x" * 63 + "y"]
    for kind, setting in (("pg", "schema_name"), ("kubernetes", "secret_suffix")):
        made = [located(Backend(kind), *pair).settings[setting] for pair in itertools.product(names, names)]
        assert len(set(made)) == len(made)
        assert max(map(len, made)) <= 63


def test_s3_is_locked_by_a_file_where_the_binary_can_and_finds_what_was_lent():
    source = (CredentialSource("environment", {"path": "X"}),)
    backend = Backend("s3", {"bucket": "b", "region": "r", "key": "k"}, source)
    assert block(backend, "1.11.4") == {
        "bucket": "b",
        "region": "r",
        "key": "k",
        "use_lockfile": True,
        "profile": "saltform-backend",
    }
    assert "use_lockfile" not in block(backend, "1.9.8")
    assert "profile" not in block(Backend("s3", backend.settings), "1.11.4")
    assert "use_lockfile" not in block(Backend("s3", {"dynamodb_table": "locks"}), "1.11.4")
    assert block(Backend("s3", {"use_lockfile": False}), "1.11.4") == {"use_lockfile": False}


def test_an_endpoint_that_isnt_aws_is_not_asked_for_accounts():
    made = block(Backend("s3", {"endpoint": "http://s3", "use_path_style": False}), "1.11.4")
    assert made["endpoints"] == {"s3": "http://s3"}
    assert made["skip_requesting_account_id"] is True
    assert made["use_path_style"] is False


def test_the_record_holds_what_it_takes_to_reach_the_state_again():
    backend = components(own={**S3, "credentials": {"vault": {"path": "secret/states"}}})["net"].backend
    assert decode(encode(backend)) == backend
    assert decode("") == Backend()
    assert encode(Backend()) == ""
    assert json.loads(encode(backend))[0] == "s3"


def test_a_place_is_what_tells_two_states_apart():
    one = Backend("s3", {"bucket": "b", "region": "r", "key": "k"})
    assert place(one) == "s3 bucket=b key=k"
    assert place(one) == place(Backend("s3", {"bucket": "b", "region": "r", "key": "k", "encrypt": True}))
    assert place(one) != place(Backend("s3", {"bucket": "b", "region": "r", "key": "other"}))
    assert place(Backend()) == "local"


def test_every_kind_names_the_state_of_a_component():
    for name, kind in KINDS.items():
        assert name == "local" or kind.named
        assert not kind.takes & set(kind.lent or ())


@pytest.mark.parametrize(
    ("type_", "settings", "missing"),
    [
        ("http", {"address": "https://x"}, "lock_address and unlock_address"),
        ("http", {"address": "https://x", "lock_address": "https://x"}, ""),
        ("s3", {}, ""),
        ("s3", {"use_lockfile": False}, "use_lockfile: true"),
        ("s3", {"use_lockfile": False, "dynamodb_table": "locks"}, ""),
        ("consul", {"lock": False}, "lock: true"),
        ("pg", {}, ""),
        ("gcs", {}, ""),
    ],
)
def test_a_backend_without_a_lock_of_its_own_is_known(type_, settings, missing):
    assert lacks_lock(Backend(type_, settings)) == missing
