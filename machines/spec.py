"""What a machine is, and how that is kept beside it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class SeedFile:
    """A file that is in the machine before its first boot."""

    text: str
    mode: int = 0o644
    user: str = "root"


@dataclass(frozen=True)
class Login:
    """A user who may log in with a key, and become root, before any first-boot program has run."""

    user: str
    public_keys: tuple[str, ...] = ()


@dataclass(frozen=True)
class MachineSpec:
    """Everything that is needed to boot it. ``namespace`` is the network namespace that it lives in."""

    name: str
    rootfs: Path
    namespace: str
    hostname: str
    memory: int  # bytes
    cpus: float
    disk: int  # bytes
    login: Login | None = None
    files: Mapping[str, SeedFile] = field(default_factory=dict)  # absolute path → file

    def to_json(self) -> str:
        """The spec without its seed, which is in the machine once it was created."""
        kept = {**asdict(self), "rootfs": str(self.rootfs), "files": {}}
        return json.dumps(kept)

    @classmethod
    def from_json(cls, text: str) -> MachineSpec:
        kept = json.loads(text)
        login = kept["login"] and Login(kept["login"]["user"], tuple(kept["login"]["public_keys"]))
        return cls(**{**kept, "rootfs": Path(kept["rootfs"]), "login": login})
