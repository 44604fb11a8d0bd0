"""The cluster that the calls work on: its records, its nodes, what runs on them."""

from __future__ import annotations

import hashlib
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any

from proxmox_emulator.access.tickets import Tickets
from proxmox_emulator.config import EmulatorConfig, NodeSize
from proxmox_emulator.errors import ApiError
from proxmox_emulator.faults import Faults
from proxmox_emulator.guests.locks import GuestLocks
from proxmox_emulator.guests.runtime import RuleRuntime, Runtime
from proxmox_emulator.records import Body, Records
from proxmox_emulator.tasks import Tasks

if TYPE_CHECKING:
    from collections.abc import Iterator


class Cluster:
    """One emulated Proxmox VE cluster."""

    def __init__(self, config: EmulatorConfig, records: Records, runtime: Runtime | None = None) -> None:
        self.config, self.records = config, records
        self.faults = Faults()
        self.tasks = Tasks(records, self.faults)
        self.locks = GuestLocks(config.lock_timeout)
        self.runtime: Runtime = runtime or RuleRuntime(records)
        key = records.get("secret", "tickets") or records.put("secret", "tickets", {"key": secrets.token_hex(32)})
        self.tickets = Tickets(bytes.fromhex(key["key"]))

    @property
    def nodes(self) -> list[NodeSize]:
        """The nodes, in the order of the command line."""
        return self.config.nodes

    def node(self, name: str) -> NodeSize:
        """One node; one that isn't there can't be found by name, one that is gone can't be reached."""
        found = next((node for node in self.nodes if node.name == name), None)
        if found is None:
            raise ApiError(f"hostname lookup '{name}' failed - failed to get address info for: {name}", 500)
        if self.faults.node_is_gone(name):
            raise ApiError("No route to host", 595)
        return found

    def guest(self, kind: str, node: str, vmid: int) -> Body:
        """A guest by its id, on the node that it is on."""
        found = self.records.get("guest", str(vmid))
        if found is None or found["type"] != kind or found["node"] != node:
            folder = "qemu-server" if kind == "qemu" else "lxc"
            raise ApiError(f"Configuration file 'nodes/{node}/{folder}/{vmid}.conf' does not exist")
        return found

    def guests(self, node: str | None = None) -> Iterator[Body]:
        """All guests, or those of a node."""
        return (guest for guest in self.records.all("guest").values() if node in (None, guest["node"]))

    def save_guest(self, guest: Body, **changes: Any) -> Body:
        """Write a guest's record with changes."""
        return self.records.put("guest", str(guest["vmid"]), {**guest, **changes})

    def storage_folder(self, storage: Body, node: str) -> Path:
        """Where a storage's files are: one folder for all nodes if it is shared, else one for each."""
        place = "shared" if storage.get("shared") else node
        return self.config.data_dir / "storages" / place / storage["storage"]


def digest(config: dict[str, Any]) -> str:
    """The digest of a guest's configuration: any change changes it."""
    text = "".join(f"{key}: {config[key]}\n" for key in sorted(config))
    return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()
