"""`proxmox-emulator serve`: put the parts together, run until told to stop."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import secrets
import socket
import sys
import uuid
from dataclasses import dataclass, field
from pathlib import Path

import uvicorn

from proxmox_emulator import certificates, seeds
from proxmox_emulator.access.identity import ROOT, hashed
from proxmox_emulator.admin import Admin
from proxmox_emulator.api.application import Application
from proxmox_emulator.cluster import Cluster
from proxmox_emulator.config import EmulatorConfig
from proxmox_emulator.faults import Fault
from proxmox_emulator.records import Records

TOKEN = f"{ROOT}!emulator"


@dataclass
class Options:
    """What the command line gives."""

    host: str
    port: int
    config: EmulatorConfig
    faults: list[Fault] = field(default_factory=list)
    quiet: bool = False


def run(options: Options) -> int:
    """Serve until SIGTERM or SIGINT; returns the exit code."""
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(message)s")
    folder = options.config.data_dir
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    cluster = Cluster(options.config, Records(folder / "records.sqlite"))
    seeds.plant(cluster)
    cluster.faults.listed = options.faults
    token = secret(folder, "api-token", lambda: f"{TOKEN}={uuid.uuid4()}")
    cluster.records.put("token", TOKEN, {"privsep": 0, "secret": hashed(token.rpartition("=")[2])})
    admin = Admin(cluster, secret(folder, "admin-token", lambda: secrets.token_urlsafe(24)))
    certificates.make(folder, options.host)
    listener = socket.create_server((options.host, options.port), backlog=1024)
    config = uvicorn.Config(
        Application(cluster, admin, not options.quiet),
        ssl_certfile=folder / f"server-{options.host}.pem",
        ssl_keyfile=str(folder / f"server-{options.host}.key"),
        lifespan="off",
        access_log=False,
        log_config=None,
        log_level="warning",
        timeout_graceful_shutdown=2,
    )
    _announce(options, listener.getsockname()[1])
    uvicorn.Server(config).run([listener])
    asyncio.run(cluster.tasks.close())
    cluster.records.close()
    return 0


def secret(folder: Path, name: str, make: object) -> str:
    """A secret of the data folder, made once and kept (0600)."""
    path = folder / name
    if not path.exists():
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(make() + "\n")  # type: ignore[operator]
    return path.read_text().strip()


def _announce(options: Options, port: int) -> None:
    endpoint = f"https://{options.host}:{port}"
    folder = options.config.data_dir
    (folder / "endpoint.json").write_text(json.dumps({"endpoint": endpoint, "pid": os.getpid()}) + "\n")
    print(f"Proxmox is ready on {endpoint}; trust it with SSL_CERT_FILE={folder / 'ca.pem'}", flush=True)
