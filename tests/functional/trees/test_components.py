"""salt/components: hosts are configured from outputs, twice without a change, and real programs take the result."""

from __future__ import annotations

import json
import os
import random
import socket
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import hcl2
import pytest

from hive_emulator.testing import free_port
from tests.support.openbao import dev_server
from tests.support.salt_local import SaltCall, changed, failed

CADDY = Path(sys.executable).with_name("caddy")
BAO = Path(sys.executable).with_name("bao")
ME, OTHER = "lab-1", "lab-2"
ALL = "components.consul,components.vault,components.boundary,components.hera,components.hecate"


@pytest.fixture
def address():
    """A loopback address of this test's own: the components' ports are fixed."""
    return f"127.{random.randint(64, 191)}.{random.randint(0, 255)}.{random.randint(1, 254)}"


@pytest.fixture
def outputs(address):
    """What Terraform would say of a lab whose one host here carries all components."""
    hosts = {"address": address, "addresses": [address, "127.0.0.2"], "hosts": {ME: address, OTHER: "127.0.0.2"}}
    upstreams = [{"name": "hera", "port": 8080, "addresses": ["127.0.0.2", address], "health_path": "/health"}]
    return {
        "consul": hosts,
        "vault": {**hosts, "data_device": "/dev/xvdf", "consul_address": address},
        "boundary": {**hosts, "worker_hosts": {"lab-worker-1": "127.0.0.3"}, "vault_address": address},
        "hera": {**hosts, "port": 8080, "consul_address": address},
        "hecate": {**hosts, "upstreams": upstreams, "health_check": {"interval": 10, "timeout": 2, "failures": 3}},
    }


@pytest.fixture
def root(tmp_path):
    return tmp_path / "host"


def settings(root, **options):
    return {"root": str(root), "hecate": {"program": str(CADDY)}, **options}


@contextmanager
def running(*command: str, ready: str, statuses: tuple[int, ...] = (200,), **environment: str):
    """A real server, from the moment on which `ready` answers with one of `statuses`."""
    process = subprocess.Popen(
        command, env={**os.environ, **environment}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    try:
        deadline = time.monotonic() + 120
        while status(ready) not in statuses:
            assert process.poll() is None, process.stderr.read().decode()
            assert time.monotonic() < deadline, f"{command[0]} is not ready: {ready} says {status(ready)}"
            time.sleep(0.05)
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=120)


def status(url: str) -> int:
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        error.close()
        return error.code
    except OSError:
        return 0


def serving_hera(root, address):
    folder = str(root / "srv/hera")
    command = [sys.executable, "-m", "http.server", "8080", "--bind", address, "--directory", folder]
    return running(*command, ready=f"http://{address}:8080/")


def through_hecate(port: int, host: str, path: str) -> bytes:
    """A page as a client gets it: by TLS with the host's name, whoever signed the certificate."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    plain = socket.create_connection(("127.0.0.1", port), timeout=5)
    with context.wrap_socket(plain, server_hostname=host) as secured:
        secured.sendall(f"GET {path} HTTP/1.0\r\nHost: {host}\r\n\r\n".encode())
        return b"".join(iter(lambda: secured.recv(65536), b""))


def test_one_host_gets_all_components_and_a_second_time_changes_nothing(tmp_path, root, outputs, address):
    """Hecate goes live last, when Hera's page is served, and then serves it."""
    port, admin = free_port(), f"127.0.0.1:{free_port()}"
    reload = f"{CADDY} reload --adapter caddyfile --config {root}/etc/hecate/Caddyfile --address {admin}"
    hecate = {"program": str(CADDY), "port": port, "admin": admin, "domain": "lab.test", "reload": reload}
    minion = SaltCall(tmp_path, ME)
    minion.pillar({"terraform": {"lab": outputs, "_status": {}}, "components": settings(root, hecate=hecate)})

    without = minion.apply(ALL)
    assert set(failed(without)) == {"hecate upstreams answer", "hecate live", "hecate ready"}
    assert "hera: none of its 2 hosts answers" in without["hecate upstreams answer"]["changes"]["stdout"]
    assert not (root / "etc/hecate/Caddyfile").exists()

    home = {"HOME": str(tmp_path / "caddy"), "CADDY_ADMIN": admin}
    with serving_hera(root, address), running(str(CADDY), "run", ready=f"http://{admin}/config/", **home):
        first = minion.apply(ALL)
        assert failed(first) == {}
        assert "hecate reloaded" in changed(first)
        answer = through_hecate(port, "hera.lab.test", "/index.html")
        assert b"Hera is not installed here yet" in answer
        second = minion.apply(ALL)
        assert (failed(second), changed(second)) == ({}, set())
    check_files(root, outputs, address)


