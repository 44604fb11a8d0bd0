"""A small world for tests of operations: modules of terraform_data, a pillar to change, verbs to call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from saltform.bridge import runner
from saltform.config import Settings
from saltform.engine.result import failure
from saltform.engine.services import Services
from saltform.events import RecordedEvents
from saltform.process import RealProcesses

BASE = """
variable "name" { type = string }
variable "secret" {
  type      = string
  default   = "hush-hush-hush"
  sensitive = true
}
resource "terraform_data" "this" {
  input            = var.name
  triggers_replace = var.name == "replace-me" ? "yes" : "no"
}
output "id" { value = terraform_data.this.id }
output "name" { value = terraform_data.this.output }
output "password" {
  value     = var.secret
  sensitive = true
}
"""
APP = """
variable "base" { type = string }
variable "extra" {
  type    = any
  default = null
}
variable "password" {
  type    = string
  default = ""
}
resource "terraform_data" "this" { input = { base = var.base, extra = var.extra, hash = sha256(var.password) } }
output "got" { value = terraform_data.this.output }
output "address" { value = "app of ${var.base}" }
"""
COUNTED = """
variable "names" { type = list(string) }
resource "terraform_data" "each" {
  count = length(var.names)
  input = var.names[count.index]
}
output "names" { value = terraform_data.each[*].output }
"""
SHELL = """
variable "command" { type = string }
resource "terraform_data" "this" {
  input = var.command
  provisioner "local-exec" { command = var.command }
}
output "done" { value = terraform_data.this.id }
"""
MODULES = {"base": BASE, "app": APP, "counted": COUNTED, "shell": SHELL}


def fake_terraform(folder: Path) -> str:
    """A terraform that can tell its version and nothing else."""
    path = folder / "terraform"
    path.write_text('#!/bin/sh\n[ "$1" = version ] && echo "Terraform v1.9.0" && exit 0\nexit 1\n')
    path.chmod(0o700)
    return str(path)


class CountedProcesses(RealProcesses):
    """Real processes, and a list of what was started."""

    def __init__(self) -> None:
        self.started: list[list[str]] = []

    def run(self, argv: Any, **given: Any) -> Any:
        self.started.append(list(argv))
        return super().run(argv, **given)

    def commands(self) -> list[str]:
        """The terraform subcommands that were started."""
        known = {"init", "plan", "apply", "show", "validate", "output", "version", "state"}
        return [next((word for word in argv if word in known), argv[0]) for argv in self.started]


class World:
    """One master's state folder with one environment, `staging`."""

    def __init__(self, home: Path, binary: str = "auto") -> None:
        self.home = home
        self.binary = binary
        self.components: dict[str, Any] = {}
        self.infrastructure: dict[str, Any] = {}
        self.author = "ada"
        self.processes = CountedProcesses()
        self.events = RecordedEvents()
        for name, text in MODULES.items():
            self.module(name, text)

    @property
    def state_dir(self) -> Path:
        return self.home / "state"

    def module(self, name: str, text: str) -> Path:
        folder = self.home / "modules" / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "main.tf").write_text(text)
        return folder

    def services(self, **given: Any) -> Services:
        defaults = {"binary": self.binary, **self.infrastructure.get("defaults", {})}
        environments = {"staging": {"components": self.components}, **self.infrastructure.get("environments", {})}
        tree = {**self.infrastructure, "defaults": defaults, "environments": environments}
        self.processes, self.events = CountedProcesses(), RecordedEvents()
        (self.home / "mirror").mkdir(exist_ok=True)  # terraform_data needs no provider: nothing to unpack
        settings = Settings(self.state_dir, (self.home / "modules",), mirror=str(self.home / "mirror"))
        return Services(
            settings,
            {"infrastructure": tree},
            **{"author": self.author, "processes": self.processes, "events": self.events, **given},
        )

    def call(self, verb: str, *arguments: Any, services: Services | None = None) -> dict[str, Any]:
        """A verb as the runner calls it: an error is a return, too."""
        services = services or self.services()
        try:
            return runner.call(verb, services, *arguments)
        except Exception as error:
            return failure(verb, error)
        finally:
            services.close()

    def deploy(self, **options: Any) -> dict[str, Any]:
        return self.call("deploy", "staging", options)

    def plan(self, **options: Any) -> dict[str, Any]:
        return self.call("plan", "staging", options)

    def destroy(self, **options: Any) -> dict[str, Any]:
        return self.call("destroy", "staging", {"yes": True, **options})


def statuses(returned: dict[str, Any]) -> dict[str, str]:
    return {name: step["status"] for name, step in returned["steps"].items()}
