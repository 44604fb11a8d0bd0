"""What a fresh cluster has: storages, bridges, the first user, and images to make guests from."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from proxmox_emulator.access.identity import ROOT
from proxmox_emulator.cluster import Cluster
from proxmox_emulator.storages import files

SEEDS = json.loads(Path(__file__).with_name("seeds.json").read_text())


def plant(cluster: Cluster) -> None:
    """Make what a fresh cluster has; what is there stays as it is."""
    records = cluster.records
    with records.transaction():
        if not records.all("storage"):
            for storage in SEEDS["storages"]:
                records.put("storage", storage["storage"], storage)
        if records.get("user", ROOT) is None:
            records.put("user", ROOT, {"enable": 1, "comment": "the first user"})
        for number, node in enumerate(cluster.nodes):
            for bridge in SEEDS["bridges"]:
                _plant_bridge(cluster, node.name, number, bridge)
    for node in cluster.nodes:
        _plant_images(cluster, node.name)


def reset(cluster: Cluster) -> None:
    """Back to a fresh cluster; keys, tokens and users stay, so that everybody can go on."""
    records = cluster.records
    with records.transaction():
        for kind in records.counts():
            if kind not in ("secret", "user", "token", "role", "acl"):
                for key in list(records.all(kind)):
                    records.delete(kind, key)
    shutil.rmtree(cluster.config.data_dir / "storages", ignore_errors=True)
    plant(cluster)


def _plant_bridge(cluster: Cluster, node: str, number: int, bridge: dict[str, str]) -> None:
    key = f"{node}/{bridge['iface']}"
    if cluster.records.get("interface", key) is None:
        settings = {
            "type": "bridge",
            "bridge_ports": bridge["port"],
            "cidr": f"{bridge['network']}.{number + 2}/16",
            "autostart": 1,
        }
        cluster.records.put("interface", key, {"node": node, "iface": bridge["iface"], "settings": settings})


def _plant_images(cluster: Cluster, node: str) -> None:
    for image in SEEDS["images"]:
        storage = cluster.records.get("storage", image["storage"])
        if storage is None:
            continue
        path = cluster.storage_folder(storage, node) / files.FOLDERS[image["content"]] / image["name"]
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("wb") as file:
                file.truncate(image["mib"] * 1024 * 1024)  # sparse: it takes no space
