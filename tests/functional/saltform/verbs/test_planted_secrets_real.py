"""Twenty planted secrets through every source, plan, apply, failure and cancel: afterwards they are nowhere.

The worst case is made on purpose: provisioners print their whole environment, in several encodings, into terraform's
output, and fail with it, so that the secrets are in its error messages too.
"""

from __future__ import annotations

import json
import threading
import time

import pytest

from saltform.config import Settings
from saltform.engine.services import Services
from saltform.verbs.credentials import credentials
from saltform.verbs.deploy import deploy
from saltform.verbs.destroy import destroy
from saltform.verbs.history import history
from saltform.verbs.plan import plan
from saltform.verbs.report import report as written_report
from saltform.verbs.show import show
from saltform.verbs.status import status
from tests.support.openbao import dev_server
from tests.support.planted import CommandLines, report, search_files, search_text

LINES = [f"{n}pLaNtEdKeyLine/{'abcDEF+' * 6}{n}" for n in range(3)]
KEY = "\n".join(["-----BEGIN PRIVATE KEY-----", *LINES, "-----END PRIVATE KEY-----"])
SECRETS = {
    **{f"secret {n}": f"pl4nted-{n:02}-{'xyzXYZ' * (n % 4 + 1)}" for n in range(16)},
    "quoted": 'pl4nted "quoted" & <marked> \\ pl4nted',
    "unicode": "pl4nted-Ünïcödé-pl4nted",
    "slashes": "pl4nted/with+slashes/and=signs+pl4nted",
    "key": KEY,
}

# What a careless module does: everything it was given, to standard output, as it is and encoded.
SPILL = "printenv | grep -a -A9 SPILL; printenv | grep -a SPILL | base64 -w0; echo; printenv PAYLOAD"
MODULE = {
    "variable": {"values": {"type": "string", "sensitive": True}, "end": {"type": "string"}},
    "resource": {
        "terraform_data": {
            "spill": {
                "triggers_replace": ["${nonsensitive(sha256(var.values))}", "${var.end}"],
                "provisioner": [{"local-exec": {"command": f"{SPILL}; ${{var.end}}"}}],
            }
        }
    },
}


def sources(bao, folder):
    """Each secret from one of the sources, in turn: (where it is put, how pillar names it)."""
    client = bao.client()
    client.sys.enable_secrets_engine("kv", path="old", options={"version": "1"})
    pillar, environ, named = {}, {}, {}
    for number, value in enumerate(SECRETS.values()):
        variable = f"SPILL_{number}"
        match number % 6:
            case 0:
                client.secrets.kv.v2.create_or_update_secret(f"p/{number}", {"v": value})
                named[variable] = {"vault": {"path": f"secret/p/{number}", "map": {variable: "v"}}}
            case 1:
                client.secrets.kv.v1.create_or_update_secret(f"p/{number}", {"v": value}, mount_point="old")
                named[variable] = {"vault": {"path": f"old/p/{number}", "map": {variable: "v"}}}
            case 2:
                pillar[f"planted{number}"] = value
                named[variable] = {"pillar": {"path": f"planted{number}", "map": {variable: "value"}}}
            case 3:
                environ[f"PLANTED_{number}"] = value
                named[variable] = {"environment": {"map": {variable: f"PLANTED_{number}"}}}
            case 4:
                (folder / f"{number}").write_text(value)
                named[variable] = {"file": {"path": str(folder / f"{number}"), "map": {variable: "content"}}}
            case 5:
                (folder / f"{number}.json").write_text(json.dumps({"v": value}))
                named[variable] = {
                    "command": {"path": ["cat", str(folder / f"{number}.json")], "map": {variable: "v"}}
                }
    return pillar, environ, named


@pytest.fixture
def planted(tmp_path, monkeypatch):
    for name in ("bao", "given", "modules/spill"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "modules" / "spill" / "main.tf.json").write_text(json.dumps(MODULE))
    with dev_server(tmp_path / "bao") as bao:
        pillar, environ, named = sources(bao, tmp_path / "given")
        for name, value in environ.items():
            monkeypatch.setenv(name, value)
        bao.client().secrets.kv.v2.create_or_update_secret("values", {"values": json.dumps(SECRETS)})
        provider = {
            "kind": "generic",
            "source": "terraform.io/builtin/terraform",
            "credentials": list(named.values()),
        }

        def services(end="true"):
            component = {
                "module": "spill",
                "provider": "planted",
                "variables": {"end": end},
                "secret_variables": {"values": {"vault": {"path": "secret/values", "field": "values"}}},
            }
            infrastructure = {
                "vault": {"address": bao.address, "auth": {"token": bao.root}},
                "providers": {"planted": provider},
                "environments": {"staging": {"components": {"spill": component}}},
            }
            settings = Settings(tmp_path / "state", (tmp_path / "modules",))
            return Services(settings, {**pillar, "infrastructure": infrastructure}, author="tester")

        yield services


def test_no_planted_secret_is_found_anywhere_but_in_the_two_named_exceptions(planted, tmp_path):
    said: list[object] = []
    runs: list[str] = []

    def run(expected, verb, services, *arguments):
        returned = verb(services, *arguments)
        said.append((returned, services.events.fired))
        runs.append(services.run_id)
        services.close()
        assert returned["retcode"] == expected, json.dumps(returned, indent=1)
        return returned

    with CommandLines() as lines:
        run(0, credentials, planted(), "staging", None, False)
        run(2, plan, planted(), "staging", {})
        failed = run(1, deploy, planted("exit 3"), "staging", {})
        run(0, deploy, planted(), "staging", {})
        cancelled = planted("sleep 60")
        log = tmp_path / "state" / "runs" / cancelled.run_id / "logs" / "spill.log"
        threading.Thread(target=cancel_once_it_spills, args=(cancelled, log), daemon=True).start()
        run(130, deploy, cancelled, "staging", {"on_error": "stop"})
        for recorded in runs[2:]:
            run(0, show, planted(), recorded)
        for form in ("json", "markdown", "html"):
            run(0, written_report, planted(), runs[2], form)
        run(0, history, planted(), "staging", 10)
        run(0, status, planted(), "staging")
        run(0, destroy, planted(), "staging", {"yes": True})

    logs = "".join(path.read_text() for path in (tmp_path / "state").rglob("*.log"))
    assert logs.count("(sensitive)") > 60, "the module must have spilled, or this test proves nothing"
    assert "(sensitive)" in str(failed), "and its error message too"
    found = search_text(SECRETS, said, "what was returned or fired") + lines.search(SECRETS)
    found += search_files(SECRETS, tmp_path / "state", allowed=lambda path: path.suffix == ".tfstate")
    assert not found, report(found)


def cancel_once_it_spills(services, log):
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if log.exists() and "SPILL_19" in log.read_text():
            services.cancel.set()
            return
        time.sleep(0.05)
