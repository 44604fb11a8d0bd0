"""Network devices of guests: written as Proxmox writes them, with a MAC address of their own."""

from __future__ import annotations

import secrets

from proxmox_emulator import property_strings

MODELS = ("virtio", "e1000", "e1000e", "rtl8139", "vmxnet3", "ne2k_pci", "pcnet")


def new_mac() -> str:
    """In Proxmox's own range."""
    return "BC:24:11:" + ":".join(f"{byte:02X}" for byte in secrets.token_bytes(3))


def settled(kind: str, text: str, fresh_mac: bool = False) -> str:
    """A device's settings with a MAC address; another one if it has to be fresh."""
    found = property_strings.parse(text, "model")
    if kind == "lxc":
        mac = "" if fresh_mac else found.get("hwaddr", "")
        return property_strings.render({**found, "hwaddr": mac or new_mac(), "type": "veth"})
    model = next((name for name in MODELS if name in found), found.pop("model", "virtio"))
    mac = found.pop(model, "") or found.pop("macaddr", "")
    rest = property_strings.render(found)
    return f"{model}={new_mac() if fresh_mac or not mac else mac.upper()}" + (f",{rest}" if rest else "")
