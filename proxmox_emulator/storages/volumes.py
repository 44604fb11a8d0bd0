"""Disks of guests: volumes with a size and an owner. They are records, counted against what their storage has."""

from __future__ import annotations

import time
from collections.abc import Iterator

from proxmox_emulator.cluster import Cluster
from proxmox_emulator.errors import ApiError
from proxmox_emulator.records import Body
from proxmox_emulator.storages import files

WHAT = {"images": "vm images", "rootdir": "container directories"}


def split(volid: str) -> tuple[str, str]:
    """`local-lvm:vm-100-disk-0` → storage and name."""
    storage, colon, name = volid.partition(":")
    if not colon or not name:
        raise ApiError(f"unable to parse volume ID '{volid}'")
    return storage, name


def storage(cluster: Cluster, name: str, node: str | None = None) -> Body:
    """A storage by its name, that the node can use."""
    found = cluster.records.get("storage", name)
    if found is None:
        raise ApiError(f"storage '{name}' does not exist")
    if found.get("disable"):
        raise ApiError(f"storage '{name}' is disabled")
    if node and found.get("nodes") and node not in found["nodes"].split(","):
        raise ApiError(f"storage '{name}' is not available on node '{node}'")
    return found


def require_content(found: Body, content: str) -> None:
    """Refuse a storage that isn't set to have this content."""
    if content not in found["content"].split(","):
        what = WHAT.get(content, f"content type '{content}'")
        raise ApiError(f"storage '{found['storage']}' does not support {what}")


def of_storage(cluster: Cluster, found: Body, node: str) -> Iterator[Body]:
    """The volumes of a storage, on a node unless it is shared."""
    place = _place(found, node)
    volumes = cluster.records.all("volume").values()
    return (volume for volume in volumes if volume["storage"] == found["storage"] and volume["node"] == place)


def of_guest(cluster: Cluster, vmid: int) -> list[Body]:
    """The volumes that belong to a guest."""
    return [volume for volume in cluster.records.all("volume").values() if volume["vmid"] == vmid]


def find(cluster: Cluster, volid: str, node: str) -> Body | None:
    """A volume by its id, as a node sees it."""
    name, _ = split(volid)
    return cluster.records.get("volume", f"{_place(storage(cluster, name, node), node)}/{volid}")


def space(cluster: Cluster, found: Body, node: str) -> tuple[int, int]:
    """Total and used bytes of a storage on a node."""
    total = cluster.node(node).disk
    if cluster.faults.storage_is_full(found["storage"], node):
        return total, total
    used = sum(volume["size"] for volume in of_storage(cluster, found, node))
    used += sum(file.path.stat().st_blocks * 512 for file in files.listed(cluster, found, node))
    return total, used


def require_space(cluster: Cluster, found: Body, node: str, size: int) -> None:
    """Refuse what doesn't fit any more."""
    total, used = space(cluster, found, node)
    if size > total - used:
        free = max(0, total - used)
        raise ApiError(f"not enough space on storage '{found['storage']}': {size} bytes wanted, {free} bytes free")


def allocate(cluster: Cluster, name: str, node: str, guest: Body, size: int, wanted: str = "") -> Body:
    """A new disk for a guest; `wanted` is its format, or `cloudinit`."""
    found = storage(cluster, name, node)
    content = "rootdir" if guest["type"] == "lxc" else "images"
    require_content(found, content)
    require_space(cluster, found, node, size)
    volume_name, volume_format = _name(cluster, found, node, guest, wanted)
    body = {
        "storage": name,
        "node": _place(found, node),
        "name": volume_name,
        "volid": f"{name}:{volume_name}",
        "size": size,
        "format": volume_format,
        "content": content,
        "vmid": guest["vmid"],
        "ctime": int(time.time()),
    }
    return save(cluster, body)


def save(cluster: Cluster, volume: Body) -> Body:
    """Write a volume's record."""
    return cluster.records.put("volume", key(volume), volume)


def key(volume: Body) -> str:
    """The id of a volume's record."""
    return f"{volume['node']}/{volume['volid']}"


def path(cluster: Cluster, volume: Body) -> str:
    """Where a node has it."""
    found = storage(cluster, volume["storage"])
    if found["type"] in files.FILE_STORAGES:
        return f"{found['path']}/images/{volume['name']}"
    if found["type"] == "zfspool":
        return f"/dev/zvol/{found.get('pool', 'rpool')}/{volume['name']}"
    return f"/dev/{found.get('vgname', 'pve')}/{volume['name']}"


def _place(found: Body, node: str) -> str:
    return "" if found.get("shared") else node


def _name(cluster: Cluster, found: Body, node: str, guest: Body, wanted: str) -> tuple[str, str]:
    vmid, in_folder = guest["vmid"], found["type"] in files.FILE_STORAGES
    volume_format = ("qcow2" if wanted == "cloudinit" else wanted or "raw") if in_folder else "raw"
    ending = f".{volume_format}" if in_folder else ""
    folder = f"{vmid}/" if in_folder else ""
    start = "subvol" if found["type"] == "zfspool" and guest["type"] == "lxc" else "vm"
    if wanted == "cloudinit":
        return f"{folder}{start}-{vmid}-cloudinit{ending}", volume_format
    taken = {volume["name"].rpartition("/")[2].partition(".")[0] for volume in of_storage(cluster, found, node)}
    number = next(number for number in range(1000) if not taken & {f"{s}-{vmid}-disk-{number}" for s in _STARTS})
    return f"{folder}{start}-{vmid}-disk-{number}{ending}", "subvol" if start == "subvol" else volume_format


_STARTS = ("vm", "base", "subvol", "basevol")
