"""Earlier versions of a local state, kept beside it: other backends have versions of their own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from saltform.errors import StateError
from saltform.files import cannot_write, write_atomic
from saltform.tfstate.document import Head, read

FOLDER = "versions"
MOST = 10
_NAME = re.compile(r"\d+\.tfstate")


def keep_version(path: Path) -> None:
    """Copy the state as it is now to `versions/<serial>.tfstate`; the oldest make room."""
    try:
        content = path.read_bytes() if path.exists() else b""
        if not content:
            return
        serial = read(content, str(path)).serial
        kept = path.parent / FOLDER / f"{serial:08d}.tfstate"
        if not kept.exists() or kept.read_bytes() != content:
            write_atomic(kept, content)
        versions = [item for item in kept.parent.iterdir() if _NAME.fullmatch(item.name)]
        for old in sorted(versions, key=lambda item: item.stat().st_mtime)[:-MOST]:
            old.unlink()
    except OSError as error:
        raise cannot_write(path, error) from None


def has_versions(path: Path) -> bool:
    return any(_kept(path))


def newest_version(path: Path, lineage: str) -> Path | None:
    """The last one that was kept of this lineage: those of an earlier life of the component may be beside it."""
    found = [(head.serial, kept) for kept in _kept(path) if (head := _head(kept)) and head.lineage == lineage]
    return max(found)[1] if found else None


def _kept(path: Path) -> Iterator[Path]:
    return (item for item in (path.parent / FOLDER).glob("*.tfstate") if _NAME.fullmatch(item.name))


def _head(path: Path) -> Head | None:
    try:
        return read(path).head
    except StateError:
        return None  # not one that could be put back
