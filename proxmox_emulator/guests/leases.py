"""Addresses of guests without machines: the static ones of their configuration, else the next free of their bridge.

A lease belongs to a MAC address and a bridge, is on record, and lasts as long as the guest.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from proxmox_emulator import property_strings
from proxmox_emulator.records import Body, Records

FIRST = 100  # of a bridge's network: what is below is for hosts


@dataclass(frozen=True)
class Device:
    """A network device of a guest."""

    number: int
    name: str
    mac: str
    bridge: str
    address: str  # with prefix; empty: by lease


def devices(guest: Body) -> Iterator[Device]:
    """The network devices in the order of their numbers."""
    for number in range(32):
        text = guest["config"].get(f"net{number}")
        if text is None:
            continue
        found = property_strings.parse(text, "model")
        if guest["type"] == "lxc":
            name, mac, address = found["name"], found.get("hwaddr", ""), found.get("ip", "")
        else:
            name, mac = f"eth{number}", next(value for value in found.values() if value.count(":") == 5)
            address = property_strings.parse(guest["config"].get(f"ipconfig{number}", "ip=dhcp")).get("ip", "")
        yield Device(number, name, mac, found.get("bridge", ""), address if "/" in address else "")


def assign(records: Records, guest: Body) -> None:
    """Give every device of a guest that needs one a lease."""
    for device in devices(guest):
        key = f"{device.mac}@{device.bridge}"
        network = _network(records, guest["node"], device.bridge)
        if device.address or network is None or records.get("lease", key) is not None:
            continue
        taken = {lease["address"] for lease in records.all("lease").values()}
        free = (str(network[number]) for number in range(FIRST, network.num_addresses - 1))
        address = next((each for each in free if each not in taken), None)
        if address:
            records.put("lease", key, {"address": address, "prefix": network.prefixlen, "vmid": guest["vmid"]})


def release(records: Records, guest: Body) -> None:
    """Forget the leases of a guest."""
    for key, lease in list(records.all("lease").items()):
        if lease["vmid"] == guest["vmid"]:
            records.delete("lease", key)


def interfaces(records: Records, guest: Body) -> list[dict[str, Any]]:
    """What the guest agent says: lo first, then the devices."""
    found = [_interface("lo", "00:00:00:00:00:00", [("127.0.0.1", 8)])]
    for device in devices(guest):
        addresses = []
        if device.address:
            address, _, prefix = device.address.partition("/")
            addresses.append((address, int(prefix)))
        elif lease := records.get("lease", f"{device.mac}@{device.bridge}"):
            addresses.append((lease["address"], lease["prefix"]))
        found.append(_interface(device.name, device.mac.lower(), addresses))
    return found


def _interface(name: str, mac: str, addresses: list[tuple[str, int]]) -> dict[str, Any]:
    listed = [
        {"ip-address": address, "prefix": prefix, "ip-address-type": f"ipv{ipaddress.ip_address(address).version}"}
        for address, prefix in addresses
    ]
    statistics = {f"{way}-{what}": 0 for way in ("rx", "tx") for what in ("bytes", "packets", "errs", "dropped")}
    return {"name": name, "hardware-address": mac, "ip-addresses": listed, "statistics": statistics}


def _network(records: Records, node: str, bridge: str) -> ipaddress.IPv4Network | None:
    found = records.get("interface", f"{node}/{bridge}")
    cidr = found["settings"].get("cidr") if found else None
    return ipaddress.ip_interface(cidr).network if cidr and ":" not in cidr else None  # type: ignore[return-value]
