"""Guests turned into templates: their disks become base images, and they never start again."""

from __future__ import annotations

from typing import Any

from proxmox_emulator import property_strings
from proxmox_emulator.errors import ApiError
from proxmox_emulator.guests import config, disks, power
from proxmox_emulator.records import Body
from proxmox_emulator.request import Request
from proxmox_emulator.storages import volumes
from proxmox_emulator.tasks import TaskLog


async def convert(request: Request) -> str:
    """Make a template of a guest that doesn't run."""
    cluster = request.cluster
    guest = cluster.guest(request.kind, request.node, request.vmid)
    config.refuse_locked(guest)
    what = "VM" if request.kind == "qemu" else "CT"
    if guest["config"].get("template"):
        raise ApiError(f"you can't convert a template to a template: {what} {request.vmid}")
    if power.is_running(guest):
        raise ApiError(f"you can't convert a {what} to template if {what} is running")

    async def work(log: TaskLog) -> None:
        async with cluster.locks.hold(request.kind, request.vmid):
            now = cluster.guest(request.kind, request.node, request.vmid)
            with cluster.records.transaction():
                cluster.save_guest(now, config={**_with_base_images(request, now), "template": 1})
            log(f"converted {request.vmid} to a template")

    prefix = "qm" if request.kind == "qemu" else "vz"
    return cluster.tasks.start(request.node, f"{prefix}template", str(request.vmid), request.identity.name, work)


def _with_base_images(request: Request, guest: Body) -> dict[str, Any]:
    made, key = dict(guest["config"]), "volume" if guest["type"] == "lxc" else "file"
    for name, text in guest["config"].items():
        volid = disks.volume_of(name, text) if disks.IS_DISK.match(name) else ""
        volume = volumes.find(request.cluster, volid, request.node) if ":" in volid else None
        if volume is None or "cloudinit" in volid:
            continue
        base = volume["name"].replace("vm-", "base-", 1).replace("subvol-", "basevol-", 1)
        request.cluster.records.delete("volume", volumes.key(volume))
        renamed = volumes.save(request.cluster, {**volume, "name": base, "volid": f"{volume['storage']}:{base}"})
        found = {**property_strings.parse(text, key), key: renamed["volid"]}
        made[name] = property_strings.render(found, key)
    return made
