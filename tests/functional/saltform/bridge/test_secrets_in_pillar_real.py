"""Secrets in pillar as Salt keeps them: encrypted for its GPG renderer, and as references to sdb."""

from __future__ import annotations

import shutil
import subprocess
import tempfile

import pytest

from saltform.bridge.host import sdb_resolver
from saltform.bridge.runner import runner_pillar
from saltform.config import Settings
from saltform.credentials.lender import Lender
from saltform.errors import CredentialError
from tests.support.credentials import component, source

OWNER = "master@example.com"
SLS = """#!yaml|gpg
infrastructure: {environments: {}}
secrets:
  hive:
    AWS_ACCESS_KEY_ID: sdb://osenv/PILLAR_TEST_KEY
    AWS_SECRET_ACCESS_KEY: |
%s
  lost: {AWS_ACCESS_KEY_ID: a, AWS_SECRET_ACCESS_KEY: sdb://nowhere/x}
  broken: {AWS_ACCESS_KEY_ID: a, AWS_SECRET_ACCESS_KEY: sdb://wrong/x}
"""


def gpg(home, *arguments, **given):
    done = subprocess.run(["gpg", "--homedir", home, "--batch", *arguments], check=True, capture_output=True, **given)
    return done.stdout


@pytest.fixture
def keyring():
    """A folder with a short name: the agent's socket is in it."""
    if shutil.which("gpg") is None:
        pytest.skip("gpg is not installed")
    with tempfile.TemporaryDirectory(prefix="gpg") as home:
        gpg(home, "--passphrase", "", "--quick-gen-key", OWNER, "default", "default", "never")
        yield home
        subprocess.run(["gpgconf", "--homedir", home, "--kill", "all"], check=True)


@pytest.fixture
def opts(tmp_path, keyring):
    import salt.config

    secret = b"the-secret-that-gpg-hides"
    armoured = gpg(keyring, "--armor", "--trust-model", "always", "-r", OWNER, "--encrypt", input=secret).decode()
    (tmp_path / "pillar").mkdir()
    (tmp_path / "pillar" / "top.sls").write_text("base: {'*': [data]}\n")
    indented = "\n".join(f"      {line}" for line in armoured.splitlines())
    (tmp_path / "pillar" / "data.sls").write_text(SLS % indented)
    given = {
        "root_dir": str(tmp_path),
        "id": "test_master",
        "cachedir": str(tmp_path / "cache"),
        "file_roots": {"base": []},
        "pillar_roots": {"base": [str(tmp_path / "pillar")]},
        "gpg_keydir": keyring,
        "osenv": {"driver": "env"},
        "wrong": {"driver": "no_such_driver"},
    }
    return salt.config.apply_master_config(given) | {"__role": "master", "file_client": "local"}


def test_both_are_lent_resolved_and_what_salt_can_not_resolve_is_refused(opts, tmp_path, monkeypatch):
    monkeypatch.setenv("PILLAR_TEST_KEY", "AKIAFROMSDB000000001")
    pillar = runner_pillar(opts, Settings(tmp_path / "state", pillar_id="test_master"))
    assert pillar["secrets"]["hive"]["AWS_ACCESS_KEY_ID"].startswith("sdb://")  # Salt leaves it to who uses it
    with Lender(environ={}, pillar=pillar, resolve=sdb_resolver(opts)) as lender:
        with lender.lend(component(source("pillar", path="secrets:hive"))) as loan:
            assert loan.environment == {
                "AWS_ACCESS_KEY_ID": "AKIAFROMSDB000000001",
                "AWS_SECRET_ACCESS_KEY": "the-secret-that-gpg-hides",
            }
        with pytest.raises(CredentialError, match="holds a reference, not a value"):
            lender.lend(component(source("pillar", path="secrets:lost")))
        with pytest.raises(CredentialError, match="sdb can't be asked.*'wrong'"):
            lender.lend(component(source("pillar", path="secrets:broken")))
