"""Pools of guests and storages."""

from __future__ import annotations

import re
from typing import Any

from proxmox_emulator.access import privileges
from proxmox_emulator.errors import ApiError, parameter_error
from proxmox_emulator.records import Body
from proxmox_emulator.request import Request


def _find(request: Request) -> Body:
    found = request.cluster.records.get("pool", request.params["poolid"])
    if found is None:
        raise ApiError(f"pool '{request.params['poolid']}' does not exist")
    return found


def _members(request: Request, pool: Body) -> list[dict[str, Any]]:
    found = []
    for vmid in pool["vms"]:
        guest = request.cluster.records.get("guest", str(vmid))
        if guest:
            kind = guest["type"]
            found.append({"id": f"{kind}/{vmid}", "type": kind, "vmid": vmid, "node": guest["node"]})
    node = request.cluster.nodes[0].name
    for name in pool["storages"]:
        found.append({"id": f"storage/{node}/{name}", "type": "storage", "storage": name, "node": node})
    return found


def _shown(name: str, pool: Body) -> dict[str, Any]:
    return {"poolid": name, **({"comment": pool["comment"]} if pool.get("comment") else {})}


async def list_pools(request: Request) -> list[dict[str, Any]]:
    """All pools; with `poolid` that one, and its members."""
    if "poolid" in request.params:
        privileges.require(
            request.cluster.records, request.identity, f"/pool/{request.params['poolid']}", "Pool.Audit"
        )
        pool = _find(request)
        return [{**_shown(request.params["poolid"], pool), "members": _members(request, pool)}]
    records = request.cluster.records
    return [
        _shown(name, pool)
        for name, pool in sorted(records.all("pool").items())
        if "Pool.Audit" in privileges.privileges(records, request.identity, f"/pool/{name}")
    ]


async def read_pool(request: Request) -> dict[str, Any]:
    """One pool and its members."""
    pool = _find(request)
    return {**_shown(request.params["poolid"], pool), "members": _members(request, pool)}


async def create_pool(request: Request) -> None:
    """An empty pool."""
    name, records = request.params["poolid"], request.cluster.records
    if records.get("pool", name):
        raise ApiError(f"create pool failed: pool '{name}' already exists")
    records.put("pool", name, {"comment": request.params.get("comment", ""), "vms": [], "storages": []})


async def update_pool(request: Request) -> None:
    """Change the comment, add members or take them out."""
    pool, records = _find(request), request.cluster.records
    vms = [int(vmid) for vmid in re.split(r"[,;\s]+", request.params.get("vms", "")) if vmid]
    storages = [name for name in re.split(r"[,;\s]+", request.params.get("storage", "")) if name]
    for vmid in vms:
        if records.get("guest", str(vmid)) is None:
            raise parameter_error(vms=f"VM {vmid} does not exist")
    gone = request.params.get("delete")
    changed = {
        "comment": request.params.get("comment", pool.get("comment", "")),
        "vms": sorted(set(pool["vms"]) - set(vms) if gone else {*pool["vms"], *vms}),
        "storages": sorted(set(pool["storages"]) - set(storages) if gone else {*pool["storages"], *storages}),
    }
    records.put("pool", request.params["poolid"], changed)


async def delete_pool(request: Request) -> None:
    """A pool without members."""
    pool = _find(request)
    if pool["vms"] or pool["storages"]:
        raise ApiError(f"pool '{request.params['poolid']}' is not empty")
    request.cluster.records.delete("pool", request.params["poolid"])
