"""Programs of the system that have no library: mount, mkfs.ext4, nft, …"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from machines.errors import MachinesError


def run(words: Sequence[str], given: str | None = None, timeout: float = 120.0) -> str:
    """Run a command to its end; returns its output, or raises with what it said."""
    try:
        done = subprocess.run(words, input=given, capture_output=True, text=True, timeout=timeout)
    except FileNotFoundError:
        raise MachinesError(f"{words[0]} is not installed: make machines installs it") from None
    except subprocess.TimeoutExpired:
        raise MachinesError(f"{words[0]} did not end within {timeout:g} s") from None
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()
        raise MachinesError(f"{' '.join(words[:2])} failed: {said[-1] if said else f'code {done.returncode}'}")
    return done.stdout
