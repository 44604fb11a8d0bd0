"""The reactor that tells of drift: only on a change, only to a webhook that is set, never on a minion's word."""

from __future__ import annotations

import json
from pathlib import Path

import jinja2
import pytest
import yaml

SLS = Path(__file__).resolve().parents[3] / "salt" / "reactor" / "drift.sls"
EVENT = {
    "environment": "staging",
    "component": 'net"work\n- x',
    "status": "drifted",
    "was": "clean",
    "changed": True,
    "new": 2,
    "run": "20261116033000123456",
}
HOOK = {"saltform_notify": {"webhook": "https://chat.example.com/hook?a=b#c"}}


def reaction(data, opts=HOOK):
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined)
    environment.filters["json"] = json.dumps
    return yaml.safe_load(environment.from_string(SLS.read_text()).render(data=data, opts=opts))


def test_a_change_is_told_as_it_is_whatever_the_names_hold():
    ((function, options),) = reaction(EVENT)["tell of drift"].items()
    given = {key: value for item in options[0:1] for each in item["args"] for key, value in each.items()}
    assert function == "runner.http.query"
    assert (given["url"], given["method"]) == (HOOK["saltform_notify"]["webhook"], "POST")
    told = json.loads(given["data"])
    assert told["text"] == 'staging/net"work\n- x is drifted, was clean'
    assert {key: told[key] for key in ("status", "was", "new", "run")} == {
        key: EVENT[key] for key in ("status", "was", "new", "run")
    }


@pytest.mark.parametrize(
    ("data", "opts"),
    [
        (EVENT | {"changed": False}, HOOK),
        ({"id": "web-1", "tag": "saltform/drift/a/b", "data": EVENT}, HOOK),
        (EVENT | {"id": "web-1"}, HOOK),
        (EVENT, {}),
        (EVENT, {"saltform_notify": {}}),
    ],
    ids=["no change", "a minion's event", "a minion's id", "no setting", "no webhook"],
)
def test_nothing_else_is_told(data, opts):
    assert reaction(data, opts) is None
