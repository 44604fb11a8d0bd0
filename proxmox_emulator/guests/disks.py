"""Disks in a guest's configuration: allocated, attached, detached, resized, moved.

`STORAGE:SIZE` asks for a new volume of SIZE GiB, `STORAGE:0,import-from=VOLUME` for a copy, `STORAGE:cloudinit` for
the drive with cloud-init's data; anything else names a volume that is there.
"""

from __future__ import annotations

import re
from typing import Any

from proxmox_emulator import property_strings
from proxmox_emulator.access import privileges
from proxmox_emulator.cluster import Cluster
from proxmox_emulator.errors import ApiError, wrong_parameters
from proxmox_emulator.records import Body
from proxmox_emulator.request import Request
from proxmox_emulator.storages import content, files, volumes
from proxmox_emulator.tasks import TaskLog

GIB = 1024**3
IS_DISK = re.compile(r"((ide|sata|scsi|virtio)\d+|efidisk0|tpmstate0|rootfs|mp\d+)\Z")
_FIXED = {"efidisk0": 4 * 1024**2, "tpmstate0": 4 * 1024**2}
_NEW = re.compile(r"([A-Za-z][\w.-]*):(\d+(?:\.\d+)?)\Z", re.ASCII)


def _key(name: str) -> str:
    return "volume" if name == "rootfs" or name.startswith("mp") else "file"


def volume_of(name: str, text: str) -> str:
    """The volume id in a disk's settings."""
    return property_strings.parse(text, _key(name))[_key(name)]


def check(request: Request, options: dict[str, Any]) -> None:
    """Refuse disks that can't be: 400 with each of them named, before anything is made."""
    problems = {}
    for name, text in options.items():
        if IS_DISK.match(name):
            try:
                _check_one(request, name, text)
            except ApiError as error:
                if error.status == 403:
                    raise
                problems[name] = error.message
    if problems:
        raise wrong_parameters(problems)


def _check_one(request: Request, name: str, text: str) -> None:
    found = property_strings.parse(text, _key(name))
    volid = found[_key(name)]
    if volid in ("none", "cdrom"):
        return
    if volid.startswith("/"):
        raise ApiError("Only root can pass arbitrary filesystem paths.")
    storage_name, volume_name = volumes.split(volid)
    storage = volumes.storage(request.cluster, storage_name, request.node)
    if _NEW.match(volid) or volume_name == "cloudinit":
        volumes.require_content(storage, "rootdir" if request.kind == "lxc" else "images")
        path = f"/storage/{storage_name}"
        privileges.require(request.cluster.records, request.identity, path, "Datastore.AllocateSpace")
    else:
        content.find(request.cluster, volid, request.node)
    if "import-from" in found:
        source = content.find(request.cluster, found["import-from"], request.node)
        if isinstance(source, files.StoredFile) and source.content != "import":
            raise ApiError(f"{source.volid} has wrong type '{source.content}' - needs to be 'images' or 'import'")


def attach(cluster: Cluster, guest: Body, name: str, text: str) -> str:
    """A disk's settings with its volume made or found, as they are kept."""
    key = _key(name)
    found = property_strings.parse(text, key)
    volid, wanted = found[key], found.pop("format", "")
    source = found.pop("import-from", None)
    if volid in ("none", "cdrom"):
        return property_strings.render(found, key)
    new = _NEW.match(volid)
    if new:
        size = _FIXED.get(name) or int(float(new[2]) * GIB)
        if source:
            size = max(size, _size(content.find(cluster, source, guest["node"])))
        volume = volumes.allocate(cluster, new[1], guest["node"], guest, size, wanted)
    elif volid.endswith(":cloudinit"):
        storage = volid.partition(":")[0]
        volume = volumes.allocate(cluster, storage, guest["node"], guest, 4 * 1024**2, "cloudinit")
        found["media"] = "cdrom"
    else:
        there = content.find(cluster, volid, guest["node"])
        return property_strings.render({**found, "size": property_strings.size_text(_size(there))}, key)
    size_text = property_strings.size_text(volume["size"])
    return property_strings.render({**found, key: volume["volid"], "size": size_text}, key)


