"""Guests as lists and single ones show them."""

from __future__ import annotations

import time
from typing import Any

from proxmox_emulator import property_strings
from proxmox_emulator.access import privileges
from proxmox_emulator.guests import disks, power
from proxmox_emulator.records import Body
from proxmox_emulator.request import Request


def summary(guest: Body) -> dict[str, Any]:
    """What every list says of a guest."""
    config, running = guest["config"], power.is_running(guest)
    found = {
        "vmid": guest["vmid"],
        "name": config.get("name") or config.get("hostname") or f"VM {guest['vmid']}",
        "status": guest["status"],
        "template": config.get("template", 0),
        "maxmem": power.memory(guest),
        "maxdisk": _disk_size(config),
        "uptime": int(time.time()) - guest["since"] if running else 0,
        "cpu": 0,
        "mem": 0,
        "disk": 0,
        "netin": 0,
        "netout": 0,
        "diskread": 0,
        "diskwrite": 0,
    }
    if config.get("tags"):
        found["tags"] = config["tags"]
    if guest.get("lock"):
        found["lock"] = guest["lock"]
    return found


def _disk_size(config: dict[str, Any]) -> int:
    for name, text in config.items():
        if disks.IS_DISK.match(name) and "media=cdrom" not in text and "size=" in text:
            return property_strings.size_in_bytes(text.rpartition("size=")[2].partition(",")[0])
    return 0


async def list_guests(request: Request) -> list[dict[str, Any]]:
    """The guests of a node that who asks may see."""
    return [
        {**summary(guest), "cpus": power.cores(guest), **({"type": "lxc"} if guest["type"] == "lxc" else {})}
        for guest in request.cluster.guests(request.node)
        if guest["type"] == request.kind and visible(request, guest)
    ]


def visible(request: Request, guest: Body) -> bool:
    """Whether who asks may see a guest."""
    path = f"/vms/{guest['vmid']}"
    return "VM.Audit" in privileges.privileges(request.cluster.records, request.identity, path)


async def current_status(request: Request) -> dict[str, Any]:
    """One guest, now."""
    guest = request.cluster.guest(request.kind, request.node, request.vmid)
    found = {**summary(guest), "cpus": power.cores(guest), "ha": {"managed": 0}}
    if request.kind == "qemu":
        found["qmpstatus"] = guest["status"]
        found["agent"] = int(str(guest["config"].get("agent", "0")).startswith(("1", "enabled=1")))
    else:
        found["type"] = "lxc"
        found["maxswap"] = int(guest["config"].get("swap", 512)) * power.MIB
    return found
