"""A real apply brings a real minion up: its token lets it in, what needs it waits for its highstate, and a destroy
takes its key away. Terraform, aws provider, master and minion are real; the cloud is the emulator.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from hive_emulator.testing import RunningHive, running_emulator
from saltform.runlog import RunLog
from tests.support import machines
from tests.support.cluster import ROOT, Cluster, data, wait_for

MINION = "host-1"
HOSTS = """
variable "minions" { type = list(string) }
variable "minion_tokens" {
  type      = map(string)
  sensitive = true
}
variable "ports" { type = list(number) }
data "aws_ami" "image" {
  most_recent = true
  owners      = ["000000000000"]
  filter {
    name   = "name"
    values = ["*debian-12*amd64*"]
  }
}
resource "aws_instance" "this" {
  for_each      = toset(var.minions)
  ami           = data.aws_ami.image.id
  instance_type = "t3.micro"
  user_data     = yamlencode({
    id                   = each.key
    master               = "127.0.0.1"
    master_port          = var.ports[0]
    publish_port         = var.ports[1]
    autosign_grains      = ["saltform_token"]
    grains               = { saltform_token = var.minion_tokens[each.key], role = "host" }
    rejected_retry       = true
    acceptance_wait_time = 1
    enable_fqdns_grains  = false
  })
  lifecycle { ignore_changes = [user_data] }
}
output "minions" { value = { for id, host in aws_instance.this : id => host.id } }
output "address" { value = aws_instance.this["host-1"].private_ip }
"""


@pytest.fixture
def room() -> Iterator[Path]:
    """Where the machines are: a short path, because a minion has sockets in there."""
    with tempfile.TemporaryDirectory(prefix="m-") as folder:
        try:
            yield Path(folder)
        finally:
            for machine in Path(folder).iterdir():
                machines.terminate(machine)


@pytest.fixture
def hive(room: Path) -> Iterator[RunningHive]:
    hook = f"{sys.executable} {ROOT / 'tests' / 'support' / 'machines.py'} {room}"
    with running_emulator(options=["--on-launch", hook, "--on-terminate", hook]) as running:
        yield running


@pytest.fixture
def hosted(master: Any, cluster_files: Cluster, hive: RunningHive, tmp_path: Path) -> Cluster:
    """The cluster with an environment `hosted`: hosts that converge, and an app on them."""
    cluster = cluster_files
    folder = cluster.folder / "modules" / "hosts"
    folder.mkdir(exist_ok=True)
    (folder / "main.tf").write_text(HOSTS)
    path = cluster.pillar / "infrastructure.sls"
    tree = yaml.safe_load(path.read_text())
    provider = {"kind": "aws", "endpoint": hive.endpoint, "region": hive.region, "ca": str(hive.ca or "")}
    tree["keys"] = {"AWS_ACCESS_KEY_ID": hive.access_key, "AWS_SECRET_ACCESS_KEY": hive.secret_key}
    tree["infrastructure"]["providers"] = {"hive": provider | {"credentials": {"pillar": {"path": "keys"}}}}
    hosts = {
        "module": "hosts",
        "provider": "hive",
        "variables": {"ports": [master.config["ret_port"], master.config["publish_port"]]},
        "minions": [MINION],
        "targets": "G@role:host",
        "converge": {"target": "G@role:host", "highstate": True, "health": "test.ping", "timeout": "200s"},
    }
    tree["infrastructure"]["environments"]["hosted"] = {
        "components": {"hosts": hosts, "app": data("app", needs=["hosts"])}
    }
    path.write_text(yaml.safe_dump(tree))
    (cluster.sls / "top.sls").write_text("base: {'role:host': [{match: grain}, host]}\n")
    (cluster.sls / "host.sls").write_text(
        f"{tmp_path}/address:\n  file.managed:\n"
        "    - contents: {{ pillar['terraform']['hosted']['hosts']['address'] | json }}\n"
    )
    return cluster


def keys(master: Any) -> list[str]:
    """Where the master has a key of the minion."""
    return [path.parent.name for path in Path(master.config["pki_dir"]).rglob(MINION)]


def test_an_instance_becomes_a_minion_and_goes_with_its_key(
    hosted: Cluster, master: Any, room: Path, tmp_path: Path
) -> None:
    deployed = hosted.runner("deploy", "hosted")
    assert deployed.exit_code == 0, deployed.stdout + deployed.stderr
    steps = deployed.tree["steps"]
    assert {name: step["status"] for name, step in steps.items()} == {"hosts": "applied", "app": "applied"}
    # The highstate saw the address that the apply had made a moment before.
    address = deployed.tree["outputs"]["hosts"]["address"]
    assert (tmp_path / "address").read_text().strip() == address
    assert keys(master) == ["minions"]
    [instance] = deployed.tree["outputs"]["hosts"]["minions"].values()
    held = hosted.runner("keys", "hosted")
    assert held.exit_code == 0, held.stdout
    found = held.tree["components"]["hosts"][MINION]
    assert (found["instance"], found["token"].split()[0]) == (instance, "used")

    with contextlib.closing(RunLog(hosted.layout.runlog)) as log:
        on_record = {step.component: step for step in log.steps(deployed.tree["run"])}
    assert on_record["app"].started >= on_record["hosts"].ended

    destroyed = hosted.runner("destroy", "hosted", "yes=True")
    assert destroyed.exit_code == 0, destroyed.stdout + destroyed.stderr
    assert keys(master) == []
    wait_for(lambda: not (room / instance / "pid").exists(), 60)
