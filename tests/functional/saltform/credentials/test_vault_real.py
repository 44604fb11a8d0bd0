"""Vault as a source, against a real server: the contract on KV 1 and 2, every way to log in, every failure."""

from __future__ import annotations

import contextlib
import threading
import time

import pytest

from hive_emulator.testing import free_port
from saltform.credentials import vault_login
from saltform.credentials.lender import Lender
from saltform.errors import CredentialError
from tests.support.credentials import KEYS, component, source
from tests.support.openbao import ROOT, dev_server, real_server
from tests.support.source_contract import SourceContract

READ_ALL = 'path "secret/*" { capabilities = ["read"] }'


def by_token(bao, token=None, **settings):
    auth = {"method": "token", "token": bao.root if token is None else token}
    return Lender(
        vault={"address": bao.address, "auth": auth, **settings}, environ={}, run="r", digest_key=b"a key for digests"
    )


def by_role(bao, role_id, secret_id, **settings):
    auth = {"method": "approle", "role_id": role_id, "secret_id": secret_id}
    return Lender(vault={"address": bao.address, "auth": auth, **settings}, environ={}, run="r")


def put(bao, path, **fields):
    bao.client().secrets.kv.v2.create_or_update_secret(path, fields)
    return source("vault", path=f"secret/{path}")


class TestKv2(SourceContract):
    @pytest.fixture(autouse=True)
    def _server(self, bao, request):
        self.bao = bao
        self.prefix, self.count = f"contract/{request.node.name}", 0

    def store(self, fields, **options):
        self.count += 1
        path = f"{self.prefix}/{self.count}" if "psk" not in fields else f"{self.prefix}/psk"
        self.bao.client().secrets.kv.v2.create_or_update_secret(path, fields)
        return source("vault", path=f"secret/{path}", **options)

    def absent(self):
        return source("vault", path="secret/nobody/home")

    def lender(self):
        return by_token(self.bao)

    def test_its_version_is_the_entrys(self):
        asked = self.store({"psk": "one-psk"})
        self.store({"psk": "two-psk"})
        with self.lender() as lender:
            assert lender.versions(component(secrets={"psk": asked})) == {"psk": "v2"}


class TestKv1(SourceContract):
    @pytest.fixture(autouse=True)
    def _server(self, bao, request):
        self.bao, self.count = bao, 0
        client = bao.client()
        if "old/kv/" not in client.sys.list_mounted_secrets_engines()["data"]:
            client.sys.enable_secrets_engine("kv", path="old/kv", options={"version": "1"})

    def store(self, fields, **options):
        self.count += 1
        self.bao.client().secrets.kv.v1.create_or_update_secret(f"c/{self.count}", fields, mount_point="old/kv")
        return source("vault", path=f"old/kv/c/{self.count}", **options)

    def absent(self):
        return source("vault", path="old/kv/nobody/home")

    def lender(self):
        return by_token(self.bao)


def test_engine_and_mount_that_pillar_names_are_not_asked_for(bao):
    put(bao, "named/engine", **KEYS)
    role = bao.approle("narrow", 'path "secret/data/named/engine" { capabilities = ["read"] }')
    asked = source("vault", path="secret/named/engine", mount="secret", engine="kv2")
    with by_role(bao, *role) as lender, lender.lend(component(asked)) as loan:
        assert loan.environment == KEYS


def test_one_login_and_one_read_for_many_components(bao, monkeypatch):
    role = bao.approle("many", READ_ALL)
    paths = [put(bao, f"many/{n}", **KEYS) for n in range(3)]
    asked: list[str] = []
    original = vault_login.VaultLogin._try
    monkeypatch.setattr(
        vault_login.VaultLogin,
        "_try",
        lambda self, c, m, path, *rest: (asked.append(path), original(self, c, m, path, *rest))[1],
    )
    with by_role(bao, *role) as lender:
        threads = [
            threading.Thread(target=lambda n=n: lender.lend(component(paths[n % 3], name=f"c{n}"))) for n in range(30)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(asked) == [
        "auth/approle/login",
        "auth/token/revoke-self",
        "secret/data/many/0",
        "secret/data/many/1",
        "secret/data/many/2",
        "sys/internal/ui/mounts/secret/many/" + asked[1][-1],
    ]


def test_the_runs_own_login_is_given_back_and_a_given_token_is_not(bao):
    asked = put(bao, "own", **KEYS)
    lender = by_role(bao, *bao.approle("own", READ_ALL))
    lender.lend(component(asked))
    token = lender._login._client.token
    lender.close()
    assert not bao.client(token).is_authenticated()
    given = bao.client().auth.token.create(policies=["own"])["auth"]["client_token"]
    with by_token(bao, given) as lender:
        lender.lend(component(asked))
    assert bao.client(given).is_authenticated()


def test_role_and_secret_id_may_be_in_environment_file_and_pillar(bao, tmp_path):
    asked = put(bao, "places", **KEYS)
    role_id, secret_id = bao.approle("places", READ_ALL)
    (tmp_path / "secret-id").write_text(secret_id + "\n")
    auth = {
        "method": "approle",
        "role_id": {"pillar": "vault:role"},
        "secret_id": {"file": str(tmp_path / "secret-id")},
    }
    settings = {"address": bao.address, "auth": auth}
    with Lender(vault=settings, pillar={"vault": {"role": role_id}}, environ={}) as lender:
        assert lender.lend(component(asked)).environment == KEYS
    settings = {"auth": {"token": {"environment": "T"}}}
    with Lender(vault=settings, environ={"T": bao.root, "VAULT_ADDR": bao.address}) as lender:
        assert lender.lend(component(asked)).environment == KEYS


def test_the_masters_own_vault_token_is_not_picked_up_by_the_library(bao, monkeypatch, tmp_path):
    monkeypatch.setenv("VAULT_TOKEN", bao.root)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".vault-token").write_text(bao.root)
    lender = Lender(vault={"address": bao.address}, environ={})
    with lender, pytest.raises(CredentialError, match="No token to log in to Vault with"):
        lender.lend(component(source("vault", path="secret/x")))


