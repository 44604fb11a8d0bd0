"""Whether machines can run on this computer, in one sentence."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from machines import cgroups
from machines.errors import UnsupportedHost

PROGRAMS = {
    "ip": "iproute2",
    "mkfs.ext4": "e2fsprogs",
    "nft": "nftables",
    "nsenter": "util-linux",
    "ssh-keygen": "openssh-client",
    "systemd-nspawn": "systemd-container",
    "useradd": "passwd",
}


def check() -> None:
    """Raise :class:`UnsupportedHost` unless this is Linux, we are root, and all parts are there."""
    reason = problem()
    if reason:
        raise UnsupportedHost(f"machines can't run here: {reason}")


def problem() -> str:
    """Why not; empty if they can."""
    if sys.platform != "linux":
        return f"they need Linux, and this is {sys.platform}"
    if os.geteuid() != 0:
        return "they need root for namespaces, mounts and cgroups: run as root"
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    missing = [package for program, package in PROGRAMS.items() if shutil.which(program, path=path) is None]
    if missing:
        return f"Debian's packages {', '.join(missing)} are missing: make machines, or apt-get install them"
    filesystems = Path("/proc/filesystems").read_text().split()
    if "overlay" not in filesystems:
        return "the kernel has no overlay file system: modprobe overlay"
    return cgroups.problem()
