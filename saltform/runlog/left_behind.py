"""A lock that nobody works under any more, kept by a process that a provisioner left behind.

It inherited the lock's descriptor, and with it the connection to the run log: both last as long as it lives. Freed
without ending that process:

1. /proc shows who has the lock's file open. If one of them is a terraform or a provider, or one that doesn't let us
   look at its files, the lock is left alone.
2. The file is swapped for a new one, which we have locked already: what that process has is a lock on a file that
   nobody asks for. The old file keeps a second name meanwhile. If somebody else opened it after we looked, and stays,
   it got the lock in the last moment: then the old file gets its name back.
3. The session in PostgreSQL that has the advisory lock is ended, if it is the one of this lock's last holder.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Collection
from pathlib import Path

from saltform.errors import Locked
from saltform.process.open_files import Opener, openers
from saltform.runlog import flock

PATIENCE = 2.0  # seconds; who asks for a lock that isn't free has the file open for a quarter of one


def judged(path: Path, noun: str, run: str, binaries: Collection[str]) -> list[Opener]:
    """Who keeps the lock, when none of them is at work on the component; else Locked, with who is."""
    found = openers(path)
    working = [item for item in found if item.is_terraform(binaries)]
    if working:
        said = ", ".join(str(item) if item.known else f"{item}, whose files can't be read here," for item in working)
        raise Locked(
            f"{noun} is locked by run {run}, which has ended",
            f"{said} may still be at work on it",
            "wait: it was interrupted, and writes down what it did",
            holder={"run": run},
        )
    return [item for item in found if item.known]


def swap(path: Path, noun: str, known: Collection[Opener]) -> None:
    """Give the lock's name to a new file, unless somebody has taken the lock since it was looked at."""
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    old, new = path.with_suffix(".old"), path.with_suffix(".new")
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)  # one at a time
        new.unlink(missing_ok=True)
        old.unlink(missing_ok=True)
        with os.fdopen(os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as fresh:
            fcntl.flock(fresh, fcntl.LOCK_EX)
            fresh.write(path.read_bytes())  # its last holder's name
            fresh.flush()
            old.hardlink_to(path)
            new.replace(path)
            if not _nobody_new(old, known):
                old.replace(path)
                raise flock.locked(noun, flock.last_holder(path))
            old.unlink()
    finally:
        os.close(folder)


def _nobody_new(old: Path, known: Collection[Opener]) -> bool:
    deadline, pids = time.monotonic() + PATIENCE, {item.process for item in known}
    while any(item.known and item.process not in pids for item in openers(old)):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True
