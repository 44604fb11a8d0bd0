"""Credentials from Vault or OpenBao: KV of both versions, and any engine that leases."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from saltform.credentials.source import Fetched, Lease
from saltform.credentials.vault_login import VaultLogin
from saltform.errors import CredentialError

if TYPE_CHECKING:
    from saltform.config.types import CredentialSource


class VaultSource:
    """Reads through one login. What kind of engine a path is on is asked once for each mount."""

    def __init__(self, login: VaultLogin) -> None:
        self.login = login
        self._mounts: dict[str, str] = {}  # mount → kv1 | kv2 | leased
        self._lock = threading.Lock()

    def fetch(self, asked: CredentialSource) -> Fetched:
        mount, engine = self.mount(asked)
        path = asked.options["path"].strip("/")
        if engine == "kv2":
            path = f"{mount}/data/{path.removeprefix(mount).strip('/')}"
        answer = self.login.ask("get", path, reads_only=engine != "leased", where=asked.path)
        if engine != "kv2":
            return Fetched(dict(answer.get("data") or {}), lease=_lease(answer))
        data = answer.get("data") or {}
        metadata = data.get("metadata") or {}
        return Fetched(dict(data.get("data") or {}), version=str(metadata.get("version", "")))

    def leased(self, asked: CredentialSource) -> bool:
        return self.mount(asked)[1] == "leased"

    def renew(self, lease: Lease) -> Lease:
        body = {"lease_id": lease.id, "increment": int(lease.seconds)}
        answer = self.login.ask("post", "sys/leases/renew", json=body)
        return Lease(lease.id, float(answer["lease_duration"]), bool(answer["renewable"]))

    def revoke(self, lease_id: str) -> None:
        """Give a lease back, and wait until it is: afterwards the user it stands for is gone."""
        self.login.ask("post", "sys/leases/revoke", json={"lease_id": lease_id, "sync": True})

    def mount(self, asked: CredentialSource) -> tuple[str, str]:
        """The mount that a path is on, and its engine: kv1, kv2 or leased."""
        path = asked.options["path"].strip("/")
        said_mount, said_engine = asked.options.get("mount", "").strip("/"), asked.options.get("engine", "")
        if said_engine:
            return said_mount or path.partition("/")[0], said_engine
        with self._lock:
            for mount, engine in self._mounts.items():
                if path == mount or path.startswith(mount + "/"):
                    return mount, engine
            mount, engine = self._look_at_mount(path, asked.path)
            self._mounts[mount] = engine
            return mount, engine

    def _look_at_mount(self, path: str, where: str) -> tuple[str, str]:
        """As the CLI does: every token that may read something of a mount may ask what the mount is."""
        try:
            data: dict[str, Any] = self.login.ask("get", f"sys/internal/ui/mounts/{path}", where=where)["data"]
        except CredentialError as error:
            if error.summary.startswith("Permission denied"):
                raise _nothing_readable(path, error) from None
            raise
        mount = str(data["path"]).strip("/")
        if data["type"] not in ("kv", "generic"):
            return mount, "leased"
        return mount, "kv2" if (data.get("options") or {}).get("version") == "2" else "kv1"


def _lease(answer: dict[str, Any]) -> Lease | None:
    if not answer.get("lease_id"):
        return None
    return Lease(str(answer["lease_id"]), float(answer["lease_duration"]), bool(answer["renewable"]))


def _nothing_readable(path: str, error: CredentialError) -> CredentialError:
    mount, _, rest = path.partition("/")
    return CredentialError(
        f"Permission denied for {path!r} in Vault",
        f"{error.detail}; or there is no mount for this path",
        f'bao secrets list; then add to a policy: path "{mount}/data/{rest}" {{ capabilities = ["read"] }} '
        f"(without data/ for KV version 1), or set `engine:` beside `path:`",
        **error.data,
    )