def _size(found: files.StoredFile | Body) -> int:
    return found.size if isinstance(found, files.StoredFile) else found["size"]


def detach(cluster: Cluster, guest: Body, config: dict[str, Any], name: str) -> None:
    """Take a disk out of a configuration: a volume of the guest's own stays as an unused one."""
    volid = volume_of(name, config.pop(name))
    volume = volumes.find(cluster, volid, guest["node"]) if ":" in volid else None
    if volume is None or volume["vmid"] != guest["vmid"]:
        return
    if volid.partition(":")[2].rpartition("/")[2].startswith(f"vm-{guest['vmid']}-cloudinit"):
        cluster.records.delete("volume", volumes.key(volume))
        return
    free = next(number for number in range(256) if f"unused{number}" not in config)
    config[f"unused{free}"] = volid


async def resize(request: Request) -> str:
    """Make a disk larger."""
    cluster, name, wanted = request.cluster, request.params["disk"], request.params["size"]
    guest = cluster.guest(request.kind, request.node, request.vmid)
    if name not in guest["config"]:
        raise ApiError(f"disk '{name}' does not exist")
    volume = volumes.find(cluster, volume_of(name, guest["config"][name]), request.node)
    if volume is None:
        raise ApiError(f"disk '{name}' can't be resized")
    grown = property_strings.size_in_bytes(wanted.lstrip("+")) + (volume["size"] if wanted.startswith("+") else 0)
    if grown < volume["size"]:
        raise ApiError("shrinking disks is not supported")

    async def work(log: TaskLog) -> None:
        async with cluster.locks.hold(request.kind, request.vmid):
            now = cluster.guest(request.kind, request.node, request.vmid)
            with cluster.records.transaction():
                storage = volumes.storage(cluster, volume["storage"], request.node)
                volumes.require_space(cluster, storage, request.node, grown - volume["size"])
                volumes.save(cluster, {**volume, "size": grown})
                text = property_strings.parse(now["config"][name], _key(name))
                text["size"] = property_strings.size_text(grown)
                config = {**now["config"], name: property_strings.render(text, _key(name))}
                cluster.save_guest(now, config=config)
            log(f"resized disk {name} to {property_strings.size_text(grown)}")

    return cluster.tasks.start(request.node, "resize", str(request.vmid), request.identity.name, work)


async def move(request: Request) -> str:
    """Move a disk to another storage."""
    cluster, name, target = request.cluster, request.params["disk"], request.params["storage"]
    guest = cluster.guest(request.kind, request.node, request.vmid)
    if name not in guest["config"]:
        raise ApiError(f"disk '{name}' does not exist")
    volume = volumes.find(cluster, volume_of(name, guest["config"][name]), request.node)
    if volume is None or volume["storage"] == target:
        raise ApiError("you can't move to the same storage with same format")

    async def work(log: TaskLog) -> None:
        async with cluster.locks.hold(request.kind, request.vmid):
            now = cluster.guest(request.kind, request.node, request.vmid)
            with cluster.records.transaction():
                wanted = request.params.get("format", "")
                moved = volumes.allocate(cluster, target, request.node, now, volume["size"], wanted)
                text = property_strings.parse(now["config"][name], _key(name))
                text[_key(name)] = moved["volid"]
                config = {**now["config"], name: property_strings.render(text, _key(name))}
                if request.params.get("delete"):
                    cluster.records.delete("volume", volumes.key(volume))
                else:
                    free = next(number for number in range(256) if f"unused{number}" not in config)
                    config[f"unused{free}"] = volume["volid"]
                cluster.save_guest(now, config=config)
            log(f"moved disk {name} to {target}")

    return cluster.tasks.start(request.node, "qmmove", str(request.vmid), request.identity.name, work)
