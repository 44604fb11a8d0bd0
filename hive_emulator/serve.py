"""``hive-emulator serve``: put the parts together, run until told to stop."""

from __future__ import annotations

import asyncio
import errno
import gc
import json
import logging
import os
import secrets
import shlex
import signal
import sys
from collections.abc import Awaitable
from dataclasses import dataclass, field
from pathlib import Path

import uvloop

from hive_emulator import certificates, keys
from hive_emulator.config import DEFAULT_REGION, CloudConfig
from hive_emulator.ec2 import interrupted
from hive_emulator.emulator import Emulator, load_actions
from hive_emulator.faults import Fault
from hive_emulator.handlers import handle
from hive_emulator.handlers.access_log import AccessLog
from hive_emulator.handlers.exchange import Exchange, Request, Response
from hive_emulator.server import HttpServer
from hive_emulator.store import make_store
from hive_emulator.store.base import without_password


@dataclass
class Options:
    """What the command line gives."""

    host: str
    port: int
    http: bool
    data_dir: Path
    store: str
    config: CloudConfig = field(default_factory=CloudConfig)
    faults: list[Fault] = field(default_factory=list)
    quiet: bool = False


def run(options: Options) -> int:
    """Serve until SIGTERM or SIGINT; returns the exit code."""
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(message)s")
    return uvloop.run(serve(options))


async def serve(options: Options) -> int:
    """Start, say so in one line, and wait for the end."""
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    load_actions()
    options.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    store = make_store(options.store, options.data_dir)
    await store.open()
    emulator = Emulator(
        store,
        options.config,
        keys.load(options.data_dir, os.environ, options.config.account),
        admin_token=_admin_token(options.data_dir),
    )
    emulator.set_faults(options.faults)
    emulator.access_log = None if options.quiet else AccessLog(sys.stderr)

    def application(request: Request) -> Awaitable[Response]:
        return handle(Exchange(request, emulator))

    server = HttpServer(application)
    tls = None if options.http else certificates.server_context(options.data_dir, options.host)
    try:
        port = await server.start(options.host, options.port, tls)
    except OSError as error:
        where = f"{options.host}:{options.port}"
        hint = " Try --port 0 for a free port." if error.errno in (errno.EADDRINUSE, errno.EACCES) else ""
        # asyncio's own text repeats the address; of a host that isn't found the number is not the system's.
        why = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror or str(error)
        raise ValueError(f"can't listen on {where}: {why}.{hint}") from error
    interrupted.begin_again(emulator)
    gc.freeze()  # what was loaded stays for good: no search for garbage needs to look at it again,
    gc.set_threshold(50_000)  # and requests leave hardly any: it is enough to look now and then
    _announce(options, port)
    await stop.wait()
    await server.stop()
    await emulator.close()
    if emulator.access_log:
        emulator.access_log.close()
    return 0


def _announce(options: Options, port: int) -> None:
    """The one line, and a note in the data folder for ``env``, ``status`` and the others."""
    scheme = "http" if options.http else "https"
    host = f"[{options.host}]" if ":" in options.host else options.host
    endpoint = f"{scheme}://{host}:{port}"
    note = {"endpoint": endpoint, "region": DEFAULT_REGION, "pid": os.getpid()}
    (options.data_dir / "endpoint.json").write_text(json.dumps(note) + "\n", encoding="utf-8")
    trust = "" if options.http else f"; trust it with AWS_CA_BUNDLE={shlex.quote(str(options.data_dir / 'ca.pem'))}"
    command = f'eval "$(hive-emulator env --data-dir {shlex.quote(str(options.data_dir))})"'
    store = without_password(options.store)
    print(f"Hive is ready on {endpoint} ({store} store){trust}; use it with {command}", flush=True)


def _admin_token(data_dir: Path) -> str:
    """For the admin calls: made once and kept."""
    path = data_dir / "admin-token"
    if not path.exists():
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(secrets.token_urlsafe(24) + "\n")
    return path.read_text().strip()
