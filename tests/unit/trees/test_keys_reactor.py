"""The reactor that lets minions in: only with a token, and with nothing of it but its digest."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import jinja2
import pytest
import yaml

ROOT = Path(__file__).resolve().parents[3]
EVENT = {
    "act": "pend",
    "result": True,
    "id": 'consul-1"\n- x',
    "pub": "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----",
    "autosign_grains": {"saltform_token": "a-one-time-token"},
}


def reaction(data):
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined)
    environment.filters["json"] = json.dumps
    environment.filters["sha256"] = lambda text: hashlib.sha256(text.encode()).hexdigest()
    text = (ROOT / "salt" / "reactor" / "keys.sls").read_text()
    return yaml.safe_load(environment.from_string(text).render(data=data, opts={}))


@pytest.mark.parametrize("act", ["pend", "denied"])
def test_a_token_is_handed_on_as_its_digest_with_id_and_key_as_they_are(act):
    ((function, options),) = reaction(EVENT | {"act": act})["accept the key of an instance"].items()
    given = {key: value for each in options[0]["args"] for key, value in each.items()}
    assert function == "runner.infrastructure.accept_key"
    assert (given["minion"], given["key"]) == (EVENT["id"], EVENT["pub"])
    assert given["digest"] == hashlib.sha256(b"a-one-time-token").hexdigest()
    assert "a-one-time-token" not in json.dumps(given)


@pytest.mark.parametrize(
    "data",
    [
        EVENT | {"act": "accept"},
        EVENT | {"act": "reject"},
        EVENT | {"autosign_grains": {}},
        EVENT | {"autosign_grains": None},
        EVENT | {"autosign_grains": {"saltform_token": {"a": "mapping"}}},
        {"id": "web-1", "tag": "salt/auth", "data": EVENT},
    ],
    ids=["accepted already", "rejected", "no token", "no grains", "no text", "a minion's event"],
)
def test_nothing_else_is_handed_on(data):
    assert reaction(data) is None


def test_the_masters_example_has_what_the_reactor_needs():
    example = yaml.safe_load((ROOT / "examples" / "master.d" / "saltform-keys.conf").read_text())
    assert example["auth_events_autosign_grains"] == ["pend", "denied"]
    assert example["reactor"] == [{"salt/auth": ["salt://reactor/keys.sls"]}]
