"""What was synced, renamed and linked, in the order in which it happened."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


class DiskCalls(list[tuple[str, Path]]):
    """Pairs of what was done and where: `sync` of a file or folder, `name` of what has a name from then on."""

    def of(self, what: str) -> list[Path]:
        return [path for done, path in self if done == what]

    def unsynced(self, *left_out: Path) -> list[Path]:
        """What got a name that a power cut may take: its folder was not synced afterwards."""
        return [
            path
            for index, (done, path) in enumerate(self)
            if done == "name"
            and not any(path.is_relative_to(folder) for folder in left_out)
            and ("sync", path.parent) not in self[index:]
        ]


@contextlib.contextmanager
def disk_calls() -> Iterator[DiskCalls]:
    """Record the calls, and do them."""
    calls = DiskCalls()
    fsync = os.fsync

    def synced(descriptor: int) -> None:
        calls.append(("sync", Path(f"/proc/self/fd/{descriptor}").readlink()))
        fsync(descriptor)

    def named(name: str) -> Any:
        real = getattr(os, name)

        def call(source: Any, target: Any, **given: Any) -> None:
            real(source, target, **given)
            calls.append(("name", Path(target)))

        return call

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", synced)
        for name in ("rename", "replace", "link"):
            patch.setattr(os, name, named(name))
        yield calls
