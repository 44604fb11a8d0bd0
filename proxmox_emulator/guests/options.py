"""Options of a guest's configuration: which privilege each needs, and how values are kept."""

from __future__ import annotations

import re
from typing import Any

from proxmox_emulator.access import privileges
from proxmox_emulator.request import Request

_PRIVILEGES = {
    "VM.Config.CPU": "cores sockets cpu cpulimit cpuunits vcpus numa affinity smp arch",
    "VM.Config.Memory": "memory balloon shares swap hugepages keephugepages",
    "VM.Config.Network": "net nameserver searchdomain hostname",
    "VM.Config.Disk": "scsi sata virtio efidisk tpmstate rootfs mp unused scsihw boot",
    "VM.Config.CDROM": "cdrom",
    "VM.Config.Cloudinit": "ciuser cipassword cicustom citype ciupgrade sshkeys ipconfig",
    "VM.Config.HWType": "hostpci usb serial parallel vga machine ostype bios audio rng watchdog tablet kvm acpi args",
}
_BY_NAME = {name: privilege for privilege, names in _PRIVILEGES.items() for name in names.split()}
DEFAULT = "VM.Config.Options"


def privilege(name: str, value: Any) -> str:
    """The privilege that changing an option needs."""
    if "media=cdrom" in str(value) and not str(value).partition(",")[0].endswith("cloudinit"):
        return "VM.Config.CDROM"
    return _BY_NAME.get(name) or _BY_NAME.get(
        name.rstrip("0123456789"), "VM.Config.Disk" if name[:3] == "ide" else DEFAULT
    )


def require(request: Request, options: dict[str, Any]) -> None:
    """403 unless who asks may change all of these options; who may allocate the guest may set it up."""
    path = f"/vms/{request.vmid}"
    found = privileges.privileges(request.cluster.records, request.identity, path)
    if "VM.Allocate" in found and request.call.method == "POST" and "{vmid}" not in request.call.path:
        return
    for name, value in options.items():
        privileges.require(request.cluster.records, request.identity, path, privilege(name, value))


def kept(kind: str, name: str, value: Any) -> Any:
    """A value as it is written into the configuration."""
    if name == "tags":
        return ";".join(sorted({tag.lower() for tag in re.split(r"[,;\s]+", value) if tag}))
    if name == "memory" and kind == "qemu":
        return str(value)
    return value


def shown(name: str, value: Any) -> Any:
    """A value as it is told."""
    return "**********" if name == "cipassword" else value
