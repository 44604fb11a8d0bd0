"""What is not AWS: ``/health``, ``/metrics``, and the admin calls under ``/_hive/`` with their own token."""

from __future__ import annotations

import asyncio
import gzip
import hmac
import io
import json
import zlib
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import orjson

from hive_emulator import __version__, faults, snapshots
from hive_emulator.ec2 import limits
from hive_emulator.handlers.exchange import Exchange, Response

_MAX_SNAPSHOT = 1024**3  # bytes


class AdminError(Exception):
    """The admin call can't be done; status and text for the caller."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def aside(x: Exchange) -> Awaitable[Response] | None:
    """Answer the paths that are not AWS's."""
    path = x.request.path
    x.aside = path in ("/health", "/metrics") or path.startswith("/_hive/")
    return _answer(x, path) if x.aside else None


async def _answer(x: Exchange, path: str) -> Response:
    if path == "/health" and x.request.method in ("GET", "HEAD"):
        return _json(200, {"status": "ok", "version": __version__})
    if path == "/metrics" and x.request.method == "GET":
        text = x.emulator.metrics.text(x.emulator.store.state)
        return Response(200, text, "text/plain; version=0.0.4; charset=utf-8")
    try:
        await _check_token(x)
        call = _CALLS.get((x.request.method, path))
        if call is None:
            raise AdminError(404, "no such admin call; there are " + ", ".join(" ".join(c) for c in _CALLS))
        return await call(x)
    except AdminError as error:
        return _json(error.status, {"error": str(error)})


async def _check_token(x: Exchange) -> None:
    expected = f"Bearer {x.emulator.admin_token}".encode()
    given = x.request.headers.get("authorization", "").encode("utf-8", "replace")
    if not x.emulator.admin_token or not hmac.compare_digest(expected, given):
        await asyncio.sleep(x.emulator.patience.failed(x.request.peer, "/_hive/"))
        raise AdminError(403, "wrong token: send 'Authorization: Bearer TOKEN' with the data folder's admin-token")


async def _get_faults(x: Exchange) -> Response:
    return _json(200, x.emulator.faults.listed())


async def _set_faults(x: Exchange) -> Response:
    try:
        x.emulator.set_faults(faults.read(x.request.body))
    except faults.FaultsError as error:
        raise AdminError(400, str(error)) from None
    return await _get_faults(x)


async def _drop_faults(x: Exchange) -> Response:
    x.emulator.set_faults([])
    return await _get_faults(x)


async def _get_limits(x: Exchange) -> Response:
    return _json(200, {"capacity": x.emulator.config.capacity, "quotas": x.emulator.config.quotas})


async def _set_limits(x: Exchange) -> Response:
    """Replace capacity or quotas, whichever is given."""
    readers = {"capacity": limits.capacity, "quotas": limits.quotas}
    try:
        parts = {name: readers[name](given) for name, given in json.loads(x.request.body).items()}
    except limits.LimitsError as error:
        raise AdminError(400, str(error)) from None
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        raise AdminError(400, f'expected {{"capacity": {{"t3.micro": 2}}, "quotas": {{}}}}: {error}') from None
    for name, numbers in parts.items():
        setattr(x.emulator.config, name, numbers)
    return await _get_limits(x)


async def _status(x: Exchange) -> Response:
    await x.emulator.store.catch_up()
    counts: dict[tuple[str, str], Counter[str]] = {}
    for account, region, kind, _, record in x.emulator.store.state.everything():
        counts.setdefault((account, region), Counter())[kind + _past(kind, record)] += 1
    rows = [{"account": a, "region": r, "records": dict(c)} for (a, r), c in sorted(counts.items())]
    return _json(200, {"version": __version__, "clouds": rows})


def _past(kind: str, record: dict[str, Any]) -> str:
    """Said of what is shown for a while after its end: it must not be counted as being there."""
    if kind == "instance" and record["State"]["Name"] == "terminated":
        return " (terminated)"
    return " (deleted)" if kind == "natgateway" and record["State"] == "deleted" else ""


async def _reset(x: Exchange) -> Response:
    await snapshots.load(x.emulator, {"records": []})
    return _json(200, {"reset": True})


async def _save(x: Exchange) -> Response:
    await x.emulator.store.catch_up()
    return _json(200, snapshots.save(x.emulator))


async def _load(x: Exchange) -> Response:
    try:
        body = x.request.body
        text = _unpacked(body) if x.request.headers.get("content-encoding") == "gzip" else body
        count = await snapshots.load(x.emulator, orjson.loads(text))  # unlike json it takes no half characters
    except (ValueError, OSError, EOFError, zlib.error, snapshots.SnapshotError) as error:
        raise AdminError(400, f"not a snapshot: {error}") from None
    return _json(200, {"loaded": count})


def _unpacked(body: bytes) -> bytes:
    with gzip.GzipFile(fileobj=io.BytesIO(body)) as file:
        text = file.read(_MAX_SNAPSHOT + 1)
    if len(text) > _MAX_SNAPSHOT:
        raise AdminError(413, f"the snapshot is larger than {_MAX_SNAPSHOT // 1024**2} MB when it is unpacked")
    return text


_CALLS: dict[tuple[str, str], Callable[[Exchange], Awaitable[Response]]] = {
    ("GET", "/_hive/status"): _status,
    ("POST", "/_hive/reset"): _reset,
    ("GET", "/_hive/snapshot"): _save,
    ("PUT", "/_hive/snapshot"): _load,
    ("GET", "/_hive/faults"): _get_faults,
    ("PUT", "/_hive/faults"): _set_faults,
    ("DELETE", "/_hive/faults"): _drop_faults,
    ("GET", "/_hive/limits"): _get_limits,
    ("PUT", "/_hive/limits"): _set_limits,
}


def _json(status: int, value: Any) -> Response:
    return Response(status, json.dumps(value).encode() + b"\n", "application/json")
