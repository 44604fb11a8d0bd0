"""The cgroup of a machine: its limits, and the list of its processes that no process can leave.

A machine has a cgroup of its own in every hierarchy that is mounted: one on cgroup v2, one for each controller on v1.
In all of them, because systemd inside makes cgroups below its own, wherever that is.
"""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from machines.errors import MachinesError

MOUNT = Path("/sys/fs/cgroup")
_PERIOD = 100_000  # microseconds in which a machine may use its CPUs
_ENDS_WITHIN = 10.0  # seconds for processes to be gone after SIGKILL


@dataclass(frozen=True)
class Cgroup:
    """The cgroups of one name below one prefix; ``mount`` is where the hierarchies are."""

    prefix: str
    name: str
    mount: Path = MOUNT

    def create(self, memory: int, cpus: float) -> None:
        """Make it and set the limits: bytes of memory, and CPUs (1.5 is one and a half)."""
        for hierarchy in _hierarchies(self.mount):
            self._make(hierarchy)
        if _is_v2(self.mount):
            self._write(self.mount, "memory.max", memory)
            self._write(self.mount, "cpu.max", f"{int(cpus * _PERIOD)} {_PERIOD}")
            return
        self._write(self.mount / "memory", "memory.limit_in_bytes", memory)
        self._write(self.mount / "cpu", "cpu.cfs_period_us", _PERIOD)
        self._write(self.mount / "cpu", "cpu.cfs_quota_us", int(cpus * _PERIOD))

    def join(self) -> str:
        """A shell command that moves the shell into it, with all that it starts."""
        files = " ".join(str(folder / "cgroup.procs") for folder in self._folders())
        return f'for each in {files}; do echo $$ >"$each" || exit 125; done'

    def processes(self) -> set[int]:
        """Everything that runs in it."""
        found: set[int] = set()
        for folder in self._folders():
            for path, _, _ in os.walk(
                folder
            ):  # systemd inside makes and removes cgroups meanwhile: walk() minds nothing
                with suppress(OSError):
                    found.update(int(word) for word in Path(path, "cgroup.procs").read_text().split())
        return found

    def kill(self) -> None:
        """SIGKILL to all, until none is left."""
        until = time.monotonic() + _ENDS_WITHIN
        while running := self.processes():
            if time.monotonic() > until:
                raise MachinesError(f"processes of {self.name} don't end: {sorted(running)}")
            for pid in running:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.01)

    def remove(self) -> None:
        """Remove it from every hierarchy, and the prefix's own once it is empty; nothing may run in it."""
        for folder in self._folders():
            for path, _, _ in os.walk(folder, topdown=False):
                _remove(Path(path))
            with suppress(OSError):  # other machines are still there
                folder.parent.rmdir()

    def _folders(self) -> list[Path]:
        found = [hierarchy / self.prefix / self.name for hierarchy in _hierarchies(self.mount)]
        return [each for each in found if each.is_dir()]

    def _make(self, hierarchy: Path) -> None:
        own = hierarchy / self.prefix / self.name
        try:
            own.mkdir(parents=True, exist_ok=True)
            if _is_v2(hierarchy) and hierarchy == self.mount:
                for folder in (hierarchy, own.parent):
                    (folder / "cgroup.subtree_control").write_text("+memory +cpu +pids")
            for folder in (own.parent, own) if (own / "cpuset.cpus").exists() and not _is_v2(hierarchy) else ():
                for file in ("cpuset.cpus", "cpuset.mems"):  # empty at first, and then nothing may run there
                    (folder / file).write_text((folder.parent / file).read_text())
        except OSError as error:
            raise MachinesError(f"no cgroup can be made in {hierarchy}: {error.strerror}") from error

    def _write(self, hierarchy: Path, file: str, value: int | str) -> None:
        try:
            (hierarchy / self.prefix / self.name / file).write_text(str(value))
        except OSError as error:
            raise MachinesError(f"the limit {file} of {self.name} can't be set: {error.strerror}") from error


def names(prefix: str, mount: Path = MOUNT) -> set[str]:
    """The names that have a cgroup below ``prefix`` somewhere."""
    return {
        each.name
        for h in _hierarchies(mount)
        if (h / prefix).is_dir()
        for each in (h / prefix).iterdir()
        if each.is_dir()
    }


def problem(mount: Path = MOUNT) -> str:
    """Why machines can't be limited here; empty if they can."""
    found = _hierarchies(mount)
    if not found:
        return f"no cgroup is mounted at {mount}"
    if _is_v2(mount):
        missing = {"memory", "cpu"} - set((mount / "cgroup.controllers").read_text().split())
    else:
        missing = {"memory", "cpu"} - {each.name for each in found}
    return f"the cgroup controllers {', '.join(sorted(missing))} are missing" if missing else ""


def _hierarchies(mount: Path) -> list[Path]:
    if _is_v2(mount):
        return [mount]
    return sorted(each for each in mount.iterdir() if (each / "cgroup.procs").exists()) if mount.is_dir() else []


def _is_v2(folder: Path) -> bool:
    return (folder / "cgroup.controllers").exists()


def _remove(folder: Path) -> None:
    """A cgroup whose last process was just killed stays busy for a moment."""
    until = time.monotonic() + _ENDS_WITHIN
    while True:
        try:
            return folder.rmdir()
        except FileNotFoundError:
            return None
        except OSError as error:
            if time.monotonic() > until:
                raise MachinesError(f"{folder} can't be removed: {error.strerror}") from error
            time.sleep(0.01)
