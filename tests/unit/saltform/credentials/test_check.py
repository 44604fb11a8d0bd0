"""The checks of providers that answer over HTTP, against a server that answers as they do."""

from __future__ import annotations

import http.server
import json
import threading
from dataclasses import replace

import pytest

from saltform.config.kinds import KINDS
from saltform.credentials.check import QUESTIONS, check
from saltform.credentials.lender import Lender
from tests.support.credentials import component, source

GOOD = "the-good-token-00"


@pytest.fixture
def provider_api():
    """Knows one token; answers what each provider would, and remembers what it was asked."""
    answers = {
        "/locations": {"locations": []},
        "/v2/account": {"account": {"email": "sre@example.com"}},
        "/user/tokens/verify": {"result": {"id": "tok-1"}},
        "/api2/json/version": {"data": {"version": "8.2"}},
        "/api2/json/access/ticket": {"data": {"username": "root@pam"}},
        "/v1/auth/token/lookup-self": {"data": {"display_name": "ci", "policies": ["default", "deploy"]}},
        "/tenant-1/oauth2/v2.0/token": {"access_token": "x"},
    }

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
            known = GOOD in body or any(GOOD in value for value in self.headers.values())
            self.send_response(200 if known else 401)
            self.end_headers()
            self.wfile.write(json.dumps(answers[self.path]).encode())

        do_POST = do_GET

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def checked(kind, endpoint, values, **provider):
    needs = component(source("pillar", path="keys"), kind=kind, endpoint=endpoint, **provider)
    with Lender(environ={}, pillar={"keys": values}) as lender:
        return check(lender, needs)


CASES = [
    ("hetzner", {"HCLOUD_TOKEN": GOOD}, "a project's token"),
    ("digitalocean", {"DIGITALOCEAN_TOKEN": GOOD}, "sre@example.com"),
    ("cloudflare", {"CLOUDFLARE_API_TOKEN": GOOD}, "token tok-1"),
    ("proxmox", {"PROXMOX_VE_API_TOKEN": f"ci@pve!t={GOOD}"}, "ci@pve!t on version 8.2"),
    ("proxmox", {"PROXMOX_VE_USERNAME": "root@pam", "PROXMOX_VE_PASSWORD": GOOD}, "root@pam"),
    ("vault", {"VAULT_TOKEN": GOOD, "VAULT_NAMESPACE": "team"}, "ci with the policies default, deploy"),
]


@pytest.mark.parametrize(("kind", "values", "who"), CASES)
def test_a_provider_says_who_we_are(provider_api, kind, values, who):
    result = checked(kind, provider_api, values)
    assert (result.ok, result.who, result.detail) == (True, who, "")
    assert result.served[0].variables == tuple(sorted(values))
    assert GOOD not in str(result.as_dict())


@pytest.mark.parametrize(("kind", "values"), [case[:2] for case in CASES])
def test_a_provider_that_refuses_is_said_with_where_to_renew(provider_api, kind, values):
    wrong = {name: value.replace(GOOD, "the-wrong-token-1") for name, value in values.items()}
    result = checked(kind, provider_api, wrong)
    assert result.ok is False
    assert "401" in result.detail
    assert "credentials:pillar" in result.fix
    assert "the-wrong-token" not in str(result)


def test_azure_is_asked_for_a_token(provider_api):
    values = {
        "ARM_CLIENT_ID": "client-1",
        "ARM_TENANT_ID": "tenant-1",
        "ARM_SUBSCRIPTION_ID": "s",
        "ARM_CLIENT_SECRET": GOOD,
    }
    login = {"login_endpoint": provider_api}
    assert checked("azure", "", values, settings=login).who == "client client-1 of tenant tenant-1"
    assert checked("azure", "", {**values, "ARM_CLIENT_SECRET": "wrong-wrong"}, settings=login).ok is False


def test_a_provider_out_of_reach_is_not_a_crash():
    result = checked("hetzner", "http://127.0.0.1:1", {"HCLOUD_TOKEN": GOOD})
    assert result.ok is False
    assert "out of reach" in result.detail


def test_a_kind_without_a_question_is_checked_for_being_complete():
    assert checked("cato", "", {"CATO_TOKEN": GOOD}).ok is None
    assert checked("cato", "", {"OTHER": GOOD}).ok is False
    assert "missing CATO_TOKEN" in checked("cato", "", {"OTHER": GOOD}).detail


def test_a_component_without_credentials_has_nothing_to_check():
    with Lender(environ={}) as lender:
        assert check(lender, component()).ok is None
        assert check(lender, replace(component(), provider=None)).ok is None


def test_every_check_that_a_kind_names_exists():
    assert {kind.check for kind in KINDS.values()} - {""} == set(QUESTIONS)
