"""Leases across runs: what a dead run left on record is revoked by the next one, what a live one holds isn't."""

from __future__ import annotations

import contextlib

import pytest

from saltform.config import Settings
from saltform.engine import lending
from saltform.engine.services import Services
from saltform.runlog import RunRecord, flock
from saltform.verbs.deploy import deploy
from tests.support.openbao import dev_server

MODULE = 'variable "psk" { type = string }\nresource "terraform_data" "this" { triggers_replace = sha256(var.psk) }\n'


@pytest.fixture
def bao(tmp_path):
    with dev_server(tmp_path) as server:
        server.client().secrets.kv.v2.create_or_update_secret("psk", {"psk": "a-psk-of-the-test"})
        yield server


@pytest.fixture
def services(tmp_path, bao):
    (tmp_path / "modules" / "small").mkdir(parents=True)
    (tmp_path / "modules" / "small" / "main.tf").write_text(MODULE)
    component = {"module": "small", "secret_variables": {"psk": {"vault": {"path": "secret/psk"}}}}
    pillar = {
        "infrastructure": {
            "vault": {"address": bao.address, "auth": {"token": bao.root}},
            "environments": {"staging": {"components": {"tunnel": component}}},
        }
    }
    with contextlib.closing(Services(Settings(tmp_path / "state", (tmp_path / "modules",)), pillar)) as made:
        yield made


@pytest.fixture
def lease(bao):
    """A lease that can be looked up: of a token, the one thing that every server leases."""
    client = bao.client()
    client.sys.enable_auth_method("userpass")
    client.auth.userpass.create_or_update_user("somebody", "a-password-of-the-test")
    client.auth.userpass.login("somebody", "a-password-of-the-test", use_token=False)
    [key] = client.list("sys/leases/lookup/auth/userpass/login/somebody")["data"]["keys"]
    return f"auth/userpass/login/somebody/{key}"


def exists(bao, lease):
    listed = bao.client().list(f"sys/leases/lookup/{lease.rpartition('/')[0]}")
    return listed is not None and lease.rpartition("/")[2] in listed["data"]["keys"]


def test_the_lease_of_a_dead_run_is_revoked_and_off_the_record(services, bao, lease):
    services.runlog.begin(RunRecord(id="run-that-died", environment="staging", verb="deploy", author="x", options={}))
    services.runlog.add_lease(lease, "run-that-died", "staging/tunnel")
    assert exists(bao, lease)
    assert deploy(services, "staging", {})["retcode"] == 0
    assert not exists(bao, lease)
    assert services.runlog.leases() == []


def test_the_lease_of_a_run_that_is_alive_is_not_touched(services, bao, lease):
    services.runlog.begin(RunRecord(id="run-alive", environment="staging", verb="deploy", author="x", options={}))
    services.runlog.add_lease(lease, "run-alive", "staging/tunnel")
    with flock.hold(services.layout.run("run-alive") / "alive", {"run": "run-alive"}, "run"):
        assert deploy(services, "staging", {})["retcode"] == 0
    assert exists(bao, lease)


def test_a_question_is_given_time_to_end(services, bao, lease, monkeypatch):
    services.runlog.add_lease(lease, "a-question", "staging/tunnel")
    log = lending.RunLogLeases(services)
    assert log.dangling() == []
    monkeypatch.setattr(lending, "QUESTION_ENDS_WITHIN", lending.timedelta(0))
    assert [record.id for record in log.dangling()] == [lease]
