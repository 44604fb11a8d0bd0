"""salt/terraform: a minion becomes a worker whose Terraform finds its provider; a second time changes nothing."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest
import yaml

from saltform.process import RealProcesses
from saltform.terraform import binary, mirror
from tests.support.salt_local import SaltCall, changed, failed

ROOT_TF = """
terraform {
  required_providers {
    aws = { source = "registry.terraform.io/hashicorp/aws", version = "3.39.0" }
  }
}
"""


@pytest.fixture
def binary_archive(tmp_path):
    """The embedded Terraform as a release's zip: an executable `terraform` at its top."""
    prefix = binary.find("embedded", cache_dir=tmp_path / "versions", processes=RealProcesses()).path
    archive = tmp_path / "terraform.zip"
    entry = zipfile.ZipInfo("terraform")
    entry.external_attr = 0o755 << 16
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr(entry, f'#!/bin/sh\nexec {" ".join(prefix)} "$@"\n')
    return archive


def provider_archive() -> Path:
    [namespace] = importlib.util.find_spec("cloudrail").submodule_search_locations
    return Path(namespace) / "terraform_plugins" / mirror.ARCHIVE


def digest(path: Path) -> str:
    done = subprocess.run(["sha256sum", str(path)], capture_output=True, text=True, check=True)
    return "sha256=" + done.stdout.split()[0]


@pytest.fixture
def root(tmp_path):
    """Where the worker's files go. The provider is 170 MB, and Salt keeps its archive too: not left lying about."""
    yield tmp_path / "host"
    for name in ("host", "salt-root"):
        shutil.rmtree(tmp_path / name, ignore_errors=True)


def test_a_worker_with_its_own_binary_and_mirror(tmp_path, root, binary_archive):
    minion = SaltCall(tmp_path)
    provider = {
        "source": "registry.terraform.io/hashicorp/aws",
        "version": "3.39.0",
        "archive": str(provider_archive()),
        "hash": "sha256=" + mirror.SHA256,
    }
    worker = {
        "root": str(root),
        "binary": {"url": str(binary_archive), "hash": digest(binary_archive)},
        "providers": [provider],
        "certificates": {"hive": "-----BEGIN CERTIFICATE-----\nabc\n-----END CERTIFICATE-----\n"},
    }
    minion.pillar({"worker": worker})
    first = minion.apply("terraform")
    assert failed(first) == {}
    assert "Terraform v" in first["worker binary starts"]["changes"]["stdout"]

    second = minion.apply("terraform")
    assert (failed(second), changed(second)) == ({}, set())

    assert initialised(root, tmp_path / "root-module") == "3.39.0"
    assert (root / "var/lib/saltform").stat().st_mode & 0o777 == 0o700
    assert (root / "etc/saltform/certificates/hive.pem").read_text().startswith("-----BEGIN")
    settings = yaml.safe_load((root / "etc/salt/minion.d/saltform.conf").read_text())["saltform"]
    assert settings["mirror"] == str(root / "var/lib/saltform/worker/mirror")


def initialised(root: Path, folder: Path) -> str:
    """The version of the provider that the worker's Terraform finds with the worker's CLI configuration."""
    folder.mkdir()
    (folder / "main.tf").write_text(ROOT_TF)
    environment = {"PATH": os.environ["PATH"], "TF_CLI_CONFIG_FILE": str(root / "etc/saltform/terraform.tfrc")}
    command = [str(root / "usr/local/bin/terraform"), "init", "-no-color"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    [found] = (folder / ".terraform/providers/registry.terraform.io/hashicorp/aws").iterdir()
    return found.name


def test_a_damaged_archive_is_refused_and_not_unpacked(tmp_path, root, binary_archive):
    minion = SaltCall(tmp_path)
    binary_settings = {"url": str(binary_archive), "hash": "sha256=" + "0" * 64}
    minion.pillar({"worker": {"root": str(root), "binary": binary_settings}})
    problems = failed(minion.apply("terraform"))
    assert "worker binary fetched" in problems
    assert not (root / "usr/local/bin/terraform").exists()


def test_by_default_everything_comes_with_our_package_which_is_here_already(tmp_path):
    minion = SaltCall(tmp_path)
    minion.pillar({"worker": {"backends": ["local", "s3"]}})
    states = minion.run("state.show_sls", "terraform")
    assert "worker package" not in states
    assert {"pkgs": ["boto3"]} in states["worker backend readers"]["pip"]
    assert "worker binary" not in states
    assert {"name": "/var/lib/saltform"} in states["worker states"]["file"]
