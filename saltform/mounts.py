"""Which file system a folder is on, from the kernel's own table: no process is started, and nothing is mounted."""

from __future__ import annotations

import os
import re
from pathlib import Path

from saltform.errors import SaltformError

MOUNTS = Path("/proc/self/mountinfo")
# An flock there is not seen by other hosts, or by nobody: two runs would be at one component.
NO_FLOCK = frozenset("nfs nfs4 cifs smb3 smbfs 9p afs virtiofs fuse fuseblk".split())
_ESCAPED = re.compile(r"\\(\d{3})")


def file_system(path: Path) -> str:
    """`ext4`, `nfs4`, `fuse.sshfs`, …: of the folder, or of where it would be made; empty if that can't be told."""
    real, found, longest = os.path.realpath(path), "", -1
    try:
        table = MOUNTS.read_text(errors="surrogateescape")
    except OSError:
        return ""
    for line in table.splitlines():
        before, _, after = line.partition(" - ")
        point = _ESCAPED.sub(lambda match: chr(int(match[1], 8)), before.split()[4])
        inside = real == point or real.startswith(f"{point.rstrip('/')}/")
        if inside and len(point) >= longest:  # of two at one point, the later one hides the other
            found, longest = after.split()[0], len(point)
    return found


def check_flock(state_dir: Path) -> str:
    """Refuse a state folder where a lock keeps nobody out. The file systems that it is on."""
    found = {str(path): file_system(path) for path in (state_dir, state_dir / "locks", state_dir / "states")}
    for path, kind in found.items():
        if kind in NO_FLOCK or kind.startswith("fuse."):
            raise SaltformError(
                "the state folder is on a file system without real locks",
                f"{path} is on {kind}: an flock there doesn't keep another run out, so two could apply at once",
                "set saltform:state_dir to a folder on a local disk; what several masters share is for "
                "a backend (pg, s3) and a PostgreSQL run log",
            )
    return ", ".join(sorted(set(filter(None, found.values())))) or "unknown"
