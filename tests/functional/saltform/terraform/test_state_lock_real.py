"""Terraform's own state lock, held by somebody else, with a real `http` backend."""

from __future__ import annotations

import http.server
import json
import threading

import psycopg
import pytest

from saltform.errors import TerraformError
from saltform.terraform import apply, force_unlock, init, planning
from tests.support.postgres import postgres


class Backend(http.server.BaseHTTPRequestHandler):
    """State and lock in memory, as Terraform's http backend wants them."""

    def answer(self, status, body=b""):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def body(self):
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def do_GET(self):
        self.answer(200 if self.server.state else 404, self.server.state)

    def do_POST(self):
        self.server.state = self.body()
        self.answer(200)

    def do_LOCK(self):
        wanted = self.body()
        if self.server.lock:
            self.answer(423, self.server.lock)
        else:
            self.server.lock = wanted
            self.answer(200)

    def do_UNLOCK(self):
        self.body()
        self.server.lock = b""
        self.answer(200)

    def log_message(self, *_):
        """Quiet."""


@pytest.fixture
def backend():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Backend) as server:
        server.state = server.lock = b""
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def session(make_session, binary, backend):
    url = f"http://127.0.0.1:{backend.server_port}/"
    settings = {"address": url, "lock_address": url, "unlock_address": url}
    root = {"terraform": {"backend": {"http": settings}}, "resource": {"terraform_data": {"a": {}}}}
    session = make_session(binary, root)
    init.run(session)
    return session


HOLDER = {"ID": "11111111-2222-3333-4444-555555555555", "Who": "alice@host", "Operation": "OperationTypeApply"}


def test_a_held_lock_names_its_id_and_the_way_out(session, backend):
    backend.lock = json.dumps(HOLDER).encode()
    with pytest.raises(TerraformError, match="state already locked") as caught:
        planning.run(session, session.workspace / "plan")
    assert HOLDER["ID"] in caught.value.detail
    assert caught.value.fix.endswith(f"terraform.force_unlock staging/net {HOLDER['ID']}")


@pytest.mark.parametrize("said", [b"locked", b"{}"])
def test_a_server_that_does_not_say_who_holds_it_never_makes_the_askers_id_the_fix(session, backend, said):
    backend.lock = said
    with pytest.raises(TerraformError, match="state already locked") as caught:
        planning.run(session, session.workspace / "plan")
    assert caught.value.fix.startswith("the backend doesn't say who holds it")
    assert caught.value.fix.endswith("terraform.force_unlock staging/net LOCK_ID")


def test_a_lock_in_postgresql_is_its_holders_connection_and_nothing_to_force(make_session, binary):
    with postgres() as server:
        settings = {"conn_str": f"{server.uri.replace('postgresql:', 'postgres:')}&sslmode=disable"}
        root = {"terraform": {"backend": {"pg": settings}}, "resource": {"terraform_data": {"a": {}}}}
        session = make_session(binary, root)
        init.run(session)
        planning.run(session, session.workspace / "plan")
        apply.run(session, session.workspace / "plan")
        with psycopg.connect(server.uri, autocommit=True) as holder:
            holder.execute("SELECT pg_advisory_lock(id) FROM terraform_remote_state.states")
            with pytest.raises(TerraformError, match="already locked") as caught:
                planning.run(session, session.workspace / "plan")
    assert "force_unlock" not in caught.value.fix
    assert caught.value.fix.startswith("PostgreSQL frees it when its holder's connection ends")


def test_a_plan_without_a_lock_does_not_care(session, backend):
    backend.lock = json.dumps(HOLDER).encode()
    assert planning.run(session, None, lock=False).changed


def test_a_forced_unlock_releases_it(session, backend):
    backend.lock = json.dumps(HOLDER).encode()
    force_unlock.run(session, HOLDER["ID"])
    assert backend.lock == b""
    planning.run(session, session.workspace / "plan")
    apply.run(session, session.workspace / "plan")


def test_a_state_that_can_not_be_stored_is_kept_and_named(session, backend):
    planning.run(session, session.workspace / "plan")
    Backend.do_POST, do_post = lambda self: (self.body(), self.answer(500)), Backend.do_POST
    try:
        with pytest.raises(TerraformError, match=r"errored\.tfstate") as caught:
            apply.run(session, session.workspace / "plan")
    finally:
        Backend.do_POST = do_post
    assert caught.value.data["errored_state"] == str(session.workspace / "errored.tfstate")
    assert caught.value.data["applied"] == ["terraform_data.a"]
