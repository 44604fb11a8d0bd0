"""A Vault of our own: initialised, unsealed, restarted and unsealed again, its keys in the safe and nowhere else."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import tempfile
import threading
from pathlib import Path

import pytest

from hive_emulator.testing import free_port
from saltform.credentials import vault_init
from saltform.credentials.safes import EMPTY, GpgSafe
from saltform.errors import CredentialError
from tests.support.disk_calls import disk_calls
from tests.support.openbao import real_server
from tests.support.planted import CommandLines, report, search_files, search_text

OWNERS = ("first@example.com", "second@example.com")


def gpg(home, *arguments):
    return subprocess.run(["gpg", "--homedir", home, "--batch", *arguments], check=True, capture_output=True).stdout


@pytest.fixture(scope="module")
def keyring():
    """A folder with a short name (the agent's socket is in it), and two keys without a passphrase."""
    if shutil.which("gpg") is None:
        pytest.skip("gpg is not installed")
    with tempfile.TemporaryDirectory(prefix="gpg") as home:
        for owner in OWNERS:
            gpg(home, "--passphrase", "", "--quick-gen-key", owner, "default", "default", "never")
        yield home
        subprocess.run(["gpgconf", "--homedir", home, "--kill", "all"], check=True)


@pytest.fixture
def lookups(keyring):
    """Who came to the socket of `dirmngr`, the program that looks up keys on the network for gpg."""
    listed = subprocess.run(
        ["gpgconf", "--homedir", keyring, "--list-dirs", "dirmngr-socket"], check=True, capture_output=True, text=True
    )
    path, came = listed.stdout.strip(), []
    Path(path).unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        server.listen()

        def answer():
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return  # the test is over
                came.append("somebody")
                connection.close()

        threading.Thread(target=answer, daemon=True).start()
        yield came
    Path(path).unlink(missing_ok=True)


@pytest.fixture
def gpg_safe(keyring, tmp_path):
    return {"gpg": {"recipients": list(OWNERS), "file": str(tmp_path / "safe" / "keys.asc"), "home": keyring}}


@pytest.fixture
def vault_safe(bao, request):
    path = f"secret/vaults/{request.node.name}"
    return {"vault": {"address": bao.address, "auth": {"token": bao.root}, "path": path}}


def kept(safe):
    context = vault_init.open_safe({"safe": safe})
    try:
        return context.load()
    finally:
        context.close()


@pytest.mark.parametrize("kind", ["gpg_safe", "vault_safe"])
def test_a_new_vault_is_initialised_and_unsealed_and_again_after_a_restart(tmp_path, request, kind):
    safe, port = request.getfixturevalue(kind), free_port()
    settings = {"address": f"http://127.0.0.1:{port}", "shares": 3, "threshold": 2, "safe": safe}
    with CommandLines() as lines:
        with real_server(tmp_path, port) as server:
            assert vault_init.status(settings)["initialised"] is False
            first = vault_init.ready(settings)
            assert first["changes"] == ["initialised", "unsealed"]
            assert vault_init.ready(settings)["changes"] == []
            server.root = kept(safe)["root_token"]
            server.client().sys.enable_secrets_engine("kv", path="kv1")
            server.client().secrets.kv.v1.create_or_update_secret("x", {"a": "survives"}, mount_point="kv1")
        with real_server(tmp_path, port) as server:
            assert vault_init.status(settings)["sealed"] is True
            again = vault_init.ready(settings)
            assert again["changes"] == ["unsealed"]
            server.root = kept(safe)["root_token"]
            read = server.client().secrets.kv.v1.read_secret("x", mount_point="kv1")
            assert read["data"] == {"a": "survives"}
    inside = kept(safe)
    assert len(inside["keys"]) == 3
    secrets = {"root token": inside["root_token"], **{f"share {n}": key for n, key in enumerate(inside["keys"])}}
    found = search_text(secrets, [first, again], "what was returned") + lines.search(secrets)
    found += search_files(secrets, tmp_path)
    assert not found, report(found)


def test_the_gpg_safe_is_private_and_opens_for_each_owner(gpg_safe, keyring):
    safe = GpgSafe(gpg_safe["gpg"])
    safe.prepare()
    safe.store({"keys": ["share-one"], "root_token": "x"})
    path = Path(gpg_safe["gpg"]["file"])
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.read_text().startswith("-----BEGIN PGP MESSAGE-----")
    assert [entry.name for entry in path.parent.iterdir()] == ["keys.asc"]
    assert json.loads(gpg(keyring, "--decrypt", str(path)))["keys"] == ["share-one"]
    packets = gpg(keyring, "--list-packets", str(path)).decode()
    assert packets.count(":pubkey enc packet:") == 2


def fingerprint(home, owner):
    listed = gpg(home, "--with-colons", "--list-keys", owner).decode().splitlines()
    return next(line.split(":")[9] for line in listed if line.startswith("fpr"))


@pytest.mark.parametrize(
    ("recipient", "why"),
    [
        ("frist@example.com", "'frist@example.com' is not in the key ring"),
        ("@example.com", "neither a whole fingerprint, nor an address"),
        ("first", "neither a whole fingerprint, nor an address"),
        ("0123456789ABCDEF", "neither a whole fingerprint, nor an address"),
        ("4F1C 0D2E 9A22 B3C4 4F1C 0D2E 9A22 B3C4 4F1C 0D2E", "is not in the key ring"),
        ("twice@example.com", "is in the key ring 2 times"),
        ("/nowhere/key.asc", "/nowhere/key.asc"),
        ("/etc/hostname", "/etc/hostname"),
    ],
)
def test_a_recipient_that_is_not_exactly_one_key_is_refused_and_not_looked_for_on_the_network(
    tmp_path, keyring, lookups, gpg_safe, recipient, why
):
    if recipient.startswith("twice"):
        for name in ("One", "Two"):
            gpg(
                keyring, "--passphrase", "", "--quick-gen-key", f"{name} <{recipient}>", "default", "default", "never"
            )
    gpg_safe["gpg"]["recipients"] = [OWNERS[0], recipient]
    with real_server(tmp_path, storage="inmem") as server:
        settings = {"address": server.address, "safe": gpg_safe}
        with pytest.raises(CredentialError) as caught:
            vault_init.ready(settings)
        assert why in caught.value.detail
        assert vault_init.status(settings)["initialised"] is False
    assert lookups == []


def test_a_recipient_is_a_fingerprint_an_address_or_a_file_with_one_key(tmp_path, keyring, lookups, gpg_safe):
    """An unknown address in gpg's own configuration (`encrypt-to`) gets nothing, and isn't looked for either."""
    (tmp_path / "second.asc").write_bytes(gpg(keyring, "--armor", "--export", OWNERS[1]))
    whole = fingerprint(keyring, OWNERS[0])
    spaced = " ".join(whole[place : place + 4] for place in range(0, 40, 4)).lower()
    configuration = Path(keyring, "gpg.conf")
    configuration.write_text("encrypt-to stranger@example.com\nauto-key-locate local,wkd\n")
    try:
        for recipients in ([spaced, "Second@Example.com"], [f"0x{whole}", str(tmp_path / "second.asc")]):
            gpg_safe["gpg"].update(recipients=recipients, file=str(tmp_path / f"{len(recipients[0])}.asc"))
            safe = GpgSafe(gpg_safe["gpg"])
            safe.prepare()
            safe.store({"keys": ["share-one"]})
            assert safe.load() == {"keys": ["share-one"]}
            packets = gpg(keyring, "--list-packets", gpg_safe["gpg"]["file"]).decode()
            assert packets.count(":pubkey enc packet:") == 2
    finally:
        configuration.unlink()
    assert lookups == []


def test_the_keys_are_on_the_disk_before_they_are_needed(gpg_safe, tmp_path, monkeypatch):
    path = Path(gpg_safe["gpg"]["file"])
    unseal, before = vault_init._unseal, []
    with real_server(tmp_path, storage="inmem") as server, disk_calls() as calls:
        settings = {"address": server.address, "shares": 1, "threshold": 1, "safe": gpg_safe}
        monkeypatch.setattr(vault_init, "_unseal", lambda *given: (before.extend(calls), unseal(*given)))
        assert vault_init.ready(settings)["changes"] == ["initialised", "unsealed"]
    assert before[-3:] == [("sync", path.with_name(".keys.asc.new")), ("name", path), ("sync", path.parent)]
    assert ("sync", path.parent.parent) in before  # the folder was made for it


def test_keys_of_who_was_killed_while_they_were_stored_are_found_and_kept(gpg_safe):
    path = Path(gpg_safe["gpg"]["file"])
    safe = GpgSafe(gpg_safe["gpg"])
    safe.store({"keys": ["share-one"]})
    path.rename(path.with_name(".keys.asc.new"))  # it had no name yet
    assert safe.load() == {"keys": ["share-one"]}
    with pytest.raises(CredentialError, match="The safe is not empty"):
        safe.prepare()


@pytest.mark.parametrize("kind", ["gpg_safe", "vault_safe"])
def test_a_safe_is_never_overwritten(request, kind):
    safe = vault_init.open_safe({"safe": request.getfixturevalue(kind)})
    safe.prepare()
    safe.store({"keys": ["share-one"]})
    with pytest.raises(CredentialError, match="The safe is not empty"):
        safe.prepare()
    assert safe.load() == {"keys": ["share-one"]}
    safe.close()


def test_a_safe_that_was_only_prepared_can_be_prepared_again(bao, vault_safe):
    for _ in range(2):
        safe = vault_init.open_safe({"safe": vault_safe})
        safe.prepare()
        assert safe.load() is None
        safe.close()
    path = vault_safe["vault"]["path"].removeprefix("secret/")
    assert (
        bao.client().secrets.kv.v2.read_secret_version(path, raise_on_deleted_version=True)["data"]["data"] == EMPTY
    )


@pytest.mark.parametrize("broken", ["recipients", "address", "kv1"])
def test_nothing_is_initialised_when_its_keys_could_not_be_kept(tmp_path, bao, gpg_safe, vault_safe, broken):
    safe = vault_safe
    if broken == "recipients":
        gpg_safe["gpg"]["recipients"] = ["nobody@example.com"]
        safe = gpg_safe
    elif broken == "address":
        vault_safe["vault"]["address"] = f"http://127.0.0.1:{free_port()}"
    else:
        bao.client().sys.enable_secrets_engine("kv", path="plain", options={"version": "1"})
        vault_safe["vault"]["path"] = "plain/keys"
    with real_server(tmp_path, storage="inmem") as server:
        settings = {"address": server.address, "safe": safe}
        with pytest.raises(CredentialError) as caught:
            vault_init.ready(settings)
        assert caught.value.fix
        assert vault_init.status(settings)["initialised"] is False


def test_a_wrong_token_of_the_safe_names_the_safe_and_not_the_vault_whose_keys_go_there(tmp_path, vault_safe):
    vault_safe["vault"]["auth"]["token"] = "s.a-token-that-is-none"
    path, address = vault_safe["vault"]["path"], vault_safe["vault"]["address"]
    with real_server(tmp_path, storage="inmem") as server:
        with pytest.raises(CredentialError) as caught:
            vault_init.ready({"address": server.address, "safe": vault_safe})
        assert server.address not in str(caught.value)
    assert f"the safe, {path} in the Vault at {address}" in caught.value.detail
    assert "vault:safe:vault:auth" in caught.value.fix
    assert "infrastructure:vault" not in str(caught.value) + caught.value.fix


def test_an_answer_with_keys_that_is_lost_is_said_as_what_it_is(tmp_path, gpg_safe, monkeypatch):
    with real_server(tmp_path, storage="inmem") as server:
        asked = vault_init._Server.ask

        def lossy(self, method, path, **kwargs):
            answer = asked(self, method, path, **kwargs)
            if path == "sys/init":
                raise CredentialError("Vault is out of reach")
            return answer

        monkeypatch.setattr(vault_init._Server, "ask", lossy)
        with pytest.raises(CredentialError, match="keys of this new Vault are lost") as caught:
            vault_init.ready({"address": server.address, "safe": gpg_safe})
    assert "empty its storage" in caught.value.fix


def test_a_vault_that_somebody_else_initialised_is_said(tmp_path, gpg_safe):
    with real_server(tmp_path, storage="inmem") as server:
        server.client("").sys.initialize(1, 1)
        settings = {"address": server.address, "safe": gpg_safe}
        with pytest.raises(CredentialError, match="not in the safe"):
            vault_init.ready(settings)
        safe = vault_init.open_safe(settings)
        safe.prepare()
        safe.store({"keys": ["d3Jvbmcta2V5LXdyb25nLWtleS13cm9uZy1rZXktd3I="], "address": "https://elsewhere"})
        with pytest.raises(CredentialError) as caught:
            vault_init.ready(settings)
        assert "d3Jvbmct" not in str(caught.value)


@pytest.mark.parametrize("safe", [None, {}, {"file": "x"}, {"vault": {}}, {"gpg": {"file": "x"}}])
def test_settings_without_a_safe_are_refused(safe):
    with pytest.raises(CredentialError, match="No safe"):
        vault_init.ready({"address": "http://127.0.0.1:1", "safe": safe})


def test_settings_without_an_address_are_refused():
    with pytest.raises(CredentialError, match="No address"):
        vault_init.status({})
