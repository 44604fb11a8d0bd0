"""One run at a time for each component: a file that names its holder, locked for as long as the holder lives.

The kernel drops an flock when its last holder dies, so a dead holder's lock is free at once and a live one's never.
Whoever asks who holds it takes it for a moment, too, shared: a lock counts as held when it stays so for a while.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import socket
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from saltform.errors import Locked
from saltform.files import cannot_write, make_folder

QUESTION = 0.25  # seconds; asking who holds a lock takes far less


@contextlib.contextmanager
def hold(path: Path, holder: Mapping[str, Any], noun: str) -> Iterator[int]:
    """Hold the lock under that name, or say who does."""
    with taken(path, noun) as descriptor:
        name(descriptor, holder)
        yield descriptor


@contextlib.contextmanager
def taken(path: Path, noun: str) -> Iterator[int]:
    """Hold the lock while its file still names the last holder, until `name` is called.

    Yields the descriptor: a process that inherits it keeps the lock.
    """
    make_folder(path.parent)
    while True:
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise cannot_write(path, error) from None
        try:
            if not _taken(descriptor):
                raise locked(noun, last_holder(path))
            if _is_at(descriptor, path):
                yield descriptor
                return
        finally:
            os.close(descriptor)


def _is_at(descriptor: int, path: Path) -> bool:
    """Whether the file that we have locked still has that name: it may have been swapped (`left_behind.py`)."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def name(descriptor: int, holder: Mapping[str, Any]) -> None:
    """Say who holds it: for people, and for whoever finds it after we are dead."""
    named = {**holder, "host": socket.gethostname(), "process": os.getpid()}
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, json.dumps(named).encode(), 0)


def _taken(descriptor: int) -> bool:
    deadline = time.monotonic() + QUESTION
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.01)


def holder_of(path: Path) -> dict[str, Any] | None:
    """Who holds the lock now, or None."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return None
    except BlockingIOError:
        return last_holder(path)
    finally:
        os.close(descriptor)


def last_holder(path: Path) -> dict[str, Any]:
    """Who holds the lock, or held it last; nothing if it isn't known."""
    try:
        tree = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}  # it was taken this very moment and isn't written yet
    return tree if isinstance(tree, dict) else {}


def locked(noun: str, holder: Mapping[str, Any]) -> Locked:
    """The error for a lock that somebody else holds."""
    named = {
        name: holder[name]
        for name in ("run", "author", "since", "host", "process", "heartbeat", "state")
        if holder.get(name)
    }
    said = ", ".join(f"{name} {value}" for name, value in named.items()) or "a run that has only just started"
    return Locked(f"{noun} is locked by another run", said, "wait for that run to end, then try again", holder=named)
