"""What a running emulator is set to."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

GIB = 1024**3
_NODE = re.compile(r"([a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)(?:=(\d+),(\d+),(\d+))?\Z")


@dataclass(frozen=True)
class NodeSize:
    """A node of the cluster and what it has."""

    name: str
    cores: int = 16
    memory: int = 64 * GIB
    disk: int = 500 * GIB


@dataclass
class EmulatorConfig:
    """Settings of one emulator."""

    data_dir: Path
    nodes: list[NodeSize] = field(default_factory=lambda: [NodeSize("pve1"), NodeSize("pve2"), NodeSize("pve3")])
    images: Path | None = None  # files below it can be downloaded by a file:// URL
    lock_timeout: float = 10.0  # seconds that a call waits for the lock of a guest's configuration


def parse_node(text: str) -> NodeSize:
    """`pve1` or `pve1=16,64,500`: cores, GiB of memory, GiB of disk."""
    found = _NODE.match(text)
    if not found:
        raise ValueError(
            f"--node is '{text}', expected a name, or NAME=CORES,MEMORY_GIB,DISK_GIB such as pve1=16,64,500"
        )
    if found[2] is None:
        return NodeSize(found[1])
    cores, memory, disk = (int(number) for number in found.groups()[1:])
    return NodeSize(found[1], cores, memory * GIB, disk * GIB)
