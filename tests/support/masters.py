"""Several masters: worlds with folders of their own, one run log in PostgreSQL, states on one server."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.support.http_states import HttpStatesServer, http_states
from tests.support.postgres import Postgres
from tests.support.world import World

LOGIN = {"STATES_USERNAME": "states", "STATES_PASSWORD": "password-of-the-states"}


@contextlib.contextmanager
def states() -> Iterator[HttpStatesServer]:
    with http_states(*LOGIN.values()) as server:
        yield server


def master(
    home: Path, database: str, server: HttpStatesServer | Postgres, lock: bool = False, dead_after: str = "6s"
) -> World:
    """A master; with `lock` Terraform locks the states, too. Whoever uses it has LOGIN in the environment."""
    home.mkdir()
    world = World(home)
    world.infrastructure = {
        "runlog": database,
        "locks": {"dead_after": dead_after},
        "defaults": {"backend": _on_pg(server) if isinstance(server, Postgres) else _on_http(server, lock)},
    }
    return world


def _on_http(server: HttpStatesServer, lock: bool) -> dict[str, Any]:
    address = f"{server.address}/{{environment}}/{{component}}"
    names = {"TF_HTTP_USERNAME": "STATES_USERNAME", "TF_HTTP_PASSWORD": "STATES_PASSWORD"}
    backend: dict[str, Any] = {"type": "http", "address": address, "credentials": {"environment": {"map": names}}}
    return backend | ({"lock_address": address, "unlock_address": address} if lock else {})


def _on_pg(server: Postgres) -> dict[str, Any]:
    return {"type": "pg", "conn_str": f"{server.uri}&sslmode=disable"}


def schema(server: Postgres, name: str) -> str:
    return server.schema("".join(letter if letter.isalnum() else "_" for letter in name.lower())[-60:])