def wrapped(bao, name):
    role_id, _ = bao.approle(name, READ_ALL)
    answer = bao.client().write_data(f"auth/approle/role/{name}/secret-id", wrap_ttl="5m")
    return role_id, answer["wrap_info"]["token"]


def by_wrapping(bao, role_id, token):
    auth = {"method": "approle", "role_id": role_id, "wrapped_secret_id": token}
    return Lender(vault={"address": bao.address, "auth": auth}, environ={})


def test_a_wrapped_secret_id_works_once(bao):
    asked = put(bao, "wrapped", **KEYS)
    role_id, token = wrapped(bao, "wrapped")
    with by_wrapping(bao, role_id, token) as lender:
        assert lender.lend(component(asked)).environment == KEYS
    with by_wrapping(bao, role_id, token) as lender, pytest.raises(CredentialError) as caught:
        lender.lend(component(asked))
    assert caught.value.summary == "The wrapped secret id was already used, or has expired"
    assert "somebody else" in caught.value.detail
    assert token not in str(caught.value)


def test_a_token_that_wraps_something_else_is_refused(bao):
    role_id, _ = bao.approle("swapped", READ_ALL)
    put(bao, "swapped", secret_id="an evil one")
    answer = bao.client().adapter.request("get", "/v1/secret/data/swapped", wrap_ttl="5m")
    lender = by_wrapping(bao, role_id, answer["wrap_info"]["token"])
    with lender, pytest.raises(CredentialError, match="The wrapped secret id is not one"):
        lender.lend(component(source("vault", path="secret/swapped")))


def test_namespaces_are_apart(bao):
    bao.client().write_data("sys/namespaces/team-a")
    inside = bao.client(namespace="team-a")
    inside.sys.enable_secrets_engine("kv", path="secret", options={"version": "2"})
    inside.secrets.kv.v2.create_or_update_secret("ns", KEYS)
    asked = source("vault", path="secret/ns")
    with by_token(bao, namespace="team-a") as lender:
        assert lender.lend(component(asked)).environment == KEYS
    with by_token(bao) as lender, pytest.raises(CredentialError, match="Missing path"):
        lender.lend(component(asked))


def test_tls_with_a_private_ca(tmp_path):
    with dev_server(tmp_path, tls=True) as bao:
        asked = put(bao, "tls", **KEYS)
        with by_token(bao, ca=bao.ca) as lender:
            assert lender.lend(component(asked)).environment == KEYS
        with by_token(bao) as lender, pytest.raises(CredentialError) as caught:
            lender.lend(component(asked))
    assert caught.value.summary == "Vault's certificate is not trusted"
    assert "infrastructure:vault:ca" in caught.value.fix


# --- what can go wrong


def test_a_policy_that_denies_is_named_with_the_rule_that_is_missing(bao):
    put(bao, "denied/by/policy", **KEYS)
    role = bao.approle("denier", 'path "secret/data/other" { capabilities = ["read"] }')
    with by_role(bao, *role) as lender, pytest.raises(CredentialError) as caught:
        lender.lend(component(source("vault", path="secret/denied/by/policy")))
    assert caught.value.summary == "Permission denied for 'secret/data/denied/by/policy' in Vault"
    assert "default, denier" in caught.value.detail
    assert 'path "secret/data/denied/by/policy" { capabilities = ["read"] }' in caught.value.fix


def test_a_mount_that_may_not_be_seen_is_one_message(bao):
    role = bao.approle("blind", 'path "nothing" { capabilities = ["read"] }')
    with by_role(bao, *role) as lender, pytest.raises(CredentialError) as caught:
        lender.lend(component(source("vault", path="nomount/x")))
    assert caught.value.summary == "Permission denied for 'nomount/x' in Vault"
    assert "there is no mount" in caught.value.detail


