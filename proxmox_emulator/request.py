"""A call on its way through the emulator: who asks, for what, with which parameters."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from proxmox_emulator.access.identity import Identity
    from proxmox_emulator.api.calls import Call
    from proxmox_emulator.cluster import Cluster


@dataclass
class Request:
    """What a handler gets."""

    cluster: Cluster
    call: Call
    identity: Identity
    params: dict[str, Any]
    upload: Path | None = None  # the file of a multipart form, in the data folder
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def node(self) -> str:
        """The node in the path."""
        return self.params["node"]

    @property
    def vmid(self) -> int:
        """The guest in the path."""
        return self.params["vmid"]

    @property
    def kind(self) -> str:
        """`qemu` or `lxc`, from the path."""
        return "lxc" if "/lxc" in self.call.path else "qemu"

    def options(self, *path_names: str) -> dict[str, Any]:
        """The parameters without those named."""
        return {name: value for name, value in self.params.items() if name not in path_names}
