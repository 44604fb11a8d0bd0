"""All machines of one prefix on this computer: made, found again, and removed with everything they left."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

from machines import cgroups, disks, namespaces
from machines.cgroups import Cgroup
from machines.commands import run
from machines.machine import Machine, forget_nspawn
from machines.reconcile import opened
from machines.spec import MachineSpec


class MachineHost:
    """``folder`` keeps the machines: whoever opens the same one with the same prefix takes them over."""

    def __init__(self, prefix: str, folder: Path) -> None:
        self.prefix = prefix
        self.folder = folder

    def create(self, spec: MachineSpec) -> Machine:
        """Make a machine; nothing of it stays when that fails."""
        machine = Machine(spec, self.folder / spec.name, self.prefix)
        try:
            machine.create()
        except BaseException:
            self.remove(spec.name)
            raise
        return machine

    def machines(self) -> dict[str, Machine]:
        """Every machine that was made whole and not removed since, by name."""
        found = sorted(self.folder.glob("*/machine.json"))
        specs = [MachineSpec.from_json(path.read_text()) for path in found]
        return {spec.name: Machine(spec, self.folder / spec.name, self.prefix) for spec in specs}

    def remove(self, name: str) -> None:
        """Remove a machine, a whole one or what is left of one."""
        cgroup = Cgroup(self.prefix, name)
        cgroup.kill()
        cgroup.remove()
        for point in disks.mounts_below(self.folder / name):
            run(["umount", point])
        forget_nspawn(self.prefix, name)
        shutil.rmtree(self.folder / name, ignore_errors=True)

    def names(self) -> set[str]:
        """Of whatever there is: machines, halves of machines, cgroups that lost their machine."""
        there = {each.name for each in self.folder.iterdir() if each.is_dir()} if self.folder.is_dir() else set()
        return there | cgroups.names(self.prefix)

    def leftovers(self) -> list[str]:
        """What the kernel still has under the prefix or below the folder, as a person reads it."""
        found = [f"cgroup {self.prefix}/{name}" for name in sorted(cgroups.names(self.prefix))]
        found += [
            f"process {pid}" for name in cgroups.names(self.prefix) for pid in Cgroup(self.prefix, name).processes()
        ]
        found += [f"mount {point}" for point in disks.mounts_below(self.folder)]
        found += [f"namespace {name}" for name in sorted(namespaces.listed(self.prefix))]
        with opened(None) as kernel:
            found += [f"link {name}" for name in sorted(kernel.devices()) if name.startswith(self.prefix)]
        return found


def prefix_for(folder: Path, word: str) -> str:
    """A prefix that belongs to this folder: short enough for a device's name, the same at every start."""
    return f"{word}{hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:8]}"
