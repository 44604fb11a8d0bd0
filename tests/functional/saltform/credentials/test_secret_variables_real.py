"""Secret variables in real Terraform: a static one is sensitive, a leased one ephemeral and in no plan."""

from __future__ import annotations

import hashlib
import json
from datetime import datetime, timedelta, timezone

from saltform.credentials.lender import Lender, takes_ephemeral
from saltform.process import RealProcesses
from saltform.process.scripted import Answer, ScriptedProcesses
from saltform.terraform import binary
from tests.support.credentials import component, source
from tests.support.plain_terraform import PlainTerraform
from tests.support.planted import report, search_files

ROOT = {
    "variable": {
        "psk": {"type": "string", "sensitive": True},
        "db_password": {"type": "string", "sensitive": True, "ephemeral": True},
    },
    "resource": {
        "terraform_data": {
            "one": {
                "triggers_replace": "${sha256(var.psk)}",
                "provisioner": [
                    {
                        "local-exec": {
                            "command": 'printf %s "$PASSWORD" | sha256sum > used',
                            "environment": {"PASSWORD": "${var.db_password}"},
                        }
                    }
                ],
            }
        }
    },
}


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def test_a_lease_that_ends_between_plan_and_apply_is_fetched_anew_and_the_same_plan_is_applied(tmp_path):
    found = binary.find("auto", cache_dir=tmp_path / "cache", processes=RealProcesses())
    assert takes_ephemeral(found.product, found.version)
    passwords = [f"leased-password-{n}-0123456789" for n in range(3)]
    clock, given = Clock(), []

    def helper(call):
        given.append(passwords[len(given)])
        ends = datetime.now(timezone.utc) + timedelta(seconds=300)
        return Answer([json.dumps({"password": given[-1], "Expiration": ends.isoformat()})])

    lender = Lender(
        pillar={"psk": "static-psk-0123456789"}, environ={}, processes=ScriptedProcesses(helper), clock=clock
    )
    secrets = {
        "psk": source("pillar", path="psk"),
        "db_password": source("command", path="helper", field="password"),
    }
    (tmp_path / "main.tf.json").write_text(json.dumps(ROOT))
    with lender, lender.lend(component(secrets=secrets)) as loan:
        planning = PlainTerraform(tmp_path, tmp_path / "cache", environment=loan.environment)
        planning.init()
        assert planning.plan("-out=saved") == {"terraform_data.one": "create"}
        clock.now = 290.0
        applying = PlainTerraform(tmp_path, tmp_path / "cache", environment=loan.environment)
        applying.apply("saved")
    assert given == passwords[:2]
    assert (tmp_path / "used").read_text().split()[0] == hashlib.sha256(passwords[1].encode()).hexdigest()
    leaked = search_files({f"password {n}": password for n, password in enumerate(given)}, tmp_path)
    assert not leaked, report(leaked)
    exceptions = {item.where.partition("!")[0] for item in search_files({"psk": "static-psk-0123456789"}, tmp_path)}
    assert exceptions <= {str(tmp_path / "saved"), str(tmp_path / "terraform.tfstate")}, "the two that are documented"
