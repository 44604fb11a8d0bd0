"""What is on a storage: files and disks, listed, read, made and deleted."""

from __future__ import annotations

from typing import Any

from proxmox_emulator.access import privileges
from proxmox_emulator.cluster import Cluster
from proxmox_emulator.errors import ApiError, forbidden
from proxmox_emulator.property_strings import size_in_bytes
from proxmox_emulator.records import Body
from proxmox_emulator.request import Request
from proxmox_emulator.storages import files, volumes
from proxmox_emulator.tasks import TaskLog


def _of_disk(volume: Body) -> dict[str, Any]:
    names = ("volid", "format", "size", "vmid", "content", "ctime")
    return {name: volume[name] for name in names} | {"used": volume["size"]}


def _of_file(file: files.StoredFile) -> dict[str, Any]:
    return {
        "volid": file.volid,
        "content": file.content,
        "format": file.format,
        "size": file.size,
        "ctime": file.ctime,
    }


async def list_content(request: Request) -> list[dict[str, Any]]:
    """Everything on a storage, or what is of one content type or one guest."""
    cluster, node = request.cluster, request.node
    storage = volumes.storage(cluster, request.params["storage"], node)
    found = [_of_file(file) for file in files.listed(cluster, storage, node)]
    found += [_of_disk(volume) for volume in volumes.of_storage(cluster, storage, node)]
    content, vmid = request.params.get("content"), request.params.get("vmid")
    fitting = (each for each in found if content in (None, each["content"]) and vmid in (None, each.get("vmid")))
    return sorted(fitting, key=lambda each: each["volid"])


async def read_volume(request: Request) -> dict[str, Any]:
    """One volume: where it is and how large."""
    found = find(request.cluster, _volid(request), request.node)
    if isinstance(found, files.StoredFile):
        return {"path": _shown_path(request, found), "size": found.size, "used": found.size, "format": found.format}
    path = volumes.path(request.cluster, found)
    return {"path": path, "size": found["size"], "used": found["size"], "format": found["format"]}


async def allocate(request: Request) -> str:
    """A disk that no guest uses yet."""
    size = request.params["size"]
    guest = request.cluster.records.get("guest", str(request.params["vmid"]))
    owner = guest or {"vmid": request.params["vmid"], "type": "qemu"}
    wanted = size_in_bytes(size if size[-1] in "KMGT" else f"{size}K")
    kind = request.params.get("format", "")
    return volumes.allocate(request.cluster, request.params["storage"], request.node, owner, wanted, kind)["volid"]


async def delete_volume(request: Request) -> str:
    """A file, or a disk that no configuration names."""
    cluster, node = request.cluster, request.node
    found = find(cluster, _volid(request), node)
    owned = not isinstance(found, files.StoredFile)
    allowed = privileges.privileges(cluster.records, request.identity, f"/storage/{request.params['storage']}")
    if "Datastore.Allocate" not in allowed and not owned:
        raise forbidden(f"/storage/{request.params['storage']}", ["Datastore.Allocate"])
    if isinstance(found, dict):
        _refuse_used(cluster, found)

    async def work(log: TaskLog) -> None:
        if isinstance(found, files.StoredFile):
            found.path.unlink(missing_ok=True)
        else:
            cluster.records.delete("volume", volumes.key(found))
        log(f"Removed volume '{_volid(request)}'")

    return cluster.tasks.start(node, "imgdel", _volid(request).replace(":", "@"), request.identity.name, work)


def find(cluster: Cluster, volid: str, node: str) -> files.StoredFile | Body:
    """A file or a disk by its volume id."""
    storage, name = volumes.split(volid)
    found = volumes.find(cluster, volid, node) or files.find(
        cluster, volumes.storage(cluster, storage, node), node, name
    )
    if found is None:
        raise ApiError(f"volume '{volid}' does not exist")
    return found


def _volid(request: Request) -> str:
    volume = request.params["volume"]
    return volume if ":" in volume else f"{request.params['storage']}:{volume}"


def _shown_path(request: Request, file: files.StoredFile) -> str:
    storage = volumes.storage(request.cluster, file.storage, request.node)
    return f"{storage['path']}/{files.FOLDERS[file.content]}/{file.path.name}"


def _refuse_used(cluster: Cluster, volume: Body) -> None:
    guest = cluster.records.get("guest", str(volume["vmid"]))
    for text in guest["config"].values() if guest else ():
        if isinstance(text, str) and volume["volid"] in text.split(","):
            raise ApiError(f"Cannot remove image, a guest with VMID '{volume['vmid']}' exists!")
