"""Storages: how they are set, and what they have on each node."""

from __future__ import annotations

import re
from typing import Any

from proxmox_emulator.access import privileges
from proxmox_emulator.cluster import Cluster, digest
from proxmox_emulator.errors import ApiError, parameter_error
from proxmox_emulator.records import Body
from proxmox_emulator.request import Request
from proxmox_emulator.storages import volumes

_CONTENT = {"dir": "images,rootdir,vztmpl,iso,backup,snippets,import", "nfs": "images"}


def shown(storage: Body) -> dict[str, Any]:
    """A storage's settings."""
    return {**storage, "digest": digest(storage)}


def status(cluster: Cluster, storage: Body, node: str) -> dict[str, Any]:
    """What a storage has on a node."""
    total, used = volumes.space(cluster, storage, node)
    return {
        "storage": storage["storage"],
        "type": storage["type"],
        "content": storage["content"],
        "active": 1,
        "enabled": int(not storage.get("disable")),
        "shared": storage.get("shared", 0),
        "total": total,
        "used": used,
        "avail": max(0, total - used),
        "used_fraction": used / total if total else 0,
    }


def visible(request: Request, storage: str) -> bool:
    """Whether who asks may see a storage."""
    found = privileges.privileges(request.cluster.records, request.identity, f"/storage/{storage}")
    return bool(found & {"Datastore.Audit", "Datastore.AllocateSpace", "Datastore.Allocate"})


async def list_storages(request: Request) -> list[dict[str, Any]]:
    """All storages."""
    found = request.cluster.records.all("storage").items()
    kind = request.params.get("type")
    return [shown(body) for name, body in sorted(found) if kind in (None, body["type"]) and visible(request, name)]


async def read_storage(request: Request) -> dict[str, Any]:
    """One storage."""
    return shown(_find(request))


async def create_storage(request: Request) -> dict[str, str]:
    """A storage; its content is what its type usually has unless it is said."""
    name, kind = request.params["storage"], request.params["type"]
    if request.cluster.records.get("storage", name):
        raise ApiError(f"create storage failed: storage ID '{name}' already defined")
    body = {"content": _CONTENT.get(kind, "images,rootdir"), **request.options("create-base-path", "create-subdirs")}
    if kind == "dir" and "path" not in body:
        raise parameter_error(path="property is missing and it is not optional")
    _check(request, body)
    body.setdefault("path", f"/mnt/pve/{name}") if kind == "nfs" else None
    request.cluster.records.put("storage", name, {**body, **({"shared": 1} if kind == "nfs" else {})})
    return {"storage": name, "type": kind}


async def update_storage(request: Request) -> dict[str, str]:
    """Change a storage's settings."""
    body = _find(request)
    gone = re.split(r"[,;\s]+", request.params.get("delete", ""))
    if request.params.get("digest") not in (None, digest(body)):
        raise ApiError("detected modified configuration - file changed by other user? Try again.")
    changed = {**body, **request.options("storage", "delete", "digest")}
    changed = {name: value for name, value in changed.items() if name not in gone}
    _check(request, changed)
    request.cluster.records.put("storage", body["storage"], changed)
    return {"storage": body["storage"], "type": body["type"]}


async def delete_storage(request: Request) -> None:
    """A storage's settings; what is on it stays there, as in Proxmox."""
    request.cluster.records.delete("storage", _find(request)["storage"])


async def node_storages(request: Request) -> list[dict[str, Any]]:
    """The storages that a node can use."""
    wanted = set(request.params.get("content", "").replace(",", " ").split())
    found = []
    for name, body in sorted(request.cluster.records.all("storage").items()):
        here = not body.get("nodes") or request.node in body["nodes"].split(",")
        fits = wanted <= set(body["content"].split(",")) and request.params.get("storage") in (None, name)
        usable = not (request.params.get("enabled") and body.get("disable"))
        if here and fits and usable and visible(request, name):
            found.append(status(request.cluster, body, request.node))
    return found


async def storage_status(request: Request) -> dict[str, Any]:
    """What a storage has on a node."""
    return status(
        request.cluster, volumes.storage(request.cluster, request.params["storage"], request.node), request.node
    )


def _find(request: Request) -> Body:
    found = request.cluster.records.get("storage", request.params["storage"])
    if found is None:
        raise ApiError(f"storage '{request.params['storage']}' does not exist")
    return found


def _check(request: Request, body: Body) -> None:
    known = {node.name for node in request.cluster.nodes}
    for node in body.get("nodes", "").split(",") if body.get("nodes") else []:
        if node not in known:
            raise parameter_error(nodes=f"node '{node}' does not exist")
    if not str(body.get("path", "/")).startswith("/") or ".." in str(body.get("path", "")):
        raise parameter_error(path="invalid format - value does not look like a valid absolute path")
