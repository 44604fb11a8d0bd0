"""The emulator's own calls: `/health` for anybody, `/_proxmox/…` for who has the admin token."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable
from typing import Any

import orjson

from proxmox_emulator import faults, seeds
from proxmox_emulator.cluster import Cluster
from proxmox_emulator.errors import ApiError, unauthorized

LARGEST = 1024 * 1024
Receive = Callable[[], Awaitable[dict[str, Any]]]


class Admin:
    """Status, reset and faults."""

    def __init__(self, cluster: Cluster, token: str) -> None:
        self._cluster, self._token = cluster, token

    async def answer(
        self, method: str, segments: list[str], headers: dict[str, str], receive: Receive
    ) -> tuple[int, bytes]:
        """Status and body."""
        line = f"{method} {'/'.join(segments)}"
        if line == "GET health":
            return 200, orjson.dumps({"status": "ok", "nodes": [node.name for node in self._cluster.nodes]})
        if segments[0] != "_proxmox":
            raise ApiError(f"no such file '/{'/'.join(segments)}'", 404)
        if not hmac.compare_digest(headers.get("authorization", ""), f"Bearer {self._token}"):
            raise unauthorized("the admin calls want the token in the data folder's admin-token as a Bearer token")
        if line == "GET _proxmox/status":
            return 200, orjson.dumps({"records": self._cluster.records.counts()})
        if line == "POST _proxmox/reset":
            await self._cluster.tasks.close()
            seeds.reset(self._cluster)
            return 200, orjson.dumps({"reset": True})
        if segments[1:] == ["faults"] and method in ("GET", "PUT", "DELETE"):
            if method != "GET":
                self._cluster.faults.listed = await self._given(receive) if method == "PUT" else []
            return 200, orjson.dumps([fault.described() for fault in self._cluster.faults.listed])
        raise ApiError(f"no such admin call: {line}", 404)

    async def _given(self, receive: Receive) -> list[faults.Fault]:
        content, more = b"", True
        while more:
            message = await receive()
            content, more = content + message.get("body", b""), message.get("more_body", False)
            if len(content) > LARGEST:
                raise ApiError(f"more than {LARGEST} bytes of faults", 413)
        try:
            return faults.read(content)
        except faults.FaultsError as error:
            raise ApiError(str(error), 400) from None