def test_a_missing_path_says_how_to_put_it(bao):
    with by_token(bao) as lender, pytest.raises(CredentialError) as caught:
        lender.lend(component(source("vault", path="secret/no/such/entry")))
    assert caught.value.summary == "Missing path 'secret/no/such/entry' in Vault"
    assert "bao kv put secret/no/such/entry" in caught.value.fix


def test_a_deleted_version_is_a_missing_path(bao):
    asked = put(bao, "deleted", **KEYS)
    bao.client().secrets.kv.v2.delete_latest_version_of_secret("deleted")
    with by_token(bao) as lender, pytest.raises(CredentialError, match="Missing path 'secret/deleted'"):
        lender.lend(component(asked))


def test_a_wrong_secret_id_is_a_refused_login(bao):
    role_id, _ = bao.approle("wrong", READ_ALL)
    with by_role(bao, role_id, "not-the-secret-id") as lender, pytest.raises(CredentialError) as caught:
        lender.lend(component(source("vault", path="secret/x")))
    assert caught.value.summary == "Vault refused the login"
    assert "secret-id" in caught.value.fix
    assert "not-the-secret-id" not in str(caught.value)


def test_an_expired_token_is_told_from_a_policy_that_denies(bao):
    asked = put(bao, "expired", **KEYS)
    token = bao.client().auth.token.create(policies=["root"], ttl="1h")["auth"]["client_token"]
    bao.client().auth.token.revoke(token)
    with by_token(bao, token) as lender, pytest.raises(CredentialError) as caught:
        lender.lend(component(asked))
    assert caught.value.summary == "The token for Vault has expired or was revoked"
    assert "approle" in caught.value.fix
    assert token not in str(caught.value)


def test_a_login_that_ended_in_the_middle_of_a_run_is_made_again(bao):
    first, second = put(bao, "ended/1", **KEYS), put(bao, "ended/2", **KEYS)
    with by_role(bao, *bao.approle("ended", READ_ALL)) as lender:
        lender.lend(component(first))
        ended = lender._login._client.token
        bao.client().auth.token.revoke(ended)
        assert lender.lend(component(second)).environment == KEYS
        assert lender._login._client.token != ended


def test_a_server_that_is_down_is_tried_again_and_then_said(monkeypatch):
    naps: list[float] = []
    monkeypatch.setattr(vault_login, "_pause", naps.append)
    address = f"http://127.0.0.1:{free_port()}"
    lender = Lender(vault={"address": address, "auth": {"token": "t0ken-t0ken"}}, environ={})
    with pytest.raises(CredentialError) as caught:
        lender.lend(component(source("vault", path="secret/x")))
    lender.close()
    assert caught.value.summary == "Vault is out of reach"
    assert address in caught.value.detail
    assert naps == list(vault_login.PAUSES)


def test_a_server_that_comes_back_while_we_try_is_not_an_error(tmp_path, monkeypatch):
    port = free_port()
    with contextlib.ExitStack() as stack:

        def start_it(_seconds):
            put(stack.enter_context(dev_server(tmp_path, port=port)), "late", **KEYS)

        monkeypatch.setattr(vault_login, "_pause", start_it)
        settings = {"address": f"http://127.0.0.1:{port}", "auth": {"token": ROOT}}
        lender = stack.enter_context(Lender(vault=settings, environ={}))
        assert lender.lend(component(source("vault", path="secret/late"))).environment == KEYS


def test_a_slow_server_is_given_up_in_time(tmp_path):
    with dev_server(tmp_path) as bao:
        asked = put(bao, "slow", **KEYS)
        with by_token(bao, timeout=3) as lender:
            lender._login._logged_in()
            bao.pause()
            began = time.monotonic()
            with pytest.raises(CredentialError) as caught:
                lender.lend(component(asked))
            bao.go_on()
    assert caught.value.summary == "Vault is too slow"
    assert "infrastructure:vault:timeout" in caught.value.fix
    assert time.monotonic() - began < 60


def test_sealed_and_uninitialised_are_said_at_once(tmp_path):
    with real_server(tmp_path, storage="inmem") as bao:
        asked = source("vault", path="secret/x")
        with (
            by_token(bao, "t0ken-t0ken") as lender,
            pytest.raises(CredentialError, match="Vault is not initialised|Vault is sealed"),
        ):
            lender.lend(component(asked))
        init = bao.client("").sys.initialize(1, 1)
        with by_token(bao, init["root_token"]) as lender, pytest.raises(CredentialError) as caught:
            lender.lend(component(asked))
    assert caught.value.summary == "Vault is sealed"
    assert caught.value.fix.startswith("bao operator unseal")
