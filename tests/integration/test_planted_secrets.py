"""Twenty secrets go through every source, plan, apply, failure, cancel, drift and salt-api; then all is searched.

The processes print their whole environment, so every secret does reach what we log. It may be found only where
Terraform itself writes values (states) and where the test put it: the sources.
"""

from __future__ import annotations

import base64
import json
import signal
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.cluster import API_SECRET, TIMEOUT, Cluster, wait_for
from tests.support.openbao import dev_server
from tests.support.planted import CommandLines, report, search_files, search_text

WHO = "planted"
PEM = (
    "-----BEGIN PRIVATE KEY-----\n"
    + "\n".join(base64.b64encode(bytes([n]) * 45).decode() for n in range(3, 8))
    + "\n-----END PRIVATE KEY-----\n"
)
SECRETS = {f"secret{n:02}": f'planted-{n:02}-Zq7/+{n * 7919:06}"x&<ü' for n in range(1, 20)} | {"secret20": PEM}
IN_PILLAR = ("secret08", "secret09", "secret10")
# Terraform prints its environment, then does as it is told. `nonsensitive` puts one into a provisioner's own error.
DECLARED = "".join(f'variable "{name}" {{\n  type = string\n  sensitive = true\n}}\n' for name in SECRETS)
MODULE = (
    DECLARED
    + """
variable "then" { type = string }
resource "terraform_data" "this" {
  input = sha256(join("", [ALL]))
  provisioner "local-exec" { command = "env; ${var.then}" }
}
output "first" {
  value     = var.secret01
  sensitive = true
}
""".replace("ALL", ", ".join(f"var.{name}" for name in SECRETS))
)
TAKER = """
variable "given" { type = string }
resource "terraform_data" "this" {
  input = sha256(var.given)
  lifecycle {
    precondition {
      condition     = length(var.given) < 3
      error_message = "The provider says ${nonsensitive(var.given)} is wrong."
    }
  }
}
"""


# Credentials of a provider, beside the variables: Terraform's own built-in provider takes any.
LENDER = {
    "kind": "generic",
    "source": "terraform.io/builtin/terraform",
    "credentials": [
        {"vault": {"path": "secret/secret20", "map": {"LENT_KEY": "value"}}},
        {"pillar": {"path": "planted", "map": {"LENT_TOKEN": "secret08"}}},
    ],
}


class Planted:
    """A master of its own whose infrastructure is full of secrets."""

    def __init__(self, folder: Path, vault: str) -> None:
        self.folder = folder
        self.cluster = Cluster(folder)
        self.sources = folder / "sources"
        self.sources.mkdir()
        names = list(SECRETS)
        secret_variables: dict[str, Any] = {}
        for name in names[:4] + names[19:]:
            secret_variables[name] = {"vault": {"path": f"secret/{name}", "field": "value"}}
        for name in names[4:7]:
            secret_variables[name] = {"vault": {"path": f"old/{name}", "field": "value"}}
        for name in IN_PILLAR:
            secret_variables[name] = {"pillar": {"path": f"planted:{name}"}}
        for name in names[10:13]:
            secret_variables[name] = {"environment": {"path": f"PLANTED_{name}"}}
        for name in names[13:16]:
            (self.sources / name).write_text(SECRETS[name])
            secret_variables[name] = {"file": {"path": str(self.sources / name)}}
        for name in names[16:19]:
            script = self.sources / f"{name}.py"
            script.write_text(f"import json; print(json.dumps({{'value': {SECRETS[name]!r}}}))")
            secret_variables[name] = {"command": {"path": [sys.executable, str(script)]}}
        for name, text in (("printer", MODULE), ("taker", TAKER)):
            (folder / "modules" / name).mkdir()
            (folder / "modules" / name / "main.tf").write_text(text)
        components = {
            name: {
                "module": "printer",
                "provider": "lender",
                "variables": {"then": then},
                "secret_variables": secret_variables,
            }
            for name, then in (
                ("good", "true"),
                ("bad", "env >&2; exit 3"),
                ("slow", f"touch {folder}/asleep; sleep 60"),
            )
        }
        components["taker"] = {"module": "taker", "inputs": {"given": "@good.first"}}
        tree = {
            "infrastructure": {
                "vault": {
                    "address": vault,
                    "auth": {"method": "token", "token": {"file": str(self.sources / "token")}},
                },
                "providers": {"lender": LENDER},
                "environments": {"planted": {"components": components}},
            },
            "planted": {name: SECRETS[name] for name in IN_PILLAR},
        }
        (folder / "pillar" / "infrastructure.sls").write_text(yaml.safe_dump(tree, allow_unicode=True, width=10000))
        (folder / "pillar" / "top.sls").write_text(yaml.safe_dump({"base": {f"{WHO}*": ["infrastructure"]}}))
        self.environment = {f"PLANTED_{name}": SECRETS[name] for name in names[10:13]}


