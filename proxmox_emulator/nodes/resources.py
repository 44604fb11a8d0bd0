"""`/cluster/resources` and `/cluster/nextid`."""

from __future__ import annotations

from typing import Any

from proxmox_emulator.errors import ApiError, parameter_error
from proxmox_emulator.guests import listing, power
from proxmox_emulator.nodes.listing import node_entry
from proxmox_emulator.request import Request
from proxmox_emulator.storages import definitions


async def resources(request: Request) -> list[dict[str, Any]]:
    """Everything in the cluster that who asks may see, or what is of one type."""
    wanted, found = request.params.get("type"), []
    if wanted in (None, "vm"):
        found += _guests(request)
    if wanted in (None, "node"):
        found += [node_entry(request.cluster, node) for node in request.cluster.nodes]
    if wanted in (None, "storage"):
        found += _storages(request)
    if wanted in (None, "pool"):
        pools = request.cluster.records.all("pool")
        found += [{"type": "pool", "id": f"/pool/{name}", "pool": name} for name in pools]
    return found


def _guests(request: Request) -> list[dict[str, Any]]:
    pools = {vmid: name for name, pool in request.cluster.records.all("pool").items() for vmid in pool["vms"]}
    found = []
    for guest in request.cluster.guests():
        if not listing.visible(request, guest):
            continue
        entry = listing.summary(guest)
        entry |= {"type": guest["type"], "id": f"{guest['type']}/{guest['vmid']}", "node": guest["node"]}
        entry["maxcpu"] = power.cores(guest)
        if guest["vmid"] in pools:
            entry["pool"] = pools[guest["vmid"]]
        found.append(entry)
    return found


def _storages(request: Request) -> list[dict[str, Any]]:
    found = []
    for name, storage in request.cluster.records.all("storage").items():
        if not definitions.visible(request, name):
            continue
        for node in request.cluster.nodes:
            if request.cluster.faults.node_is_gone(node.name):
                continue
            status = definitions.status(request.cluster, storage, node.name)
            found.append(
                {
                    "type": "storage",
                    "id": f"storage/{node.name}/{name}",
                    "node": node.name,
                    "storage": name,
                    "plugintype": storage["type"],
                    "content": storage["content"],
                    "shared": storage.get("shared", 0),
                    "status": "available",
                    "maxdisk": status["total"],
                    "disk": status["used"],
                }
            )
    return found


async def next_id(request: Request) -> str:
    """The next free id, or the one asked for if it is free."""
    taken, wanted = request.cluster.records.all("guest"), request.params.get("vmid")
    if wanted is not None:
        if str(wanted) in taken:
            raise parameter_error(vmid=f"VM {wanted} already exists")
        return str(wanted)
    for vmid in range(100, 1_000_000):
        if str(vmid) not in taken:
            return str(vmid)
    raise ApiError("unable to get any free VMID in range [100, 1000000]")
