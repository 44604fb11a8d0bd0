"""Leases that are real: OpenBao makes a user in PostgreSQL for each loan, and after the loan it is gone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from saltform.credentials.leases import LeaseRecord, MemoryLeaseLog
from saltform.credentials.lender import Lender
from saltform.errors import CredentialError
from tests.support.credentials import component, source
from tests.support.postgres import postgres

CREATE = "CREATE ROLE \"{{name}}\" WITH LOGIN PASSWORD '{{password}}' VALID UNTIL '{{expiration}}';"
READS = 'path "database/creds/*" { capabilities = ["read"] }\n'
REVOKES = 'path "sys/leases/revoke" { capabilities = ["update"] }\n'
MAP = {"PGUSER": "username", "PGPASSWORD": "password"}


@pytest.fixture(scope="module")
def database():
    with postgres() as server:
        yield server


@pytest.fixture(scope="module")
def engine(bao, database):
    client = bao.client()
    client.sys.enable_secrets_engine("database")
    client.secrets.database.configure(
        "pg", plugin_name="postgresql-database-plugin", allowed_roles=["*"], connection_url=database.uri
    )
    for role, seconds in (("deploy", 60), ("short", 8)):
        client.secrets.database.create_role(
            role, "pg", [CREATE], default_ttl=f"{seconds}s", max_ttl="300s" if role == "deploy" else "24s"
        )
    return bao


@pytest.fixture
def users(database):
    """The users that were made since the test began."""
    before = database.roles()
    return lambda: database.roles() - before


def role_lender(bao, name, policy, log=None):
    role_id, secret_id = bao.approle(name, policy)
    auth = {"method": "approle", "role_id": role_id, "secret_id": secret_id}
    return Lender(run="run-1", vault={"address": bao.address, "auth": auth}, environ={}, leases=log)


def needs(role="deploy", name="db"):
    return component(source("vault", path=f"database/creds/{role}", map=MAP), kind="generic", name=name)


def test_the_user_exists_while_it_is_lent_and_is_gone_afterwards(engine, users):
    log = MemoryLeaseLog(alive=("run-1",))
    with role_lender(engine, "leases", READS + REVOKES, log) as lender:
        with lender.lend(needs()) as loan:
            assert users() == {loan.environment["PGUSER"]}
            (served,) = loan.served()
            assert served.lease in log.records
            assert 50 < served.seconds_left <= 60
        assert users() == set()
        assert log.records == {}
        assert lender.notes == []


def test_the_user_is_gone_after_a_failure_too(engine, users):
    with role_lender(engine, "leases", READS + REVOKES) as lender:
        with pytest.raises(KeyboardInterrupt), lender.lend(needs()):
            assert len(users()) == 1
            raise KeyboardInterrupt
        assert users() == set()


def test_two_components_have_two_users(engine, users):
    with role_lender(engine, "leases", READS + REVOKES) as lender:
        with lender.lend(needs(name="a")) as a, lender.lend(needs(name="b")) as b:
            assert users() == {a.environment["PGUSER"], b.environment["PGUSER"]}
        assert users() == set()


def test_a_lease_is_renewed_while_it_is_used_and_fetched_anew_when_it_can_not_be(engine, users):
    with role_lender(engine, "leases", READS + REVOKES) as lender, lender.lend(needs("short")) as loan:
        first = loan.environment["PGUSER"]
        time.sleep(9.5)  # longer than its eight seconds
        assert users() == {first}, "not renewed"
        assert loan.environment["PGUSER"] == first
        deadline = time.monotonic() + 120  # its twenty-four seconds at most end in the meantime
        while (user := loan.environment["PGUSER"]) == first:
            assert time.monotonic() < deadline
            time.sleep(0.2)
        assert user in users()
    assert users() == set()


def test_without_the_right_to_revoke_the_lease_ends_with_the_runs_login(engine, users):
    log = MemoryLeaseLog(alive=("run-1",))
    lender = role_lender(engine, "leases-only-read", READS, log)
    with lender.lend(needs()):
        pass
    assert len(users()) == 1
    assert len(log.records) == 1
    assert 'path "sys/leases/revoke"' in lender.notes[0]
    lender.close()
    deadline = time.monotonic() + 120  # the server revokes what hangs on a login in the background
    while users() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert users() == set()
    assert log.records == {}


def test_a_leased_value_is_a_secret_variable_only_where_it_can_be_ephemeral(engine, users):
    asked = source("vault", path="database/creds/deploy", field="password")
    with role_lender(engine, "leases", READS + REVOKES) as lender:
        leased = component(secrets={"db_password": asked})
        assert lender.leased_variables(leased) == {"db_password"}
        assert users() == set(), "asking whether it is leased must not take a lease"
        with pytest.raises(CredentialError, match="is leased"):
            lender.lend(leased, ephemeral=False)
        assert users() == set()
        with lender.lend(leased) as loan:
            assert len(users()) == 1
            assert list(loan.environment) == ["TF_VAR_db_password"]


CRASH = """
import json, os, signal, sys
from saltform.credentials.lender import Lender
from tests.support.credentials import component, source
address, token, path = sys.argv[1:]
class Log:
    def add(self, id, run, component):
        open(path, "a").write(json.dumps([id, run, component]) + "\\n")
lender = Lender(run="run-0", vault={"address": address, "auth": {"token": token}}, environ={}, leases=Log())
asked = source("vault", path="database/creds/deploy", map={"PGUSER": "username"})
loan = lender.lend(component(asked, kind="generic"))
assert loan.environment["PGUSER"]
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_run_left_is_revoked_by_the_next_one(engine, users, tmp_path):
    path = tmp_path / "leases"
    token = engine.client().auth.token.create(policies=["root"])["auth"]["client_token"]
    argv = [sys.executable, "-c", CRASH, engine.address, token, str(path)]
    ended = subprocess.run(argv, cwd=Path.cwd(), env={**os.environ, "PYTHONPATH": str(Path.cwd())}, check=False)
    assert ended.returncode == -signal.SIGKILL
    assert len(users()) == 1
    log = MemoryLeaseLog(alive=("run-1",))
    for line in path.read_text().splitlines():
        record = LeaseRecord(*json.loads(line))
        log.add(*record)
    with role_lender(engine, "leases", READS + REVOKES, log) as lender:
        (said,) = lender.recover()
    assert "left behind by run run-0" in said
    assert users() == set()
    assert log.records == {}
