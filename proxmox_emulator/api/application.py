"""The ASGI application: one request from its first byte to its answer.

1. `/health` and `/_proxmox/…` are the emulator's own.
2. The path finds the call in the table; what isn't there is a 501.
3. Who asks? A token or a ticket, or 401.
4. Query and body become parameters, each checked: 400 with all that is wrong.
5. May they? 403 if not.
6. A fault that was ordered for this call happens.
7. The handler does the work. What it changed is on disk before the answer goes out.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import unquote

import orjson

from proxmox_emulator.access import checks, identity
from proxmox_emulator.admin import Admin
from proxmox_emulator.api import body
from proxmox_emulator.api.calls import Call, Router
from proxmox_emulator.cluster import Cluster
from proxmox_emulator.errors import ApiError
from proxmox_emulator.request import Request

LARGEST_UPLOAD = 64 * 1024**3
NOBODY = identity.Identity("")
Send = Callable[[dict[str, Any]], Awaitable[None]]
log = logging.getLogger("proxmox_emulator")


class Application:
    """What uvicorn serves."""

    def __init__(self, cluster: Cluster, admin: Admin, access_log: bool = False) -> None:
        self._cluster, self._admin, self._access_log = cluster, admin, access_log
        self._router = Router()
        self._uploads = cluster.config.data_dir / "uploads"
        self._uploads.mkdir(parents=True, exist_ok=True)

    async def __call__(self, scope: dict[str, Any], receive: body.Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            return
        began = time.perf_counter()
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        status, answer = await self._answer(scope, headers, receive)
        kind = (b"content-type", b"application/json;charset=UTF-8")
        size = (b"content-length", str(len(answer)).encode())
        await send({"type": "http.response.start", "status": status, "headers": [kind, size]})
        await send({"type": "http.response.body", "body": answer})
        if self._access_log:
            took = round((time.perf_counter() - began) * 1000, 2)
            line = {"method": scope["method"], "path": scope["path"], "status": status, "ms": took}
            log.info(orjson.dumps(line).decode())

    async def _answer(
        self, scope: dict[str, Any], headers: dict[str, str], receive: body.Receive
    ) -> tuple[int, bytes]:
        try:
            segments = [unquote(part) for part in scope["raw_path"].decode("latin-1").strip("/").split("/")]
            if segments[:2] == ["api2", "json"]:
                found = await self._call(scope, segments[2:], headers, receive)
                return 200, orjson.dumps({"data": found})
            return await self._admin.answer(scope["method"], segments, headers, receive)
        except ApiError as error:
            said: dict[str, Any] = {"data": None, "message": f"{error.message}\n"}
            return error.status, orjson.dumps({**said, "errors": error.errors} if error.errors else said)
        except Exception:
            log.exception("%s %s", scope["method"], scope["path"])
            return 500, orjson.dumps({"data": None, "message": "the emulator failed: see its log\n"})

    async def _call(
        self, scope: dict[str, Any], segments: list[str], headers: dict[str, str], receive: body.Receive
    ) -> Any:
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        call, in_path = self._router.find(method, segments)
        records = self._cluster.records
        world = call.may == "world"
        who = NOBODY if world else identity.from_headers(records, self._cluster.tickets, method, headers)
        read = await body.read(scope, headers, receive, self._uploads, LARGEST_UPLOAD)
        try:
            params = call.parameters.check({**read.params, **in_path})
            return await self.run(call, who, params, read, "/" + "/".join(segments))
        finally:
            read.discard()

    async def run(
        self, call: Call, who: identity.Identity, params: dict[str, Any], read: body.Body, path: str
    ) -> Any:
        """A call whose parameters are good."""
        request = Request(self._cluster, call, who, params, read.file)
        checks.check(request)
        await self._cluster.faults.before_call(f"{call.method} {path}", call.method, params, request.kind)
        if "node" in params and "node" in call.path:
            self._cluster.node(params["node"])
        return await call.handler(request)
