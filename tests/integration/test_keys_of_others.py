"""A module's output deletes only keys of its own component's minions: a real master, real keys, real Terraform."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import salt.config
import salt.wheel
import yaml

from saltform.bridge.minions import SaltMinions
from saltform.errors import SaltformError
from tests.support.cluster import Cluster

HOSTS = """
variable "minions" { type = list(string) }
variable "minion_tokens" {
  type      = map(string)
  sensitive = true
}
variable "claims" { type = map(string) }
resource "terraform_data" "host" { for_each = toset(var.minions) }
output "minions" { value = merge(var.claims, { for id, host in terraform_data.host : id => host.id }) }
"""


class Keys:
    """The keys of the master, by its own wheel."""

    def __init__(self, cluster: Cluster) -> None:
        self.options = salt.config.master_config(str(cluster.master_config / "master"))

    def wheel(self, function: str, *arguments: Any) -> dict[str, Any]:
        client = salt.wheel.WheelClient(dict(self.options))
        try:
            found: dict[str, Any] = client.cmd(function, list(arguments), print_event=False)
        finally:
            getattr(client, "destroy", int)()  # Salt 3006 has none
        return found

    def accepted(self) -> set[str]:
        return {minion for minion in self.wheel("key.list_all")["minions"] if minion.startswith("key-")}

    def make(self, *minions: str) -> None:
        for minion in minions:
            self.wheel("key.gen_accept", minion)


@pytest.fixture
def keys(master: Any, cluster_files: Cluster) -> Keys:
    return Keys(cluster_files)


def deploy(cluster: Cluster, claims: dict[str, str], minions: list[str]) -> None:
    path = cluster.pillar / "infrastructure.sls"
    tree = yaml.safe_load(path.read_text())
    component = {"module": "claiming", "variables": {"claims": claims}, "minions": minions}
    tree["infrastructure"]["environments"]["claims"] = {"components": {"hosts": component}}
    path.write_text(yaml.safe_dump(tree))
    ended = cluster.runner("deploy", "claims")
    assert ended.exit_code == 0, ended.stdout + ended.stderr


def test_module_output_deletes_no_key_of_others_by_id_or_by_glob(cluster_files: Cluster, keys: Keys) -> None:
    (cluster_files.folder / "modules" / "claiming").mkdir(exist_ok=True)
    Path(cluster_files.folder, "modules", "claiming", "main.tf").write_text(HOSTS)
    claims = {"key-*": "i-1", "key-web": "i-2", "../minions/key-web": "i-3"}
    deploy(cluster_files, claims, ["key-own-1", "key-own-2"])
    keys.make("key-web", "key-own-1", "key-own-2")
    deploy(cluster_files, dict.fromkeys(claims, "i-9"), ["key-own-1", "key-own-2"])  # replaced, it says
    assert keys.accepted() == {"key-web", "key-own-1", "key-own-2"}
    deploy(cluster_files, {}, ["key-own-2"])  # gone, it says, and one of its own really is
    assert keys.accepted() == {"key-web", "key-own-2"}


def test_keys_are_accepted_and_deleted_exactly(cluster_files: Cluster, keys: Keys) -> None:
    keys.make("key-a", "key-b")
    minions = SaltMinions(keys.options)
    for glob in ("*", "key-?", "key-[ab]", "../key-a", "key-a\n", ""):
        for touch in (lambda each: minions.delete((each,)), minions.accept, minions.public_key):
            with pytest.raises(SaltformError, match="no minion id"):
                touch(glob)
    assert keys.accepted() >= {"key-a", "key-b"}
    minions.delete(("key-a", "key-never-there"))
    assert keys.accepted() & {"key-a", "key-b"} == {"key-b"}
    minions.delete(("key-b",))
    minions.delete(())
