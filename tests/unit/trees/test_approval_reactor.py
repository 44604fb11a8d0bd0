"""The reactor that tells of approvals: what happened and the command, only our own events, only to a webhook."""

from __future__ import annotations

import json
from pathlib import Path

import jinja2
import pytest
import yaml

SLS = Path(__file__).resolve().parents[3] / "salt" / "reactor" / "approval.sls"
ASKED = {"what": "asked", "environment": "production", "run": "7", "author": "ada", "command": "approve 7"}
HOOK = {"saltform_notify": {"webhook": "https://chat.example.com/hook"}}


def reaction(data, opts=HOOK):
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined)
    environment.filters["json"] = json.dumps
    return yaml.safe_load(environment.from_string(SLS.read_text()).render(data=data, opts=opts))


def told(data):
    (options,) = reaction(data)["tell of approvals"]["runner.http.query"]
    given = {key: value for each in options["args"] for key, value in each.items()}
    return json.loads(given["data"])


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (ASKED, "run 7 of production: asked. approve 7"),
        (ASKED | {"what": "expiring", "by": ["@sre"]}, "run 7 of production: expiring. approve 7"),
        (
            {**ASKED, "what": "approved", "by": 'bo"b\n- x', "command": ""},
            'run 7 of production: approved by bo"b\n- x',
        ),
    ],
)
def test_people_are_told_what_happened_and_what_to_do(data, said):
    assert told(data)["text"] == said
    assert (told(data)["run"], told(data)["what"]) == ("7", data["what"])


@pytest.mark.parametrize(
    ("data", "opts"),
    [({"id": "web-1", "data": ASKED}, HOOK), (ASKED | {"id": "web-1"}, HOOK), (ASKED, {}), ({}, HOOK)],
    ids=["a minion's event", "a minion's id", "no setting", "nothing"],
)
def test_nothing_else_is_told(data, opts):
    assert reaction(data, opts) is None
