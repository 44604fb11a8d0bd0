"""Where records live: one in-memory state that every read is served from, and three ways of keeping it."""

from __future__ import annotations

from pathlib import Path

from hive_emulator.store.base import Store


def make_store(where: str, data_dir: Path) -> Store:
    """The store that ``--store`` names: ``memory``, ``embedded`` or ``nats://HOST:PORT``."""
    if where == "memory":
        from hive_emulator.store.memory import MemoryStore

        return MemoryStore()
    if where == "embedded":
        from hive_emulator.store.embedded import EmbeddedStore

        return EmbeddedStore(data_dir / "hive.db")
    if where.startswith(("nats://", "tls://")):
        from hive_emulator.store.nats import NatsStore

        return NatsStore(where)
    raise ValueError(f"--store is '{where}', expected embedded, memory or nats://HOST:PORT")
