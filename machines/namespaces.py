"""Network namespaces by name, and work inside them.

A thread may enter a namespace for a moment: sockets that it opens there stay there. So whatever enters one runs in a
thread of its own or in an executor, and never on an event loop.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyroute2 import netns

FOLDER = Path("/run/netns")
# The host's own, held open: once a thread has entered another one, /proc/self no longer leads to it for certain.
HOST = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)


def create(name: str) -> None:
    """Make a namespace, unless it is there."""
    if not (FOLDER / name).exists():
        netns.create(name)


def remove(name: str) -> None:
    """Remove a namespace and with it all its links; what still runs in it keeps it alive without a name."""
    if (FOLDER / name).exists():
        netns.remove(name)


def listed(prefix: str) -> set[str]:
    """The names below a prefix."""
    return (
        {each.name for each in FOLDER.iterdir() if each.name.startswith(f"{prefix}-")} if FOLDER.is_dir() else set()
    )


@contextmanager
def entered(name: str | None) -> Iterator[None]:
    """The calling thread inside a namespace, for the length of the block; None: where it is."""
    if name is None:
        yield
        return
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        netns.setns(str(FOLDER / name), flags=0)
        try:
            yield
        finally:
            netns.setns(home)
    finally:
        os.close(home)
