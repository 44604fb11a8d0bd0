"""Whole runs with secrets from a real server: rotated ones are noticed, leased ones are gone, however it ends."""

from __future__ import annotations

import threading
import time

import pytest

from hive_emulator.testing import free_port
from saltform.config.kinds import KINDS, Kind
from saltform.credentials.vault_login import VaultLogin
from saltform.process import Cancel
from tests.support.openbao import dev_server
from tests.support.planted import CommandLines, report, search_files, search_text
from tests.support.postgres import postgres
from tests.support.world import World, statuses

TUNNEL = 'variable "psk" { type = string }\nresource "terraform_data" "this" { triggers_replace = sha256(var.psk) }\n'
LEASED = """
variable "password" {
  type      = string
  ephemeral = true
}
variable "command" { type = string }
resource "terraform_data" "this" {
  input = var.command
  provisioner "local-exec" {
    command     = var.command
    environment = { PASSWORD = var.password }
  }
}
"""
# Whoever is made owns nothing: what it creates belongs to `states`, so that the next one can use it.
CREATE = """CREATE ROLE "{{name}}" LOGIN PASSWORD '{{password}}' VALID UNTIL '{{expiration}}' IN ROLE states;
ALTER ROLE "{{name}}" SET role states;"""


@pytest.fixture(scope="module")
def bao(tmp_path_factory):
    with dev_server(tmp_path_factory.mktemp("bao")) as server:
        yield server


@pytest.fixture(scope="module")
def database(bao):
    """A database whose users OpenBao makes and drops."""
    with postgres() as server:
        server.sql(
            "CREATE ROLE states; GRANT CREATE ON DATABASE postgres TO states; GRANT ALL ON SCHEMA public TO states"
        )
        client = bao.client()
        client.sys.enable_secrets_engine("database")
        client.secrets.database.configure(
            "pg", plugin_name="postgresql-database-plugin", allowed_roles=["*"], connection_url=server.uri
        )
        client.secrets.database.create_role("deploy", "pg", [CREATE], default_ttl="300s", max_ttl="600s")
        yield server


@pytest.fixture
def world(tmp_path, bao):
    made = World(tmp_path)
    made.module("tunnel", TUNNEL)
    made.module("leased", LEASED)
    made.infrastructure = {"vault": {"address": bao.address, "auth": {"token": bao.root}}}
    return made


def test_a_rotated_secret_is_noticed_and_read_once_a_run_for_all_components(world, bao, monkeypatch):
    psk = bao.client().secrets.kv.v2
    psk.create_or_update_secret("psk", {"psk": "the-first-psk"})
    asked = []
    original = VaultLogin._try
    monkeypatch.setattr(VaultLogin, "_try", lambda *given: asked.append(given[3]) or original(*given))
    secrets = {"psk": {"vault": {"path": "secret/psk"}}}
    world.components = {f"site{number}": {"module": "tunnel", "secret_variables": secrets} for number in range(3)}
    assert set(statuses(world.deploy()).values()) == {"applied"}

    asked.clear()
    assert set(statuses(world.deploy()).values()) == {"unchanged"}
    assert world.processes.started == []
    assert [path for path in asked if "/data/" in path] == ["secret/data/psk"]

    psk.create_or_update_secret("psk", {"psk": "the-second-psk"})
    assert world.call("status", "staging")["components"]["site0"]["status"] == "pending change"
    rotated = world.deploy()
    assert set(statuses(rotated).values()) == {"applied"}
    assert rotated["steps"]["site1"]["changes"][0]["action"] == "replace"
    assert set(statuses(world.deploy()).values()) == {"unchanged"}


