"""Nodes, the version, and the cluster they form."""

from __future__ import annotations

import time
from typing import Any

from proxmox_emulator.cluster import Cluster
from proxmox_emulator.config import NodeSize
from proxmox_emulator.guests import power
from proxmox_emulator.request import Request

VERSION = {"version": "8.4.1", "release": "8.4", "repoid": "2a5fa54a8503f96d"}
_BEGAN = time.time()


async def version(request: Request) -> dict[str, str]:
    """Which Proxmox VE this is."""
    return VERSION


def uptime() -> int:
    """Seconds since the emulator began."""
    return int(time.time() - _BEGAN)


def used_memory(cluster: Cluster, node: NodeSize) -> int:
    """Bytes that the running guests of a node have."""
    return sum(power.memory(guest) for guest in cluster.guests(node.name) if power.is_running(guest))


def node_entry(cluster: Cluster, node: NodeSize) -> dict[str, Any]:
    """What every list says of a node."""
    found: dict[str, Any] = {"node": node.name, "type": "node", "id": f"node/{node.name}"}
    if cluster.faults.node_is_gone(node.name):
        return {**found, "status": "offline"}
    sizes = {"maxcpu": node.cores, "maxmem": node.memory, "maxdisk": node.disk}
    return {
        **found,
        **sizes,
        "status": "online",
        "cpu": 0,
        "mem": used_memory(cluster, node),
        "disk": 0,
        "uptime": uptime(),
        "level": "",
    }


async def list_nodes(request: Request) -> list[dict[str, Any]]:
    """All nodes."""
    return [node_entry(request.cluster, node) for node in request.cluster.nodes]


async def node_status(request: Request) -> dict[str, Any]:
    """One node."""
    node = request.cluster.node(request.node)
    used = used_memory(request.cluster, node)
    return {
        "uptime": uptime(),
        "cpu": 0,
        "cpuinfo": {"cores": node.cores, "cpus": node.cores, "sockets": 1, "model": "Emulated CPU"},
        "memory": {"total": node.memory, "used": used, "free": node.memory - used},
        "rootfs": {"total": node.disk, "used": 0, "free": node.disk, "avail": node.disk},
        "pveversion": f"pve-manager/{VERSION['version']}/{VERSION['repoid']}",
        "loadavg": ["0.00", "0.00", "0.00"],
    }


async def node_time(request: Request) -> dict[str, Any]:
    """A node's clock."""
    return {"time": int(time.time()), "localtime": int(time.time()), "timezone": "UTC"}


async def cluster_status(request: Request) -> list[dict[str, Any]]:
    """The cluster and who is in it."""
    nodes = request.cluster.nodes
    head = {"type": "cluster", "id": "cluster", "name": "emulator", "nodes": len(nodes), "quorate": 1, "version": 1}
    return [head] + [
        {
            "type": "node",
            "id": f"node/{node.name}",
            "name": node.name,
            "nodeid": number,
            "local": int(number == 1),
            "online": int(not request.cluster.faults.node_is_gone(node.name)),
            "ip": "127.0.0.1",
        }
        for number, node in enumerate(nodes, 1)
    ]


async def cluster_options(request: Request) -> dict[str, str]:
    """The cluster's options: none are set."""
    return {}
