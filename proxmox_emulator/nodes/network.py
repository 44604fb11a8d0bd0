"""Interfaces of nodes, bridges above all. A change is in force at once; `PUT network` has nothing left to do."""

from __future__ import annotations

import ipaddress
import re
from typing import Any

from proxmox_emulator.errors import ApiError
from proxmox_emulator.records import Body
from proxmox_emulator.request import Request
from proxmox_emulator.tasks import TaskLog


def _shown(body: Body) -> dict[str, Any]:
    found = {
        "iface": body["iface"],
        "active": 1,
        "exists": 1,
        "priority": 3,
        "families": ["inet"],
        **body["settings"],
    }
    found["method"] = "static" if "cidr" in found else "manual"
    if "cidr" in found:
        address = ipaddress.ip_interface(found["cidr"])
        found |= {"address": str(address.ip), "netmask": str(address.network.prefixlen)}
    return found


def _find(request: Request) -> Body:
    found = request.cluster.records.get("interface", f"{request.node}/{request.params['iface']}")
    if found is None:
        raise ApiError("interface does not exist", 400, {"iface": "interface does not exist"})
    return found


async def list_interfaces(request: Request) -> list[dict[str, Any]]:
    """The interfaces of a node; `any_bridge` is how lists ask for bridges."""
    wanted = request.params.get("type")
    kinds = ("bridge",) if wanted in ("bridge", "any_bridge", "any_local_bridge") else (wanted,)
    found = [body for body in request.cluster.records.all("interface").values() if body["node"] == request.node]
    return [_shown(body) for body in found if wanted is None or body["settings"]["type"] in kinds]


async def read_interface(request: Request) -> dict[str, Any]:
    """One interface."""
    return _shown(_find(request))


async def create_interface(request: Request) -> None:
    """A bridge, a bond or a VLAN."""
    name = request.params["iface"]
    if request.cluster.records.get("interface", f"{request.node}/{name}"):
        raise ApiError("Parameter verification failed.", 400, {"iface": "interface already exists"})
    _save(request, name, request.options("node", "iface"))


async def update_interface(request: Request) -> None:
    """Change an interface."""
    gone = re.split(r"[,;\s]+", request.params.get("delete", ""))
    settings = {**_find(request)["settings"], **request.options("node", "iface", "delete")}
    _save(request, request.params["iface"], {name: value for name, value in settings.items() if name not in gone})


def _save(request: Request, name: str, settings: dict[str, Any]) -> None:
    if "address" in settings and "cidr" not in settings:
        settings["cidr"] = f"{settings.pop('address')}/{settings.pop('netmask', '24')}"
    body = {"node": request.node, "iface": name, "settings": settings}
    request.cluster.records.put("interface", f"{request.node}/{name}", body)


async def delete_interface(request: Request) -> None:
    """An interface."""
    _find(request)
    request.cluster.records.delete("interface", f"{request.node}/{request.params['iface']}")


async def reload_network(request: Request) -> str:
    """Bring changes into force."""

    async def work(log: TaskLog) -> None:
        log("nothing to reload")

    return request.cluster.tasks.start(request.node, "srvreload", "networking", request.identity.name, work)


async def revert_network(request: Request) -> None:
    """Drop changes that are not in force: there are none."""
