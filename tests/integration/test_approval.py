"""Approval and roles through salt-api: everybody is who Salt says they are, and may do what their role has."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.test_salt_api import ask, ask_as_form
from tests.support.cluster import HOME, Cluster


def as_(cluster: Cluster, who: str, verb: str, **given: Any) -> Any:
    """A verb of the runner as one user; what is given goes as keywords, so that nothing is dropped on the way."""
    return ask(cluster, username=who, client="runner", fun=f"infrastructure.{verb}", kwarg=given)


@pytest.fixture(scope="module")
def waiting(api: Cluster) -> str:
    """A run of dora that waits for ann or abe. Strings, as from a form."""
    fields = {"client": "runner", "fun": "infrastructure.deploy", "environment": "guarded", "username": "dora"}
    returned = ask_as_form(api, **fields, parallelism="2", refresh="False")
    assert (returned["retcode"], returned["success"]) == (3, False), returned
    assert returned["steps"]["base"]["status"] == "awaiting approval"
    assert returned["steps"]["app"]["status"] == "deferred"
    return str(returned["run"])


FORGERIES: list[dict[str, Any]] = [
    {},
    {"__pub_user": "ann", "__user__": "ann", "__pub_arg": ["ann"], "__pub_jid": "7", "__jid__": "7"},
    {"user": "ann"},
    {"author": "ann"},
    {"origin": "shell"},
]


def test_whoever_asked_does_not_approve_whatever_they_say_they_are(api: Cluster, waiting: str) -> None:
    for forged in FORGERIES:
        refused = as_(api, "dora", "approve", run=waiting, **forged)
        assert refused["retcode"] == 1, refused
        assert refused["error"]["type"] == "NotAllowed" or refused["error"]["summary"].startswith("bad argument")
    assert as_(api, "ann", "approvals", environment="guarded")["requests"][0]["approved_by"] == []


STRANGERS = [
    ("vic", "approve"),
    ("alice", "approve"),  # an admin, but not among those whom the environment names
    ("root", "approve"),  # over the API: at the master's shell it could
    ("vic", "resume"),
    ("ann", "abandon"),
]


def test_a_run_is_decided_by_those_who_may_and_by_nobody_else(api: Cluster, waiting: str) -> None:
    for who, verb in STRANGERS:
        refused = as_(api, who, verb, run=waiting)
        assert (refused["retcode"], refused["error"]["type"]) == (1, "NotAllowed"), refused


def test_a_role_may_what_it_is_for(api: Cluster) -> None:
    assert as_(api, "vic", "status", environment="guarded")["retcode"] == 0
    assert as_(api, "vic", "plan", environment="guarded")["error"]["type"] == "NotAllowed"
    assert as_(api, "vic", "status", environment="staging")["error"]["type"] == "NotAllowed"
    assert as_(api, "vic", "history")["error"]["type"] == "NotAllowed"
    assert as_(api, "paul", "deploy", environment="guarded")["error"]["type"] == "NotAllowed"
    assert as_(api, "paul", "deploy", environment="guarded", dry_run="True")["retcode"] == 2
    assert as_(api, "dora", "unlock", environment="guarded", component="base", reason="x")["retcode"] == 1
    assert as_(api, "dora", "deploy", environment="staging")["error"]["type"] == "NotAllowed"


def test_a_minion_asks_for_no_more_than_whoever_sent_the_job(api: Cluster) -> None:
    def sent(who: str, function: str, *more: str) -> Any:
        low = {"client": "local", "tgt": HOME, "fun": function, "arg": ["guarded/base", *more]}
        (returned,) = ask(api, username=who, **low).values()
        return returned

    assert "vic may not apply in guarded" in sent("vic", "terraform.apply")
    assert sent("vic", "terraform.output") == {}
    assert "dora may not taint in guarded" in sent("dora", "terraform.taint", "terraform_data.this")


def test_a_minion_never_approves_though_salt_calls_it_root(api: Cluster, waiting: str) -> None:
    asked = api.call("publish.runner", "infrastructure.approve", waiting).tree["local"]
    assert asked["error"]["type"] == "NotAllowed", asked
    assert f"minion {HOME} may not approve" in asked["error"]["summary"]


def test_one_who_may_approves_and_the_run_goes_on(api: Cluster, waiting: str) -> None:
    assert as_(api, "ann", "approve", run=waiting, comment="fine")["retcode"] == 0
    done = as_(api, "dora", "resume", run=waiting)
    assert (done["retcode"], done["steps"]["app"]["approved_by"]) == (0, ["ann"]), done
    assert done["outputs"]["base"]["name"] == "base"
    audit = as_(api, "vic", "audit", environment="guarded", verify="True")
    assert audit["problems"] == []
    ours = [item for item in audit["entries"] if item["run"] == waiting]
    assert [item["author"] for item in ours if item["action"] == "approve"] == ["ann"]
    assert {item["origin"] for item in ours} == {"master"}
    assert api.runner("deploy", "guarded").exit_code == 0
    assert as_(api, "vic", "audit", environment="guarded")["entries"][-1]["origin"] == "shell"
