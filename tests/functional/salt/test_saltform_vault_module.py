"""The execution module `saltform_vault` as Salt runs it: what it returns, prints and logs has no key in it."""

from __future__ import annotations

import socket

import pytest

from saltform.credentials import vault_init
from tests.support.openbao import dev_server, real_server
from tests.support.planted import report, search_files, search_text
from tests.support.salt_local import ROOT, SaltCall


@pytest.fixture
def salt(tmp_path):
    (tmp_path / "salt").mkdir()
    roots = {"base": [str(tmp_path / "salt" / "states"), str(ROOT / "salt")]}
    settings = {"module_dirs": [str(ROOT / "salt")], "log_level_logfile": "trace", "file_roots": roots}
    return SaltCall(tmp_path / "salt", **settings)


def test_ready_initialises_and_unseals_and_no_key_is_left_with_salt(tmp_path, salt):
    for name in ("safe", "new"):
        (tmp_path / name).mkdir()
    with dev_server(tmp_path / "safe") as keeper, real_server(tmp_path / "new", storage="inmem") as new:
        (tmp_path / "token").write_text(keeper.root)
        auth = {"token": {"file": str(tmp_path / "token")}}
        safe = {"vault": {"address": keeper.address, "auth": auth, "path": "secret/vaults/new"}}
        settings = {"address": new.address, "shares": 2, "threshold": 2, "safe": safe}
        salt.pillar({"vault": settings})
        assert salt.run("saltform_vault.status")["initialised"] is False
        applied = salt.apply("components.vault.ready")
        assert applied["vault is ready"]["result"] is True, applied
        again = salt.run("saltform_vault.ready")
        assert (again["sealed"], again["changes"]) == (False, [])
        context = vault_init.open_safe(settings)
        kept = context.load()
        context.close()
    secrets = {"root token": kept["root_token"], **{f"share {n}": key for n, key in enumerate(kept["keys"])}}
    found = search_files(secrets, salt.folder) + search_text(secrets, [applied, again], "what was returned")
    assert not found, report(found)


def test_an_error_is_one_message_with_its_fix_and_no_traceback(salt):
    salt.pillar({"vault": {"address": "http://127.0.0.1:1", "safe": {}}})
    with pytest.raises(AssertionError) as caught:  # what salt-call printed, which is no JSON when a function fails
        salt.run("saltform_vault.ready")
    said = str(caught.value)
    assert "exit 1" in said
    assert "No safe for the keys of this Vault" in said
    assert "fix: safe: {gpg:" in said
    assert "Traceback" not in said


@pytest.mark.parametrize("function", ["status", "ready"])
def test_the_pillar_of_a_call_does_not_say_where_the_keys_go(tmp_path, salt, function):
    safe = {"gpg": {"recipients": ["sre@example.com"], "file": str(tmp_path / "keys.asc")}}
    salt.pillar({"vault": {"address": "http://127.0.0.1:1", "safe": safe}})
    states = tmp_path / "salt" / "states"
    states.mkdir()
    (states / "asked.sls").write_text(f"asked: {{module.run: [{{saltform_vault.{function}: []}}]}}")
    with socket.create_server(("127.0.0.1", 0)) as mine:
        mine.setblocking(False)
        pillar = {"vault": {"address": f"http://127.0.0.1:{mine.getsockname()[1]}"}}
        applied = salt.apply("asked", pillar=pillar)
        assert applied["asked"]["result"] is False, applied
        with pytest.raises(BlockingIOError):  # nobody came
            mine.accept()
