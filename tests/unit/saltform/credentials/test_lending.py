"""Loans and leases, with a source in memory whose leases can be counted."""

from __future__ import annotations

import json
import threading
from dataclasses import replace

import pytest

from saltform.config.types import Backend
from saltform.credentials.leases import Keeper, MemoryLeaseLog
from saltform.credentials.lender import Lender, takes_ephemeral
from saltform.credentials.source import Fetched, Lease
from saltform.errors import CredentialError
from saltform.process import BACKEND_VARIABLE
from tests.support.credentials import KEYS, component, source


class LeasingVault:
    """Every fetch is a new lease; what is renewed and revoked is written down."""

    def __init__(self, seconds=100.0, renewable=True):
        self.seconds, self.renewable = seconds, renewable
        self.taken: list[str] = []
        self.renewed: list[str] = []
        self.revoked: list[str] = []
        self.refuses = ""

    def fetch(self, asked):
        self.taken.append(f"lease-{len(self.taken)}")
        values = {"AWS_ACCESS_KEY_ID": "AKIA", "AWS_SECRET_ACCESS_KEY": f"secret-of-{self.taken[-1]}"}
        return Fetched(values, lease=Lease(self.taken[-1], self.seconds, self.renewable))

    def leased(self, asked):
        return True

    def renew(self, lease):
        self.renewed.append(lease.id)
        return Lease(lease.id, self.seconds, True)

    def revoke(self, lease_id):
        if self.refuses:
            raise CredentialError(self.refuses)
        self.revoked.append(lease_id)


LEASED = source("vault", path="aws/creds/deploy")


@pytest.fixture
def vault():
    return LeasingVault()


@pytest.fixture
def log():
    return MemoryLeaseLog(alive=("run-1",))


@pytest.fixture
def lender(vault, log):
    lender = Lender(run="run-1", leases=log, environ={})
    lender._vault = vault
    lender._sources = {**lender._sources, "vault": vault}
    yield lender
    lender.close()


def test_each_loan_has_a_lease_of_its_own_on_record_until_it_is_given_back(lender, vault, log):
    with lender.lend(component(LEASED, name="a")) as a, lender.lend(component(LEASED, name="b")) as b:
        assert a.environment != b.environment
        assert [(r.id, r.run, r.component) for r in log.records.values()] == [
            ("lease-0", "run-1", "staging/a"),
            ("lease-1", "run-1", "staging/b"),
        ]
    assert sorted(vault.revoked) == ["lease-0", "lease-1"]
    assert log.records == {}


def test_a_lease_is_given_back_after_a_failure(lender, vault):
    with pytest.raises(RuntimeError), lender.lend(component(LEASED)):
        raise RuntimeError("apply failed")
    assert vault.revoked == ["lease-0"]


def test_a_loan_that_fails_half_way_gives_back_what_it_has(lender, vault, log):
    with pytest.raises(CredentialError):
        lender.lend(component(LEASED, source("pillar", path="nobody")))
    assert vault.revoked == ["lease-0"]
    assert log.records == {}


def test_a_lease_that_can_not_be_given_back_stays_on_record_and_is_said(lender, vault, log):
    vault.refuses = "Permission denied"
    with lender.lend(component(LEASED)):
        pass
    assert list(log.records) == ["lease-0"]
    assert "lease-0" in lender.notes[0]


def test_what_a_dead_run_left_is_revoked_by_the_next(lender, vault, log):
    log.add("lease-of-the-dead", "run-0", "staging/a")
    log.add("lease-of-the-living", "run-1", "staging/b")
    (said,) = lender.recover()
    assert "lease-of-the-dead" in said
    assert vault.revoked == ["lease-of-the-dead"]
    assert list(log.records) == ["lease-of-the-living"]


def test_recovery_that_fails_is_said_and_tried_again_next_time(lender, vault, log):
    log.add("lease-of-the-dead", "run-0", "staging/a")
    vault.refuses = "Vault is sealed"
    assert "Vault is sealed" in lender.recover()[0]
    assert list(log.records) == ["lease-of-the-dead"]


def test_a_lease_too_short_for_the_next_process_is_fetched_anew(vault, log):
    now = [0.0]
    vault.renewable = False
    lender = Lender(run="run-1", leases=log, environ={}, clock=lambda: now[0])
    lender._vault, lender._sources = vault, {"vault": vault}
    with lender.lend(component(LEASED)) as loan:
        planned = loan.environment
        now[0] = 70.0
        assert loan.environment == planned
        now[0] = 90.0
        applied = loan.environment
        assert applied["AWS_SECRET_ACCESS_KEY"] == "secret-of-lease-1"
        assert vault.revoked == ["lease-0"]
        assert loan.masker.line("secret-of-lease-0 secret-of-lease-1") == "(sensitive) (sensitive)"
        assert lender.masker.line("secret-of-lease-1") == "(sensitive)"
    assert vault.revoked == ["lease-0", "lease-1"]


