"""salt/components: hosts are configured from outputs, twice without a change, and real programs take the result."""

from __future__ import annotations

import json
import random
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import hcl2
import pytest

from hive_emulator.testing import free_port
from tests.support.openbao import dev_server
from tests.support.salt_local import SaltCall, changed, failed
from tests.support.servers import running, status, through_hecate

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


def serving_hera(root, address):
    folder = str(root / "srv/hera")
    command = [sys.executable, "-m", "http.server", "8080", "--bind", address, "--directory", folder]
    return running(*command, ready=f"http://{address}:8080/")


def test_one_host_gets_all_components_and_a_second_time_changes_nothing(tmp_path, root, outputs, address):
    """Hecate goes live last, when Hera's page is served, and then serves it."""
    port, admin = free_port(), f"127.0.0.1:{free_port()}"
    reload = f"{CADDY} reload --adapter caddyfile --config {root}/etc/hecate/Caddyfile --address {admin}"
    hecate = {"program": str(CADDY), "port": port, "admin": admin, "domain": "lab.test", "reload": reload}
    minion = SaltCall(tmp_path, ME)
    minion.pillar({"terraform": {"lab": outputs, "_status": {}}, "components": settings(root, hecate=hecate)})

    without = minion.apply(ALL)
    assert set(failed(without)) == {"hecate upstreams answer", "hecate live", "hecate ready", "hecate reloaded"}
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


@contextmanager
def serving_vault_with_tls(tmp_path, address):
    """A real one, and the CA that its certificate is from."""
    tls = tmp_path / "tls"
    tls.mkdir()
    listen = [f"-dev-listen-address={address}:8200", "-dev-tls", f"-dev-tls-cert-dir={tls}"]
    with running(
        str(BAO), "server", "-dev", "-dev-no-store-token", *listen, ready=f"http://{address}:8200", statuses=(400,)
    ):
        (ca,) = tls.glob("*-ca.pem")
        yield ca


def test_boundary_speaks_tls_to_a_vault_that_has_it_and_trusts_its_ca(tmp_path, root, outputs, address):
    minion = SaltCall(tmp_path, ME)
    with serving_vault_with_tls(tmp_path, address) as ca:
        options = {"vault": {"scheme": "https", "ca": str(ca)}}
        for host, blocks in ((ME, 3), ("lab-worker-1", 1)):
            minion = SaltCall(tmp_path / host, host)
            minion.pillar({"terraform": {"lab": outputs}, "components": settings(root, boundary=options)})
            assert failed(minion.apply("components.boundary")) == {}
            kms = [
                block['"transit"'] for block in hcl2.loads((root / "etc/boundary/boundary.hcl").read_text())["kms"]
            ]
            assert len(kms) == blocks
            for block in kms:
                trust = ssl.create_default_context(cafile=json.loads(block["tls_ca_cert"]))
                trust.check_hostname = False  # a development server's certificate names localhost only
                with urllib.request.urlopen(json.loads(block["address"]) + "/v1/sys/health", context=trust) as answer:
                    assert answer.status == 200


def test_boundary_speaks_plain_http_only_to_a_vault_without_tls(tmp_path, root, outputs, address):
    minion = SaltCall(tmp_path, ME)
    minion.pillar({"terraform": {"lab": outputs}, "components": settings(root)})
    assert failed(minion.apply("components.boundary")) == {}
    text = (root / "etc/boundary/boundary.hcl").read_text()
    assert f"http://{address}:8200" in text and "tls_ca_cert" not in text


@pytest.mark.parametrize("vault", [{"scheme": "ftp"}, {"ca": "/ca.pem"}])
def test_a_scheme_that_cannot_be_meant_is_refused(tmp_path, root, outputs, vault):
    minion = SaltCall(tmp_path, ME)
    minion.pillar({"terraform": {"lab": outputs}, "components": settings(root, boundary={"vault": vault})})
    assert "Write: vault: {scheme: https, ca: PATH}" in str(minion.run("state.show_sls", "components.boundary"))


def test_what_hecate_asks_is_never_read_by_the_shell(tmp_path, root, outputs, address):
    """An output with quotes or a dollar in it ran as a command on the proxy's host."""
    (tmp_path / "ran").mkdir()
    nasty = [f"x'; touch {tmp_path}/ran/1; '", f'"; touch {tmp_path}/ran/2; "', f"$(touch {tmp_path}/ran/3)"]
    outputs["hecate"]["health_check"]["timeout"] = f"1; touch {tmp_path}/ran/4"
    outputs["hecate"]["upstreams"] = [
        {"name": text, "port": 9, "addresses": [text], "health_path": text} for text in nasty
    ]
    minion = SaltCall(tmp_path, ME)
    minion.pillar({"terraform": {"lab": outputs}, "components": settings(root)})
    minion.run("state.sls_id", "hecate health check", "components.hecate")
    script = root / "etc/hecate/check-upstreams"
    done = subprocess.run(["sh", str(script)], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert [f"{text}: none of its 1 hosts answers" in done.stdout for text in nasty] == [True] * 3
    assert list((tmp_path / "ran").iterdir()) == []


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
    assert {"require": [{"file": "hecate live"}, {"service": "hecate service"}]} in states["hecate reloaded"]["cmd"]
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