def check_files(root, outputs, address):
    consul = hcl2.loads((root / "etc/consul/consul.hcl").read_text())
    assert consul["retry_join"] == ['"127.0.0.2"']
    assert consul["bootstrap_expect"] == 2
    vault = hcl2.loads((root / "etc/vault/vault.hcl").read_text())
    assert vault["disable_mlock"] is True
    assert vault["storage"][0]['"raft"']["retry_join"][0]["leader_api_addr"] == '"http://127.0.0.2:8200"'
    controller = (root / "etc/boundary/boundary.hcl").read_text()
    assert len(hcl2.loads(controller)["kms"]) == 3
    assert f"{address}:9200" in controller
    registration = json.loads((root / "etc/consul/hera.json").read_text())["service"]
    assert registration["check"]["http"] == f"http://{address}:8080/health"
    for name in ("consul", "vault", "boundary", "hera", "hecate"):
        assert f"User={name}\n" in (root / f"etc/systemd/system/{name}.service").read_text()


def test_vault_starts_is_initialised_once_and_unsealed_with_its_keys_in_a_safe(tmp_path, root, outputs, address):
    outputs["vault"]["addresses"] = [address]
    minion = SaltCall(tmp_path, ME)
    vault = {"program": "bao", "listen": address}
    minion.pillar({"terraform": {"lab": outputs}, "components": settings(root, vault=vault)})
    assert failed(minion.apply("components.vault")) == {}

    health, not_initialised = f"http://{address}:8200/v1/sys/health", 501
    command = [str(BAO), "server", f"-config={root}/etc/vault/vault.hcl"]
    with dev_server(tmp_path) as safe, running(*command, ready=health, statuses=(not_initialised,)):
        place = {
            "address": safe.address,
            "auth": {"method": "token", "token": safe.root},
            "path": "secret/vaults/lab",
        }
        vault["keys"] = {"address": f"http://{address}:8200", "shares": 2, "threshold": 2, "safe": {"vault": place}}
        minion.pillar({"terraform": {"lab": outputs}, "components": settings(root, vault=vault)})
        first = minion.apply("components.vault")
        assert (failed(first), changed(first)) == ({}, {"vault unsealed"})
        assert status(health) == 200
        kept = safe.client().secrets.kv.v2.read_secret_version(path="vaults/lab", raise_on_deleted_version=True)
        assert kept["data"]["data"]["root_token"] not in json.dumps(first)
        second = minion.apply("components.vault")
        assert (failed(second), changed(second)) == ({}, set())


def test_secrets_are_in_no_output_of_salt_and_only_where_they_are_needed(tmp_path, root, outputs):
    secrets = {
        "gossip_key": "Z29zc2lwLWtleS1vZi0zMi1ieXRlcy0uLi4=",
        "vault_token": "s.boundary-token",
        "database_url": "postgresql://boundary:hush@db/boundary",
    }
    minion = SaltCall(tmp_path, "lab-worker-1")
    outputs["consul"]["hosts"] = {"lab-worker-1": "127.0.0.3"}
    pillar = settings(
        root,
        consul={"gossip_key": secrets["gossip_key"]},
        boundary={name: secrets[name] for name in ("vault_token", "database_url")},
    )
    minion.pillar({"terraform": {"lab": outputs}, "components": pillar})
    results = minion.apply("components.boundary,components.consul")
    assert failed(results) == {}
    said = json.dumps(results)
    assert [name for name, secret in secrets.items() if secret in said] == []

    worker = (root / "etc/boundary/boundary.hcl").read_text()
    assert outputs["boundary"]["address"] + ":9201" in worker and "controller {" not in worker
    environment = root / "etc/boundary/environment"
    assert environment.stat().st_mode & 0o777 == 0o600
    assert "s.boundary-token" in environment.read_text() and "hush" not in environment.read_text()
    assert secrets["gossip_key"] in (root / "etc/consul/consul.hcl").read_text()


def test_a_real_host_gets_accounts_volumes_and_services_too(tmp_path, outputs):
    minion = SaltCall(tmp_path, ME)
    packages = {name: {"package": name} for name in ("consul", "vault", "boundary", "hera", "hecate")}
    minion.pillar({"terraform": {"lab": outputs}, "components": packages})
    states = minion.run("state.show_sls", ALL)
    for name in packages:
        assert {"name": name} in states[f"{name} program"]["pkg"]
        assert {"system": True} in states[f"{name} account"]["user"]
        assert {"require": [{"test": f"{name} ready"}]} in states[f"{name} service"]["service"]
        assert {"user": name} in states[f"{name} folder /etc/{name}"]["file"]
    assert {"device": "/dev/xvdf"} in states["vault data mounted"]["mount"]
    assert {"require": [{"service": "hecate service"}]} in states["hecate reloaded"]["cmd"]
    assert {"require": [{"cmd": "boundary database"}]} in states["boundary database marked"]["file"]


@pytest.mark.parametrize(
    ("minion_id", "terraform", "message"),
    [
        (ME, {}, "outputs of consul from 0 environments"),
        (ME, {"lab": {}, "other": {}}, "outputs of consul from 2 environments lab, other"),
        ("web-1", {"lab": {}}, "web-1 is no host of consul in lab, which has lab-1, lab-2"),
    ],
)
def test_what_is_missing_is_said(tmp_path, root, outputs, minion_id, terraform, message):
    minion = SaltCall(tmp_path, minion_id)
    minion.pillar({"terraform": dict.fromkeys(terraform, outputs), "components": settings(root)})
    assert message in str(minion.run("state.show_sls", "components.consul"))
