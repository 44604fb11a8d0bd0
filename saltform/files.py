"""Writing files so that a reader or a crash never meets half of one.

What can't be made again is durable: the file is synced, then renamed, then the folder that has its name is synced,
and so are the parents of folders that were made on the way. Without the last two, a power cut may take the name.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

from saltform.errors import NoRoom, WorkspaceError

_SAID = {
    errno.ENOSPC: ("the disk is full", "free some space, then run the same command again"),
    errno.EDQUOT: ("the disk quota is used up", "free some space, then run the same command again"),
    errno.EFBIG: ("the file may not grow any more", "raise the limit (ulimit -f), then run the same command again"),
    errno.EACCES: ("permission denied", "run as the user that owns the folder, or fix its permissions"),
    errno.EPERM: ("operation not permitted", "run as the user that owns the folder, or fix its permissions"),
    errno.EROFS: ("the file system is read-only", "remount it writable, or set saltform:state_dir elsewhere"),
    errno.ENOTDIR: ("a file is in the way", "move that file away"),
    errno.EEXIST: ("something of that name is in the way", "move it away"),
}


_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG)


def cannot_write(path: Path, error: OSError) -> WorkspaceError:
    """An OSError as a person should read it."""
    why, fix = _SAID.get(error.errno or 0, (error.strerror or str(error), "check the folder and its disk"))
    kind = NoRoom if error.errno in _NO_ROOM else WorkspaceError
    return kind("can't write", f"{error.filename or path}: {why}", fix, path=str(path))


def make_folder(path: Path, durable: bool = False) -> Path:
    """A private folder (0700), with its parents."""
    try:
        _make_private(path, durable)
    except OSError as error:
        raise cannot_write(path, error) from None
    return path


def _make_private(path: Path, durable: bool) -> None:
    """Parents one by one: `parents=True` would make them readable for all."""
    try:
        path.mkdir(mode=0o700)
    except FileNotFoundError:
        _make_private(path.parent, durable)
        path.mkdir(mode=0o700, exist_ok=True)
    except FileExistsError:
        if path.is_dir():
            return
        raise
    if durable:
        sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """What was renamed, linked or made in it keeps its name through a power cut."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:  # a file system that syncs no folders
            raise
    finally:
        os.close(descriptor)


def sync_file(path: Path) -> None:
    """What another process wrote into it is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_tree(path: Path) -> None:
    """Every file and folder below it, and itself."""
    for folder, _, files in os.walk(path):
        for name in files:
            sync_file(Path(folder, name))
        sync_folder(Path(folder))


def move(source: Path, target: Path) -> None:
    """One rename, durable at both ends; the target's parents are made."""
    make_folder(target.parent, durable=True)
    try:
        source.rename(target)
        sync_folder(target.parent)
        if source.parent != target.parent:
            sync_folder(source.parent)
    except OSError as error:
        raise cannot_write(target, error) from None


def move_folder(source: Path, target: Path) -> None:
    """What is in the folder, if anything, is in the target from now on; and the folder is gone."""
    if source.is_dir():
        with contextlib.suppress(OSError):
            source.rmdir()  # it was empty
            return
        move(source, target)


def write_atomic(path: Path, content: bytes, mode: int = 0o600, durable: bool = True) -> None:
    """Write a whole file or none: a temporary one beside it, renamed over it.

    What can be made again need not be `durable`: readers never meet half of it, but a power cut may take it.
    """
    make_folder(path.parent, durable)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        temporary.replace(path)
        if durable:
            sync_folder(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise cannot_write(path, error) from None


@contextlib.contextmanager
def alone(path: Path) -> Iterator[None]:
    """One at a time, of all threads and processes of this host that come here; the others wait."""
    make_folder(path.parent)
    try:
        lock = path.open("w")
    except OSError as error:
        raise cannot_write(path, error) from None
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