@pytest.mark.parametrize(("command", "ends"), [("true", "applied"), ("false", "failed"), ("sleep 300", "cancelled")])
def test_a_leased_user_is_gone_when_the_run_has_ended(world, database, tmp_path, command, ends):
    before = database.roles()
    source = {"vault": {"path": "database/creds/deploy", "field": "password"}}
    wait = f"touch {tmp_path}/begun; until test -e {tmp_path}/seen; do sleep 0.1; done; {command}"
    world.components = {
        "db": {"module": "leased", "variables": {"command": wait}, "secret_variables": {"password": source}}
    }
    seen, cancel = set(), Cancel()

    def watch():
        while not (tmp_path / "begun").exists() and not seen:
            time.sleep(0.05)
        seen.update(database.roles() - before)
        (tmp_path / "seen").touch()
        if ends == "cancelled":
            cancel.now = True
            cancel.set()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    returned = world.call("deploy", "staging", {}, services=world.services(cancel=cancel))
    seen.add("over")
    watcher.join(60)
    assert statuses(returned) == {"db": ends}, returned
    assert len(seen) == 2, "there was no user while it ran"
    assert database.roles() == before


def test_a_backend_can_be_lent_a_leased_user_too(world, database, tmp_path):
    before = database.roles()
    joint = "&" if "?" in database.uri else "?"
    address = f"{database.uri}{joint}sslmode=disable".replace("postgres:@", "")
    source = {"vault": {"path": "database/creds/deploy", "map": {"PGUSER": "username", "PGPASSWORD": "password"}}}
    world.infrastructure["defaults"] = {"backend": {"type": "pg", "conn_str": address, "credentials": source}}
    world.components = {"net": {"module": "base", "variables": {"name": "net"}}}
    first = world.deploy()
    assert statuses(first) == {"net": "applied"}, first
    assert statuses(world.deploy()) == {"net": "unchanged"}
    assert world.processes.started == []
    assert statuses(world.destroy()) == {"net": "destroyed"}
    assert database.roles() == before


def test_the_secrets_of_every_kind_are_lent_to_its_process_and_found_nowhere_else(world, monkeypatch):
    # The built-in provider stands in for all: what a provider's block says is no secret, and is tested elsewhere.
    monkeypatch.setattr(Kind, "provider_block", lambda *_: {})
    secrets, providers = {}, {}
    for name, kind in KINDS.items():
        variables = kind.variables or {"ANYTHING"}
        values = {variable: f"pl4nted-{name}-{variable}-{'xyzXYZ' * 3}" for variable in variables}
        for variable, value in values.items():
            monkeypatch.setenv(f"PLANTED_{name}_{variable}", value)
        public = variables - kind.secret if kind.variables else set()
        secrets |= {f"{name} {variable}": value for variable, value in values.items() if variable not in public}
        renamed = {variable: f"PLANTED_{name}_{variable}" for variable in variables}
        providers[name] = {
            "kind": name,
            "source": "terraform.io/builtin/terraform",
            "credentials": {"environment": {"map": renamed}},
        }
        world.components[name] = {"module": "shell", "provider": name, "variables": {"command": "env; false"}}
    world.infrastructure["providers"] = providers
    with CommandLines() as lines:
        returned = world.deploy(on_error="continue")
    assert set(statuses(returned).values()) == {"failed"}, returned
    logs = "".join(path.read_text() for path in world.state_dir.rglob("*.log"))
    missing = [name for name in secrets if f"{name.split()[1]}=(sensitive)" not in logs]
    assert not missing, "these were not lent, or the environment was not printed"
    found = search_text(secrets, [returned, world.events.fired], "what was returned or fired") + lines.search(secrets)
    found += search_files(secrets, world.home)
    assert not found, report(found)


def test_nothing_is_started_when_a_secret_can_not_be_had(world, bao):
    world.infrastructure["vault"]["address"] = f"http://127.0.0.1:{free_port()}"
    secrets = {"psk": {"vault": {"path": "secret/psk"}}}
    world.components = {"site": {"module": "tunnel", "secret_variables": secrets}}
    returned = world.deploy()
    assert returned["steps"]["site"]["error"]["type"] == "CredentialError", returned
    assert not {"init", "plan", "apply"} & set(world.processes.commands())