def test_leases_are_renewed_while_they_are_used(lender, vault):
    vault.seconds = 1.0
    renewed = threading.Event()
    original = vault.renew
    vault.renew = lambda lease: (original(lease), len(vault.renewed) > 1 and renewed.set())[0]
    with lender.lend(component(LEASED)):
        assert renewed.wait(10)
    count = len(vault.renewed)
    assert set(vault.renewed) == {"lease-0"}
    assert vault.revoked == ["lease-0"]
    assert len(vault.renewed) <= count + 1


def test_a_renewal_that_fails_is_tried_again_while_there_is_time():
    now, tries = [0.0], []

    def renew(lease):
        tries.append(now[0])
        raise CredentialError("Vault is out of reach")

    held = Keeper(lambda: now[0]).hold(Lease("x", 100.0, False), renew)
    now[0] = 50.0
    assert held.renewed(lambda: now[0])
    assert held.trouble == "Vault is out of reach"
    assert held.due == 75.0
    now[0] = 99.5
    assert not held.renewed(lambda: now[0])


def test_a_leased_variable_is_refused_where_there_are_no_ephemeral_ones(lender, vault):
    needs = component(secrets={"password": replace(LEASED, options={"path": "x", "field": "AWS_SECRET_ACCESS_KEY"})})
    assert lender.leased_variables(needs) == {"password"}
    assert lender.versions(needs) == {}
    with pytest.raises(CredentialError, match="variable password of component llm is leased") as caught:
        lender.lend(needs, ephemeral=False)
    assert "1.10" in caught.value.fix
    assert vault.revoked == ["lease-0"]
    with lender.lend(needs) as loan:
        assert loan.environment == {"TF_VAR_password": "secret-of-lease-1"}


@pytest.mark.parametrize(
    ("product", "version", "takes"),
    [
        ("terraform", "1.9.8", False),
        ("terraform", "1.10.0", True),
        ("terraform", "1.11.0-beta1", True),
        ("opentofu", "1.10.3", False),
        ("opentofu", "1.11.0", True),
    ],
)
def test_which_versions_have_ephemeral_variables(product, version, takes):
    assert takes_ephemeral(product, version) is takes


def test_a_component_without_sources_is_lent_nothing(lender):
    with lender.lend(component()) as loan:
        assert loan.environment == {}
    with lender.lend(replace(component(), provider=None)) as loan:
        assert loan.environment == {}


def test_sources_that_serve_nothing_are_no_credentials(lender):
    lender._sources["pillar"]._pillar = {"x": {"unrelated": "y"}}
    with pytest.raises(CredentialError, match="No credentials for aws in component llm"):
        lender.lend(component(source("pillar", path="x")))


def two_accounts(backend_type, **values):
    lender = Lender(environ={}, pillar={"provider": KEYS, "backend": values})
    backend = Backend(backend_type, credentials=(source("pillar", path="backend"),))
    return lender, component(source("pillar", path="provider"), backend=backend)


def test_the_backends_keys_are_lent_beside_the_providers():
    lender, needs = two_accounts("s3", AWS_ACCESS_KEY_ID="AKIASTATE", AWS_SECRET_ACCESS_KEY="secret-of-the-state")
    with lender.lend(needs) as loan:
        environment = loan.environment
        assert environment.items() >= KEYS.items()
        assert json.loads(environment[BACKEND_VARIABLE])["SecretAccessKey"] == "secret-of-the-state"
        assert loan.masker.line("secret-of-the-state") == "(sensitive)"


def test_of_an_address_the_password_is_masked_too_and_a_users_name_is_not():
    address = "postgres://states:p%40ssword-of-it@db/states"
    lender, needs = two_accounts("pg", PG_CONN_STR=address, PGUSER="postgres")
    with lender.lend(needs) as loan:
        assert loan.environment["PG_CONN_STR"] == address
        assert loan.backend == {"PG_CONN_STR": address, "PGUSER": "postgres"}
        assert loan.masker.line("p@ssword-of-it of postgres") == "(sensitive) of postgres"


def test_partial_backend_credentials_are_named():
    lender, needs = two_accounts("s3", AWS_ACCESS_KEY_ID="AKIASTATE")
    with pytest.raises(CredentialError, match="s3 backend in component llm: missing AWS_SECRET_ACCESS_KEY"):
        lender.lend(needs)


def test_a_name_that_both_need_with_different_values_is_refused():
    lender = Lender(environ={}, pillar={"a": {"X": "one"}, "b": {"X": "two"}})
    backend = Backend("consul", credentials=(source("pillar", path="b", map={"CONSUL_HTTP_TOKEN": "X"}),))
    provider = source("pillar", path="a", map={"CONSUL_HTTP_TOKEN": "X"})
    with pytest.raises(CredentialError, match="both need CONSUL_HTTP_TOKEN"):
        lender.lend(component(provider, kind="generic", backend=backend))
