"""Guests moved to another node, with their disks."""

from __future__ import annotations

from proxmox_emulator.errors import ApiError, parameter_error
from proxmox_emulator.guests import config, power
from proxmox_emulator.request import Request
from proxmox_emulator.storages import volumes
from proxmox_emulator.tasks import TaskLog


async def migrate(request: Request) -> str:
    """Move a guest; one that runs only `online`, and its local disks only if that is said."""
    cluster, target = request.cluster, request.params["target"]
    guest = cluster.guest(request.kind, request.node, request.vmid)
    config.refuse_locked(guest)
    if target == request.node:
        raise parameter_error(target="target is local node.")
    cluster.node(target)
    moved = [volume for volume in volumes.of_guest(cluster, request.vmid) if volume["node"]]
    if power.is_running(guest):
        if not request.params.get("online") and not request.params.get("restart"):
            raise ApiError("can't migrate running VM without --online")
        if moved and not request.params.get("with-local-disks") and request.kind == "qemu":
            raise ApiError(
                f"can't live migrate attached local disks without with-local-disks option ({moved[0]['volid']})"
            )

    async def work(log: TaskLog) -> None:
        async with cluster.locks.hold(request.kind, request.vmid):
            now = cluster.guest(request.kind, request.node, request.vmid)
            with cluster.records.transaction():
                for volume in moved:
                    storage = volumes.storage(cluster, volume["storage"], target)
                    volumes.require_space(cluster, storage, target, volume["size"])
                    cluster.records.delete("volume", volumes.key(volume))
                    volumes.save(cluster, {**volume, "node": target})
                cluster.save_guest(now, node=target)
            log(f"migrated {request.vmid} to {target}")

    prefix = "qm" if request.kind == "qemu" else "vz"
    return cluster.tasks.start(request.node, f"{prefix}migrate", str(request.vmid), request.identity.name, work)
