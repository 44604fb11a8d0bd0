"""The end of a guest: its disks, its addresses and its memberships go with it."""

from __future__ import annotations

from proxmox_emulator.errors import ApiError
from proxmox_emulator.guests import config, power
from proxmox_emulator.guests.create import undo
from proxmox_emulator.request import Request
from proxmox_emulator.tasks import TaskLog


async def destroy(request: Request) -> str:
    """Delete a guest that doesn't run; a container does with `force`."""
    cluster, vmid = request.cluster, request.vmid
    what = "VM" if request.kind == "qemu" else "CT"
    guest = cluster.guest(request.kind, request.node, vmid)
    if not request.params.get("skiplock"):
        config.refuse_locked(guest)
    if guest["config"].get("protection"):
        raise ApiError(f"can't remove {what} {vmid} - protection mode enabled")
    if power.is_running(guest) and not request.params.get("force"):
        raise ApiError(f"{what} {vmid} is running - destroy failed")

    async def work(log: TaskLog) -> None:
        async with cluster.locks.hold(request.kind, vmid):
            now = cluster.guest(request.kind, request.node, vmid)
            if power.is_running(now):
                await power.halt(cluster, now)
            await cluster.runtime.remove(now)
            undo(request, vmid)
            log(f"destroyed {what} {vmid}")

    prefix = "qm" if request.kind == "qemu" else "vz"
    return cluster.tasks.start(request.node, f"{prefix}destroy", str(vmid), request.identity.name, work)
