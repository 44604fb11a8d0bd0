"""Copies of guests."""

from __future__ import annotations

import uuid
from typing import Any

from proxmox_emulator import property_strings
from proxmox_emulator.access import privileges
from proxmox_emulator.errors import ApiError, parameter_error
from proxmox_emulator.guests import config, disks, network_devices
from proxmox_emulator.guests.create import add_to_pool, undo
from proxmox_emulator.records import Body
from proxmox_emulator.request import Request
from proxmox_emulator.storages import volumes
from proxmox_emulator.tasks import TaskError, TaskLog


async def clone(request: Request) -> str:
    """A copy under another id, on this node or another; of a template it may be a linked one."""
    cluster, new = request.cluster, request.params["newid"]
    target = request.params.get("target", request.node)
    guest = cluster.guest(request.kind, request.node, request.vmid)
    config.refuse_locked(guest)
    cluster.node(target)
    _check(request, guest, target)
    copy = {"vmid": new, "type": guest["type"], "node": target, "config": {}, "status": "stopped", "lock": "clone"}
    with cluster.records.transaction():
        cluster.save_guest(copy)
        if "pool" in request.params:
            add_to_pool(request, request.params["pool"], new)

    async def work(log: TaskLog) -> None:
        async with cluster.locks.hold(request.kind, request.vmid):
            try:
                with cluster.records.transaction():
                    made = _copied(request, guest, copy)
                    cluster.save_guest({**copy, "lock": None}, config=made)
            except ApiError as error:
                undo(request, new)
                raise TaskError(f"clone failed: {error}") from None
        log(f"cloned {request.vmid} to {new}")

    prefix = "qm" if request.kind == "qemu" else "vz"
    return cluster.tasks.start(request.node, f"{prefix}clone", str(request.vmid), request.identity.name, work)


def _check(request: Request, guest: Body, target: str) -> None:
    records, new = request.cluster.records, request.params["newid"]
    privileges.require(records, request.identity, f"/vms/{new}", "VM.Allocate")
    if records.get("guest", str(new)):
        raise ApiError(f"unable to create VM {new}: config file already exists")
    pool = request.params.get("pool")
    if pool is not None and records.get("pool", pool) is None:
        raise parameter_error(pool=f"pool '{pool}' does not exist")
    if not request.params.get("full", 1) and not guest["config"].get("template"):
        raise ApiError("Linked clone feature is not supported for drive 'scsi0'")
    for name, text in guest["config"].items():
        if disks.IS_DISK.match(name) and target != request.node and ":" in disks.volume_of(name, text):
            storage = volumes.storage(request.cluster, disks.volume_of(name, text).partition(":")[0])
            if not storage.get("shared"):
                raise ApiError(f"Can't clone to non-shared storage '{storage['storage']}'")


def _copied(request: Request, guest: Body, copy: Body) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, value in guest["config"].items():
        if name in ("template", "meta") or name.startswith("unused"):
            continue
        if disks.IS_DISK.match(name):
            made[name] = _copied_disk(request, guest, copy, name, value)
        elif name.startswith("net") and name[3:].isdigit():
            made[name] = network_devices.settled(guest["type"], value, fresh_mac=True)
        else:
            made[name] = value
    if guest["type"] == "qemu":
        made |= {"smbios1": f"uuid={uuid.uuid4()}", "vmgenid": str(uuid.uuid4())}
        made["name"] = request.params.get("name", f"Copy-of-VM-{guest['config'].get('name', request.vmid)}")
    else:
        made["hostname"] = request.params.get("hostname", made.get("hostname", f"CT{copy['vmid']}"))
    if "description" in request.params:
        made["description"] = request.params["description"]
    return made


def _copied_disk(request: Request, guest: Body, copy: Body, name: str, text: str) -> str:
    key = "volume" if guest["type"] == "lxc" else "file"
    found = property_strings.parse(text, key)
    volume = volumes.find(request.cluster, found[key], request.node) if ":" in found[key] else None
    if volume is None:
        return text
    wanted = "cloudinit" if "cloudinit" in volume["name"] else request.params.get("format") or volume["format"]
    storage = request.params.get("storage") or volume["storage"]
    made = volumes.allocate(request.cluster, storage, copy["node"], copy, volume["size"], wanted)
    return property_strings.render({**found, key: made["volid"]}, key)
