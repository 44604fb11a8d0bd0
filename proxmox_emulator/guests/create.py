"""New guests. All parameters are checked first; then the guest is made whole, or nothing of it stays."""

from __future__ import annotations

import time
import uuid
from typing import Any

from proxmox_emulator.access import privileges
from proxmox_emulator.errors import ApiError, parameter_error
from proxmox_emulator.guests import config, disks, options, power
from proxmox_emulator.records import Body
from proxmox_emulator.request import Request
from proxmox_emulator.storages import content, files, volumes
from proxmox_emulator.tasks import TaskError, TaskLog

_QEMU = ("node", "vmid", "archive", "bwlimit", "force", "live-restore", "pool", "start", "storage", "unique")
_LXC = (*_QEMU, "ostemplate", "password", "ssh-public-keys", "restore", "ignore-unpack-errors")


async def create_qemu(request: Request) -> str:
    """A virtual machine."""
    changed = request.options(*_QEMU)
    _check(request, changed)
    made = {
        "meta": f"creation-qemu=9.2.0,ctime={int(time.time())}",
        "smbios1": f"uuid={uuid.uuid4()}",
        "vmgenid": str(uuid.uuid4()),
    }
    return _begin(request, "qmcreate", {**made, **changed})


async def create_lxc(request: Request) -> str:
    """A container, from a template; without a root file system said, 4 GiB on the storage that is."""
    changed = request.options(*_LXC)
    template = content.find(request.cluster, request.params["ostemplate"], request.node)
    if not isinstance(template, files.StoredFile) or template.content != "vztmpl":
        raise parameter_error(ostemplate="unable to parse template volume name")
    defaults: dict[str, Any] = {
        "arch": "amd64",
        "ostype": template.path.name.split("-")[0],
        "memory": 512,
        "swap": 512,
    }
    if "rootfs" not in changed:
        changed["rootfs"] = f"{request.params.get('storage', 'local')}:4"
    changed.setdefault("hostname", f"CT{request.vmid}")
    _check(request, changed)
    return _begin(request, "vzcreate", {**defaults, **changed})


def _check(request: Request, changed: dict[str, Any]) -> None:
    cluster, pool = request.cluster, request.params.get("pool")
    options.require(request, changed)
    if pool is not None:
        if cluster.records.get("pool", pool) is None:
            raise parameter_error(pool=f"pool '{pool}' does not exist")
        privileges.require(cluster.records, request.identity, f"/pool/{pool}", "Pool.Allocate")
    disks.check(request, changed)
    there = cluster.records.get("guest", str(request.vmid))
    if there is not None:
        what = "VM" if request.kind == "qemu" else "CT"
        raise ApiError(
            f"unable to create {what} {request.vmid} - "
            f"{'VM' if there['type'] == 'qemu' else 'CT'} {request.vmid} already exists on node '{there['node']}'"
        )


def _begin(request: Request, kind: str, changed: dict[str, Any]) -> str:
    cluster, vmid = request.cluster, request.vmid
    guest = {
        "vmid": vmid,
        "type": request.kind,
        "node": request.node,
        "config": {},
        "status": "stopped",
        "lock": "create",
    }
    with cluster.records.transaction():
        cluster.save_guest(guest)
        if "pool" in request.params:
            add_to_pool(request, request.params["pool"], vmid)

    async def work(log: TaskLog) -> None:
        async with cluster.locks.hold(request.kind, vmid):
            try:
                _fill(request, guest, changed)
            except (ApiError, TaskError) as error:
                undo(request, vmid)
                raise TaskError(
                    f"unable to create {'VM' if request.kind == 'qemu' else 'CT'} {vmid} - {error}"
                ) from None
        log(f"created {request.kind} {vmid}")
        if request.params.get("start"):
            await power.boot(cluster, cluster.guest(request.kind, request.node, vmid))

    return cluster.tasks.start(request.node, kind, str(vmid), request.identity.name, work)


def _fill(request: Request, guest: Body, changed: dict[str, Any]) -> None:
    cluster = request.cluster
    with cluster.records.transaction():
        settled: dict[str, Any] = {}
        config.set_options(cluster, guest, settled, changed)
        if guest["type"] == "qemu" and "boot" not in settled:
            order = [
                name for name in sorted(settled) if disks.IS_DISK.match(name) and "media=cdrom" not in settled[name]
            ]
            settled["boot"] = "order=" + ";".join([*order[:1], *[name for name in ("net0",) if name in settled]])
        cluster.save_guest({**guest, "lock": None}, config=settled)


def undo(request: Request, vmid: int) -> None:
    """Nothing stays of a guest that could not be made."""
    records = request.cluster.records
    with records.transaction():
        for volume in volumes.of_guest(request.cluster, vmid):
            records.delete("volume", volumes.key(volume))
        records.delete("guest", str(vmid))
        remove_from_pools(request, vmid)


def add_to_pool(request: Request, pool: str, vmid: int) -> None:
    """Make a guest a member of a pool."""
    found = request.cluster.records.get("pool", pool) or {"vms": []}
    request.cluster.records.put("pool", pool, {**found, "vms": sorted({*found["vms"], vmid})})


def remove_from_pools(request: Request, vmid: int) -> None:
    """A guest that is gone is no member of any pool."""
    for name, pool in list(request.cluster.records.all("pool").items()):
        if vmid in pool["vms"]:
            vms = [each for each in pool["vms"] if each != vmid]
            request.cluster.records.put("pool", name, {**pool, "vms": vms})
