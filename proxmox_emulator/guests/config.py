"""A guest's configuration: read, changed, and what of a change waits for the next start.

What can't be changed while a guest runs is in its configuration at once, and in force from the next start on:
`running` has the configuration that it was started with.
"""

from __future__ import annotations

import re
from typing import Any

from proxmox_emulator.cluster import Cluster, digest
from proxmox_emulator.errors import ApiError, parameter_error
from proxmox_emulator.guests import disks, network_devices, options
from proxmox_emulator.records import Body
from proxmox_emulator.request import Request
from proxmox_emulator.storages import volumes
from proxmox_emulator.tasks import TaskLog

_NOT_OPTIONS = ("node", "vmid", "delete", "digest", "revert", "force", "skiplock", "background_delay")
MODIFIED = "detected modified configuration - file changed by other user? Try again."


def refuse_locked(guest: Body) -> None:
    """Refuse what may not be while a task has the guest locked."""
    if guest.get("lock"):
        raise ApiError(f"{'VM' if guest['type'] == 'qemu' else 'CT'} is locked ({guest['lock']})")


async def read_config(request: Request) -> dict[str, Any]:
    """The configuration; `current` without what waits for the next start."""
    guest = request.cluster.guest(request.kind, request.node, request.vmid)
    config = guest.get("running") if request.params.get("current") else None
    found = {name: options.shown(name, value) for name, value in (config or guest["config"]).items()}
    if guest.get("lock"):
        found["lock"] = guest["lock"]
    return {**found, "digest": digest(guest["config"])}


async def pending(request: Request) -> list[dict[str, Any]]:
    """Each option with its value, and the one that waits for the next start."""
    guest = request.cluster.guest(request.kind, request.node, request.vmid)
    now, then = guest.get("running") or guest["config"], guest["config"]
    found = []
    for name in sorted({*now, *then}):
        entry: dict[str, Any] = {"key": name}
        if name in now:
            entry["value"] = options.shown(name, now[name])
        if name in then and then[name] != now.get(name):
            entry["pending"] = options.shown(name, then[name])
        elif name not in then:
            entry["delete"] = 1
        found.append(entry)
    return found


async def update_config(request: Request) -> None:
    """Change options and wait for it."""
    _check(request)
    async with request.cluster.locks.hold(request.kind, request.vmid):
        apply(request)


async def update_config_async(request: Request) -> str:
    """Change options as a task."""
    _check(request)

    async def work(log: TaskLog) -> None:
        async with request.cluster.locks.hold(request.kind, request.vmid):
            apply(request)
            log(f"update VM {request.vmid}: {' '.join(request.options(*_NOT_OPTIONS))}")

    return request.cluster.tasks.start(request.node, "qmconfig", str(request.vmid), request.identity.name, work)


async def regenerate_cloudinit(request: Request) -> None:
    """Write cloud-init's drive anew: what it says is derived from the configuration, so nothing is to be kept."""
    request.cluster.guest(request.kind, request.node, request.vmid)


def _gone(request: Request) -> list[str]:
    return [name for name in re.split(r"[,;\s]+", request.params.get("delete", "")) if name]


def _check(request: Request) -> None:
    guest = request.cluster.guest(request.kind, request.node, request.vmid)
    changed, gone = request.options(*_NOT_OPTIONS), _gone(request)
    if not changed and not gone and "revert" not in request.params:
        raise ApiError("no options specified", 400)
    for name in gone:
        if name in changed:
            raise parameter_error(delete=f"you can't use '-{name}' and -delete {name}' at the same time")
    options.require(request, {**changed, **dict.fromkeys(gone, "")})
    new = {name: text for name, text in changed.items() if guest["config"].get(name) != text}
    disks.check(request, {name: text for name, text in new.items() if not _same_volume(guest, name, text)})


def _same_volume(guest: Body, name: str, text: Any) -> bool:
    old = guest["config"].get(name)
    return (
        bool(disks.IS_DISK.match(name))
        and old is not None
        and disks.volume_of(name, old) == disks.volume_of(name, text)
    )


def apply(request: Request) -> None:
    """Write the changes of a request into the configuration."""
    cluster = request.cluster
    guest = cluster.guest(request.kind, request.node, request.vmid)
    if not request.params.get("skiplock"):
        refuse_locked(guest)
    if request.params.get("digest") not in (None, "", digest(guest["config"])):
        raise ApiError(MODIFIED)
    with cluster.records.transaction():
        config = dict(guest["config"])
        for name in _gone(request):
            remove_option(cluster, guest, config, name)
        set_options(cluster, guest, config, request.options(*_NOT_OPTIONS))
        cluster.save_guest(guest, config=config)


def remove_option(cluster: Cluster, guest: Body, config: dict[str, Any], name: str) -> None:
    """Take an option out; an unused volume is deleted with it."""
    if name not in config:
        return
    if disks.IS_DISK.match(name):
        disks.detach(cluster, guest, config, name)
        return
    value = config.pop(name)
    if name.startswith("unused"):
        volume = volumes.find(cluster, value, guest["node"])
        if volume:
            cluster.records.delete("volume", volumes.key(volume))


def set_options(cluster: Cluster, guest: Body, config: dict[str, Any], changed: dict[str, Any]) -> None:
    """Set options as they are kept: disks with their volumes, network devices with their MAC addresses."""
    for name, value in changed.items():
        if name == "cdrom":
            name, value = "ide2", value if "media=" in value else f"{value},media=cdrom"
        if disks.IS_DISK.match(name):
            if name in config and not _same_volume({"config": config}, name, value):
                disks.detach(cluster, guest, config, name)
            volid = disks.volume_of(name, value)
            for unused in [key for key, text in config.items() if key.startswith("unused") and text == volid]:
                del config[unused]
            config[name] = disks.attach(cluster, guest, name, value)
        elif re.match(r"net\d+\Z", name):
            config[name] = network_devices.settled(guest["type"], value)
        else:
            config[name] = options.kept(guest["type"], name, value)
