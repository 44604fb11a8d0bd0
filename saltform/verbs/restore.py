"""restore: a master's state folder and run log from a backup, all of it or nothing.

1. The whole file is read, checked against its own digests and unpacked into a folder beside the state folder.
2. Only then the two change places, in one step of the file system. Whoever is killed before has changed nothing,
   whoever is killed after has all of it; what was unpacked in vain is removed by the next restore.
3. What was there before stays beside it, and is named.
4. A run log in PostgreSQL is filled in one transaction that ends right after that step; killed in between, the same
   command again makes it whole.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import json
import os
import shutil
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from saltform.config.load import ROOT
from saltform.config.runlog import runlog_address
from saltform.engine import audit
from saltform.engine.options import flag, is_dry
from saltform.engine.result import result
from saltform.engine.services import Services
from saltform.errors import EXIT_CHANGES, Locked, StateError
from saltform.files import cannot_write, make_folder, sync_folder
from saltform.mounts import check_flock
from saltform.report.words import plural
from saltform.runlog import ALL, RunLog, flock, now
from saltform.verbs.backup import FORMAT, LEFT_OUT, MANIFEST, RUNLOG, UNSTORED, checked_path

_EXCHANGE = 2  # RENAME_EXCHANGE of renameat2(2)
_HERE = -100  # AT_FDCWD


def restore(services: Services, file: Any, overwrite: Any = None, dry_run: Any = None) -> dict[str, Any]:
    """Bring back what a backup has."""
    path, home = checked_path(file), services.settings.state_dir
    if not path.exists():
        raise StateError("there is no such backup", str(path), "check the path")
    over = flag("overwrite", overwrite or False)
    check_flock(home)
    _check_nobody_works(home)
    address = runlog_address(services.pillar.get(ROOT) or {})
    if address:
        _check_nobody_is_alive(services)
    if not over:
        _check_empty(home, address)
    notes: list[str] = []
    with _beside(home) as fresh:
        manifest = _unpack(path, fresh)
        _move_paths(fresh, manifest["state_dir"], str(home))
        lines = (fresh / RUNLOG).read_bytes().splitlines(keepends=True)
        counted = f"{plural(len(lines), 'record')} and {plural(len(manifest['files']), 'file')}"
        made = f"made by {manifest['by']} on {manifest['host']} at {manifest['made']}"
        if is_dry(dry_run):
            said = f"{home}: {counted} would be restored from {path}"
            return result("restore", EXIT_CHANGES, environment="", summary=said, file=str(path), notes=[made])
        (fresh / RUNLOG).unlink()
        with _filled(address or fresh / "runs.sqlite", lines):
            os.sync()
            before = _change_places(fresh, home, over)
            sync_folder(home.parent)
            if before:
                notes.append(f"what was there before is in {before}: remove it when it isn't needed any more")
    for environment in audit.anchored(services):
        audit.note(services, environment, "restore", file=str(path), made=manifest["made"])
    notes.append(f"{made}: what was applied since is not in it")
    notes.append("salt-run infrastructure.drift ENVIRONMENT shows where reality differs")
    return result(
        "restore",
        environment="",
        summary=f"{home}: {counted} restored from {path}",
        file=str(path),
        notes=notes,
    )


def _check_nobody_works(home: Path) -> None:
    for path in (home / "runs").glob("*/alive"):
        if flock.holder_of(path) is not None:
            run = path.parent.name
            fix = f"wait for it, or: salt-run infrastructure.cancel {run}"
            raise Locked(f"run {run} is still running", f"{home} can't be replaced under it", fix)
    for path in (home / "locks").glob("*/*.lock"):
        if holder := flock.holder_of(path):
            raise Locked(f"{path.parent.name}/{path.stem} is being worked on", str(holder), "wait until it has ended")


def _check_nobody_is_alive(services: Services) -> None:
    """A run log for several masters: none of them may be in the middle of something."""
    for record in services.runlog.runs(limit=ALL, statuses=("running",)):
        if services.locks.run_alive(record.id):
            fix = f"wait for it, or: salt-run infrastructure.cancel {record.id}"
            raise Locked(f"run {record.id} is still running", f"on {record.host}", fix)


def _check_empty(home: Path, address: str) -> None:
    found = [item.name for item in home.iterdir() if item.name not in LEFT_OUT] if home.is_dir() else []
    found += [str(path) for path in home.glob(UNSTORED)]
    full = bool(found) or (not address and _has_rows(home / "runs.sqlite")) or (bool(address) and _has_rows(address))
    if full:
        raise StateError(
            "there is something to lose",
            f"{home} or its run log is not empty" + (f": {', '.join(sorted(found)[:5])}" if found else ""),
            "if the backup shall take its place: the same command with overwrite=True",
        )


def _has_rows(where: Path | str) -> bool:
    if isinstance(where, Path) and not where.exists():
        return False
    log = RunLog(where)
    try:
        return not log.whole.empty()
    finally:
        log.close()


@contextlib.contextmanager
def _beside(home: Path) -> Iterator[Path]:
    """A private folder on the same file system. What an earlier restore left there when it was killed goes first."""
    for old in home.parent.glob(f".{home.name}.restoring-*"):
        shutil.rmtree(old, ignore_errors=True)
    fresh = home.with_name(f".{home.name}.restoring-{os.getpid()}")
    try:
        make_folder(fresh)
        yield fresh
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _unpack(path: Path, fresh: Path) -> dict[str, Any]:
    """Every file of the backup, checked; its manifest."""
    digests: dict[str, str] = {}
    manifest: dict[str, Any] | None = None
    try:
        with tarfile.open(path, "r:gz") as archive:
            for member in archive:
                source = archive.extractfile(member)
                content = source.read() if source is not None else b""
                if member.name == MANIFEST:
                    manifest = json.loads(content)
                else:
                    _write(fresh, member, content)
                    digests[member.name] = hashlib.sha256(content).hexdigest()
    except OSError as error:
        if error.errno is not None:
            raise cannot_write(fresh, error) from None
        raise _damaged(path, str(error)) from None
    except (tarfile.TarError, EOFError, ValueError, zlib.error) as error:
        raise _damaged(path, str(error)) from None
    if manifest is None:
        raise _damaged(path, "it has no manifest: it was cut off, or is something else")
    if manifest.get("format") != FORMAT:
        raise _damaged(path, f"found format {manifest.get('format')!r}, expected {FORMAT}")
    if digests != {**manifest["files"], RUNLOG: manifest["runlog"]}:
        raise _damaged(path, "its content is not what its manifest says")
    return manifest


def _write(fresh: Path, member: tarfile.TarInfo, content: bytes) -> None:
    name = Path(member.name.removeprefix("files/"))
    if not member.isfile() or name.is_absolute() or ".." in name.parts:
        raise ValueError(f"it has something in it that no backup has: {member.name}")
    target = fresh / name
    make_folder(target.parent)
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, member.mode & 0o700)
    with os.fdopen(descriptor, "wb") as out:
        out.write(content)


def _damaged(path: Path, why: str) -> StateError:
    return StateError("the backup can't be used", f"{path}: {why}", "take another one: nothing was changed")


def _move_paths(fresh: Path, old: str, new: str) -> None:
    """The index says where states are: here from now on, wherever the backup was made."""
    for path in (fresh / "index").glob("*.json"):
        path.write_text(path.read_text().replace(json.dumps(f"{old}/")[1:-1], json.dumps(f"{new}/")[1:-1]))


@contextlib.contextmanager
def _filled(where: Path | str, lines: list[bytes]) -> Iterator[None]:
    """The run log with these records. One in a file is closed before anybody moves it."""
    log = RunLog(where)
    try:
        if isinstance(where, str):
            with log.whole.filled(lines):
                yield
            return
        with log.whole.filled(lines):
            pass
    finally:
        log.close()
    yield


def _change_places(fresh: Path, home: Path, keep: bool) -> Path | None:
    """The fresh folder is the state folder from now on. Where the other one is, if it is kept."""
    try:
        if not home.exists() or not any(home.iterdir()):
            make_folder(home.parent)
            fresh.replace(home)
            return None
        aside = fresh.rename(home.with_name(f"{home.name}.aside-{now().replace(':', '')}"))
        _exchange(aside, home)
        try:
            _check_nobody_works(aside)
        except Locked:  # a run that began this very moment
            _exchange(aside, home)
            shutil.rmtree(aside, ignore_errors=True)
            raise
        if keep:
            return aside
        shutil.rmtree(aside, ignore_errors=True)
        return None
    except OSError as error:
        raise StateError(
            "the state folder can't be replaced",
            f"{home}: {error.strerror}",
            "it must be an ordinary folder, not a mount point: set saltform:state_dir to a folder below it",
        ) from None


def _exchange(one: Path, other: Path) -> None:
    """Two folders change names in one step; there is no Python function for it."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.renameat2(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