@pytest.fixture(scope="module")
def planted(factories: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Planted]:
    folder = tmp_path_factory.mktemp("planted")
    with dev_server(tmp_path_factory.mktemp("bao")) as server, pytest.MonkeyPatch.context() as patch:
        world = Planted(folder, server.address)
        (world.sources / "token").write_text(server.root)
        client = server.client()
        client.sys.enable_secrets_engine("kv", path="old", options={"version": "1"})
        for name, value in SECRETS.items():
            client.secrets.kv.v2.create_or_update_secret(name, {"value": value})
            client.secrets.kv.v1.create_or_update_secret(name, {"value": value}, mount_point="old")
        for name, value in world.environment.items():
            patch.setitem(factories.environ, name, value)
            patch.setenv(name, value)
        daemon = factories.salt_master_daemon(WHO, overrides=world.cluster.master_settings(), start_timeout=180)
        world.cluster.master_config = Path(daemon.config_dir)
        with daemon.started(), daemon.salt_api_daemon(start_timeout=180).started():
            yield world


def over_the_api(cluster: Cluster, verb: str, **arguments: Any) -> str:
    low = {"client": "runner", "fun": f"infrastructure.{verb}", "eauth": "sharedsecret", "username": "alice"}
    body = json.dumps([{**low, "password": API_SECRET, "environment": "planted", **arguments}]).encode()
    url = f"http://127.0.0.1:{cluster.api_port}/run"
    request = urllib.request.Request(url, body, {"Content-Type": "application/json", "Accept": "application/json"})
    with urllib.request.urlopen(request, timeout=TIMEOUT) as response:
        text: str = response.read().decode()
        return text


def cancelled(cluster: Cluster, folder: Path) -> str:
    with cluster.running("salt-run", "infrastructure.deploy", "planted", "components=slow") as process:
        wait_for(lambda: (folder / "asleep").exists())
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=TIMEOUT)
    assert process.returncode == 130, out + err
    return out + err


def test_no_planted_secret_is_found_anywhere_but_in_states_and_sources(planted: Planted, factories: Any) -> None:
    cluster, said = planted.cluster, {}
    with CommandLines() as lines:
        for name, words in {
            "plan": ("plan", "planted"),
            "apply": ("deploy", "planted", "components=good"),
            "failure": ("deploy", "planted", "components=bad", "on_error=continue"),
            "provider's error": ("deploy", "planted", "components=taker"),
            "drift": ("drift", "planted", "components=good"),
            "credentials": ("credentials", "planted"),
            "show": ("show", "last"),
            "debug": ("deploy", "planted", "components=bad", "-l", "all"),
        }.items():
            done = cluster.run("salt-run", f"infrastructure.{words[0]}", *words[1:])
            said[name] = done.stdout + done.stderr
        said["cancel"] = cancelled(cluster, planted.folder)
        said["salt-api"] = over_the_api(cluster, "deploy", components="bad")
    assert "good" in said["apply"]
    log = Path(json.loads(said["salt-api"])["return"][0]["steps"]["bad"]["log"]).read_text()
    assert log.count("(sensitive)") >= len(SECRETS), "the environment was not printed: nothing was put to the test"
    assert "LENT_TOKEN=(sensitive)" in log
    assert "is wrong" in said["provider's error"]
    events = [event.data for event in factories.event_listener.store]
    assert any("component" in str(data) for data in events)

    # Salt itself prints every pillar file it renders at log level debug; docs/credentials.md says so.
    rendered = said.pop("debug")
    not_in_pillar = {name: value for name, value in SECRETS.items() if name not in IN_PILLAR}
    found = search_text(not_in_pillar, rendered, "what a run at log level all printed")
    found += [hit for name, text in said.items() for hit in search_text(SECRETS, text, f"what {name} printed")]
    found += search_text(SECRETS, events, "an event")
    found += lines.search(SECRETS)
    places = [planted.folder, Path(cluster.master_config).parent]
    found += search_files(SECRETS, *places, allowed=lambda path: _allowed(path, planted))
    assert not found, report(found)


def _allowed(path: Path, planted: Planted) -> bool:
    """The sources themselves, and the states, where Terraform writes values of variables."""
    sources = (planted.sources, planted.folder / "pillar", planted.cluster.state_dir / "states")
    return any(path.is_relative_to(folder) for folder in sources)


def test_the_search_would_find_them(planted: Planted) -> None:
    """Those that stand in sources are found there, and the one that is an output is found in the states."""
    sources = search_files(SECRETS, planted.folder / "pillar", planted.sources)
    assert {hit.secret for hit in sources} >= {*IN_PILLAR, "secret14", "secret15", "secret16", "secret17"}
    states = search_files(SECRETS, planted.cluster.state_dir / "states")
    assert {hit.secret for hit in states} == {"secret01"}
