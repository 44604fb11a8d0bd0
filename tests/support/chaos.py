"""What all rounds of `make chaos` share: random graphs of components that make files, and what must be true."""

from __future__ import annotations

import contextlib
import os
import random
import time
from pathlib import Path

from tests.support.world import World

ROUNDS = int(os.environ.get("SALTFORM_CHAOS_ROUNDS", "50"))
SEED = os.environ.get("SALTFORM_CHAOS_SEED", "20261116")
NAMES = ("a", "b", "c", "d", "e")

# Makes a file with its value, and removes it again; two at once are noticed.
MODULE = """
variable "name" { type = string }
variable "value" { type = string }
variable "home" { type = string }
variable "upstream" {
  type    = string
  default = ""
}
locals { value = "${var.value}${var.upstream}" }
resource "terraform_data" "this" {
  input            = { file = "${var.home}/reality/${var.name}", home = var.home, name = var.name }
  triggers_replace = [local.value]
  provisioner "local-exec" {
    command = <<-EOT
      exec 9>>${self.input.home}/busy.${self.input.name}
      flock -n 9 || { echo "${self.input.name} twice" >> ${self.input.home}/ledger; exit 1; }
      echo "${self.input.name} begin" >> ${self.input.home}/ledger
      echo "${local.value}" > ${self.input.file}
      echo "${self.input.name} end" >> ${self.input.home}/ledger
    EOT
  }
  provisioner "local-exec" {
    when    = destroy
    command = "rm -f ${self.input.file}; echo \\"${self.input.name} gone\\" >> ${self.input.home}/ledger"
  }
}
output "value" { value = local.value }
"""


def graph(chance: random.Random, home: Path) -> dict:
    """Two to five components, each on some of those before it, some with their value."""
    components: dict = {}
    for name in NAMES[: chance.randint(2, 5)]:
        before = [other for other in components if chance.random() < 0.4]
        variables = {"name": name, "value": f"{name}{chance.randrange(3)}", "home": str(home)}
        components[name] = {"module": "chaos", "variables": variables, "needs": before}
        if before and chance.random() < 0.5:
            components[name]["inputs"] = {"upstream": f"@{before[0]}.value"}
    return components


def expected(components: dict, there: set[str]) -> dict[str, str]:
    """What an undisturbed run ends with."""
    values: dict[str, str] = {}
    for name, component in components.items():
        upstream = component.get("inputs", {}).get("upstream", "")
        values[name] = component["variables"]["value"] + values.get(upstream.removeprefix("@").split(".")[0], "")
    return {name: value for name, value in values.items() if name in there}


def started(world: World) -> int:
    return sum(1 for _ in (world.state_dir / "runs").glob("*/alive"))


def wait_until(condition, seconds: float = 120, every: float = 0.005) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(every)


def in_workspaces(world: World) -> list[int]:
    """The processes at work in this world's workspaces: terraform, its providers, its provisioners."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (entry / "cwd").readlink().is_relative_to(world.state_dir / "workspaces"):
                found.append(int(entry.name))
    return found


def nothing_is_left(world: World) -> None:
    """Nobody holds anything, nobody works, and no run waits to go on."""
    assert world.call("locks", "staging")["locks"] == {}
    assert in_workspaces(world) == []
    assert world.call("status", "staging")["notes"] == []
