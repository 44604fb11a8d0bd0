"""The disk of a machine: an ext4 image of its size, and an overlay of a root file system with what is written on it.

The image is sparse: it takes what is written, and no more than its size. A machine that fills it gets ENOSPC.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from machines.commands import run
from machines.errors import MachinesError

_FORMAT = ["mkfs.ext4", "-q", "-F", "-m", "0", "-O", "^has_journal", "-E", "lazy_itable_init=1,nodiscard"]
SMALLEST = 16 * 1024**2


@dataclass(frozen=True)
class Disk:
    """In ``folder``: the image, where it is mounted, and the root of the machine. ``label`` names its mounts."""

    folder: Path
    label: str

    @property
    def root(self) -> Path:
        return self.folder / "root"

    @property
    def image(self) -> Path:
        return self.folder / "disk.ext4"

    @property
    def _mounted(self) -> Path:
        return self.folder / "disk"

    def create(self, size: int) -> None:
        """Format an image of ``size`` bytes."""
        if size < SMALLEST:
            raise MachinesError(f"a disk of {size} bytes is too small: {SMALLEST} at least")
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with self.image.open("wb") as file:
                os.truncate(file.fileno(), size)
        except OSError as error:
            raise MachinesError(f"{self.image} can't be made: {error.strerror}") from error
        run([*_FORMAT, str(self.image)])

    def grow(self, size: int) -> None:
        """Make the image larger; only while it isn't mounted."""
        if size > self.image.stat().st_size:
            os.truncate(self.image, size)
            run(["e2fsck", "-fy", str(self.image)])
            run(["resize2fs", str(self.image)])

    def mount(self, rootfs: Path) -> None:
        """Put the machine's root together, over ``rootfs`` that is never written to."""
        self._mounted.mkdir(exist_ok=True)
        self.root.mkdir(exist_ok=True)
        if not os.path.ismount(self._mounted):
            run(["mount", "-t", "ext4", "-o", "loop,noatime", str(self.image), str(self._mounted)])
        upper, work = self._mounted / "upper", self._mounted / "work"
        for each in (upper, work):
            each.mkdir(exist_ok=True)
        if not os.path.ismount(self.root):
            layers = f"lowerdir={_escaped(rootfs)},upperdir={_escaped(upper)},workdir={_escaped(work)}"
            run(["mount", "-t", "overlay", self.label, "-o", layers, str(self.root)])

    def unmount(self) -> None:
        """Take it apart again; what was written stays in the image."""
        for each in (self.root, self._mounted):
            while os.path.ismount(each):
                run(["umount", str(each)])


def _escaped(path: Path) -> str:
    return str(path).replace("\\", "\\\\").replace(",", "\\,").replace(":", "\\:")


def mounts_below(folder: Path) -> list[str]:
    """Where something is mounted below ``folder``, innermost first."""
    points = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()]
    decoded = [each.encode().decode("unicode_escape") for each in points]
    return sorted((each for each in decoded if each.startswith(f"{folder}/")), reverse=True)
