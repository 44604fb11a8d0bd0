"""Earlier versions of a local state, kept beside it: other backends have versions of their own."""

from __future__ import annotations

import re
from pathlib import Path

from saltform.files import cannot_write, write_atomic
from saltform.tfstate.document import read

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


def newest_version(path: Path) -> Path | None:
    """The last one that was kept of the state at that path."""
    kept = [item for item in (path.parent / FOLDER).glob("*.tfstate") if _NAME.fullmatch(item.name)]
    return max(kept, key=lambda item: int(item.stem), default=None)
