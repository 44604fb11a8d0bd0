"""Terraform as a person runs it: a folder, a command line, and an environment without surprises."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from saltform.config.types import Settings
from saltform.process import RealProcesses, clean_environment
from saltform.terraform import binary, mirror

TIMEOUT = 400


def provider_mirrors() -> list[str]:
    """The mirror made from the packaged provider, and the folder that HIVE_TEST_PROVIDERS names, if it does."""
    return ["auto", *filter(None, [os.environ.get("HIVE_TEST_PROVIDERS", "")])]


@dataclass
class PlainTerraform:
    """Commands in one folder. Each returns the lines of its JSON; a failure is an AssertionError that says why."""

    folder: Path
    cache: Path
    mirror: str = "auto"
    environment: Mapping[str, str] = field(default_factory=dict)

    def init(self) -> None:
        self._run("init", "-input=false", "-no-color")

    def validate(self) -> list[dict[str, Any]]:
        """The diagnostics: empty when the configuration is valid."""
        text = self._run("validate", "-json", may_fail=True)
        return json.JSONDecoder().raw_decode(text[text.index("{") :])[0]["diagnostics"]

    def unformatted(self) -> list[str]:
        """Files here and below that `terraform fmt` would change."""
        return self._run("fmt", "-check", "-recursive", may_fail=True).split()

    def apply(self, *options: str) -> dict[str, str]:
        """Address → action of what was done."""
        return _planned(self._run("apply", "-auto-approve", "-input=false", "-json", "-parallelism=30", *options))

    def plan(self, *options: str) -> dict[str, str]:
        return _planned(self._run("plan", "-input=false", "-json", *options))

    def destroy(self) -> None:
        self._run("destroy", "-auto-approve", "-input=false", "-json", "-parallelism=30")

    def outputs(self) -> dict[str, Any]:
        text = self._run("output", "-json", "-no-color")
        return {name: each["value"] for name, each in json.JSONDecoder().raw_decode(text)[0].items()}

    def _run(self, *arguments: str, may_fail: bool = False) -> str:
        found = binary.find("auto", cache_dir=self.cache, processes=RealProcesses())
        config = mirror.prepare(Settings(state_dir=self.cache, mirror=self.mirror), self.cache)
        environment = clean_environment(self.cache / "home", config.path, self.environment)
        command = [*found.path, *arguments]
        done = subprocess.run(
            command, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=TIMEOUT
        )
        if not may_fail:
            assert done.returncode == 0, f"terraform {arguments[0]}: {_errors(done.stdout)}{done.stderr}"
        return done.stdout


def _planned(text: str) -> dict[str, str]:
    events = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    changes = [event["change"] for event in events if event.get("type") == "planned_change"]
    return {change["resource"]["addr"]: change["action"] for change in changes}


def _errors(text: str) -> str:
    errors = [line for line in text.splitlines() if '"error"' in line or not line.startswith("{")]
    return "\n".join(errors[-20:])
