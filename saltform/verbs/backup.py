"""backup: everything that can't be made again, in one file.

1. The run log as it is at one moment, from SQLite or PostgreSQL; then the files: states of the backend `local`,
   provider locks, modules, index, keys, audit anchors, the folders of runs. Workspaces and caches are made anew by
   whoever needs them, as is the copy of the pillar's `requests:`; locks and limits are about processes.
2. Runs may go on meanwhile. Each state is copied under its component's lock, after the run log: so no record is newer
   than its state. A component that somebody works on right now refuses the whole backup: half a state is none.
3. The file is whole or not there, and readable for its owner alone: states hold secrets.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import secrets
import socket
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from saltform.engine import audit
from saltform.engine.options import bad
from saltform.engine.result import result
from saltform.engine.services import Services
from saltform.files import cannot_write, sync_folder
from saltform.layout import ERRORED_FILE
from saltform.report.words import plural, size
from saltform.runlog import now

FORMAT = 1
MANIFEST, RUNLOG = "manifest.json", "runlog.jsonl"
_MADE_ANEW = ("workspaces", "cache", "locks", "limits", "requests", "requests.json")
LEFT_OUT = (*_MADE_ANEW, "runs.sqlite", "runs.sqlite-wal", "runs.sqlite-shm")
UNSTORED = f"workspaces/*/*/{ERRORED_FILE}"  # nothing else in a workspace is worth keeping
_OF_A_PROCESS = ("alive", "cancel")  # in a run's folder


def backup(services: Services, file: Any) -> dict[str, Any]:
    """Write the backup; where it is and what is in it."""
    path = checked_path(file)
    if path.is_dir():
        raise bad("file", f"{path} is a folder, expected the name of a file")
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as raw:
            with tarfile.open(fileobj=raw, mode="w:gz", compresslevel=6) as archive:
                manifest = _Writer(services, archive).write()
            raw.flush()
            os.fsync(raw.fileno())
        partial.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        raise cannot_write(path, error) from None
    finally:
        partial.unlink(missing_ok=True)
    for environment in audit.anchored(services):
        audit.note(services, environment, "backup", file=str(path))
    counted = f"{plural(manifest['rows'], 'record')} and {plural(len(manifest['files']), 'file')}"
    return result(
        "backup",
        environment="",
        summary=f"{path}: {counted} in {size(path.stat().st_size)}",
        file=str(path),
        bytes=path.stat().st_size,
        notes=["it holds states and keys: keep it as private as the state folder"],
    )


def checked_path(file: Any) -> Path:
    path = Path(str(file or ""))
    if not path.is_absolute():
        raise bad("file", f"found {str(file or '')!r}, expected an absolute path")
    return path


class _Writer:
    """One archive while it is written."""

    def __init__(self, services: Services, archive: tarfile.TarFile) -> None:
        self._services = services
        self._archive = archive
        self._home = services.settings.state_dir
        self._digests: dict[str, str] = {}

    def write(self) -> dict[str, Any]:
        for path in self._files("audit"):  # first: no anchor may be ahead of its chain
            self._add_file(path)
        lines = list(self._services.runlog.whole.lines())
        rows = len(lines)
        self._add(RUNLOG, b"".join(lines))
        apart = (*LEFT_OUT, "audit", "states")
        for top in sorted(item.name for item in self._home.iterdir() if item.name not in apart):
            for path in self._files(top):
                self._add_file(path)
        for path in sorted(self._home.glob(UNSTORED)):
            self._add_file(path)
        for folder in sorted((self._home / "states").glob("*/*")):
            self._add_state(folder)
        manifest = {
            "format": FORMAT,
            "made": now(),
            "host": socket.gethostname(),
            "by": self._services.author,
            "state_dir": str(self._home),
            "rows": rows,
            "files": {name: digest for name, digest in self._digests.items() if name != RUNLOG},
            "runlog": self._digests[RUNLOG],
        }
        self._add(MANIFEST, json.dumps(manifest, indent=1).encode())
        return manifest

    def _files(self, top: str) -> Iterator[Path]:
        found = self._home / top
        for path in [found] if found.is_file() else sorted(found.rglob("*")):
            if path.is_file() and not path.is_symlink() and not (top == "runs" and path.name in _OF_A_PROCESS):
                yield path

    def _add_state(self, folder: Path) -> None:
        environment, component = folder.parent.name, folder.name
        services = self._services
        with services.locks.hold(environment, component, services.run_id, services.author):
            for path in self._files(f"states/{environment}/{component}"):
                self._add_file(path)

    def _add_file(self, path: Path) -> None:
        try:
            content, mode = path.read_bytes(), path.stat().st_mode
        except FileNotFoundError:
            return  # a run that ended this moment has taken it away
        self._add(f"files/{path.relative_to(self._home)}", content, 0o700 if mode & 0o100 else 0o600)

    def _add(self, name: str, content: bytes, mode: int = 0o600) -> None:
        member = tarfile.TarInfo(name)
        member.size, member.mode = len(content), mode
        self._archive.addfile(member, io.BytesIO(content))
        self._digests[name] = hashlib.sha256(content).hexdigest()
