"""The lock of a guest's configuration: who changes a guest holds it, and others wait for it, but not for long."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

from proxmox_emulator.errors import ApiError

_FILES = {"qemu": "/var/lock/qemu-server/lock-{}.conf", "lxc": "/run/lock/lxc/pve-config-{}.lock"}


def cannot_lock(kind: str, vmid: int) -> str:
    """What Proxmox says when a guest's lock is held by somebody else for too long."""
    return f"can't lock file '{_FILES[kind].format(vmid)}' - got timeout"


class GuestLocks:
    """A lock for each guest."""

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._locks: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def hold(self, kind: str, vmid: int) -> AsyncIterator[None]:
        """Hold a guest's lock for the length of the block."""
        lock = self._locks.get(vmid)
        if lock is None:
            lock = self._locks[vmid] = asyncio.Lock()
        try:
            await asyncio.wait_for(lock.acquire(), self._timeout)
        except asyncio.TimeoutError:
            raise ApiError(cannot_lock(kind, vmid)) from None
        try:
            yield
        finally:
            lock.release()
