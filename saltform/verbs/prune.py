"""prune: what nobody needs any more goes, by age and by size.

1. By age: runs with their steps, logs and folders; releases and modules that only they named; workspaces, initialised
   folders and clones that nobody has used since; findings of drift that are over; states as they were before they
   were moved to another backend.
2. By size: when what is left of workspaces, caches and logs is larger than `larger_than`, the oldest of them go until
   it isn't. Nothing there is lost for good: workspaces and caches are made anew, and of runs only the logs go.
3. Never: the audit, states and their versions, a release that can still be promoted or rolled back to, the folder of
   a run that can still go on or is alive, the workspace of a component that is being worked on.
"""

from __future__ import annotations

import contextlib
import re
import shutil
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from saltform.config.load import ROOT
from saltform.config.reader import parse_duration, shown
from saltform.engine import audit
from saltform.engine.options import bad, flag
from saltform.engine.result import result
from saltform.engine.services import Services
from saltform.engine.snapshot import read_snapshot
from saltform.errors import EXIT_CHANGES, EXIT_DONE, Locked, SaltformError
from saltform.features.approval.kept_plans import forget_settled
from saltform.features.recovery.resumable import check_resumable, unfinished
from saltform.layout import ERRORED_FILE
from saltform.report.words import plural, size
from saltform.runlog import ALL, flock, now
from saltform.workspace.git import lock_of
from saltform.workspace.modules import FILES

_SIZE = re.compile(r"(\d+(?:\.\d+)?) ?([kMGT]?)B?")
_UNITS = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
HOUR, DAY = 3600.0, 86400.0
KINDS = ("modules", "workspaces", "caches", "logs", "backups")


@dataclass(frozen=True)
class Old:
    """Something on disk that can go."""

    kind: str  # one of KINDS
    path: Path
    bytes: int
    used: float


def prune(services: Services, older_than: Any, larger_than: Any = None, dry_run: Any = None) -> dict[str, Any]:
    """Remove what is old, or say what would be removed."""
    seconds = parse_duration(older_than)
    if seconds is None or seconds < DAY:
        raise bad("older_than", f"found {shown(older_than)}, expected a time of a day or more, such as 90d")
    most = _bytes(larger_than)
    only_look = flag("dry_run", dry_run or False)
    before = now(-seconds)
    log = services.runlog.pruning
    keeping = _unfinished(services)
    runs = log.old_runs(before) - keeping
    releases = log.unneeded_releases(runs, _pinned(services) | _wanted_by(services, keeping))
    old = list(_by_age(services, runs, releases, keeping, time.time() - seconds))
    old += _by_size(services, keeping, old, most) if most else []
    if not only_look:
        environments = Counter(environment for run, environment in log.runs().items() if run in runs)
        log.forget(runs, releases, before)
        old = [item for item in old if _remove(services, item)]
        forget_settled(services)
        _drop_unlinked(services.layout.modules / FILES, time.time() - seconds)
        for environment, count in environments.items():
            audit.note(services, environment, "prune", runs=count, older_than=str(older_than))
    kinds = Counter(item.kind for item in old)
    removed = {"runs": len(runs), "releases": len(releases)} | {kind: kinds[kind] for kind in KINDS}
    removed["bytes"] = sum(item.bytes for item in old)
    would = "would remove" if only_look else "removed"
    said = ", ".join(plural(number, noun[:-1]) for noun, number in removed.items() if noun != "bytes" and number)
    return result(
        "prune",
        EXIT_CHANGES if only_look and (said or removed["bytes"]) else EXIT_DONE,
        environment="",
        summary=f"{would} {said or 'nothing'} ({size(removed['bytes'])})",
        removed=removed,
        dry_run=only_look,
        notes=[f"kept, because it can still go on: run {run}" for run in sorted(keeping)],
    )


def _bytes(value: Any) -> float:
    if value is None:
        return 0.0
    found = _SIZE.fullmatch(str(value).strip())
    if found is None or not float(found[1]):
        raise bad("larger_than", f"found {value!r}, expected a size such as 500M or 2G")
    return float(found[1]) * _UNITS[found[2]]


def _unfinished(services: Services) -> set[str]:
    """Runs that are alive or that `resume` would go on with."""
    kept = set()
    for record in services.runlog.runs(limit=ALL):
        if services.locks.run_alive(record.id):
            kept.add(record.id)
        elif unfinished(services, record):
            try:
                check_resumable(services, record)
                kept.add(record.id)
            except SaltformError:
                continue  # another run came after it
    return kept


def _pinned(services: Services) -> set[str]:
    """Releases that pillar names."""
    pins = (services.pillar.get(ROOT) or {}).get("releases") or {}
    return {str(digest) for named in pins.values() if isinstance(named, dict) for digest in named.values() if digest}


def _wanted_by(services: Services, runs: set[str]) -> set[str]:
    """Releases that runs which can still go on bring here, or go back to."""
    found: set[str] = set()
    for run in runs:
        record = services.runlog.run(run)
        back: Mapping[str, Any] = record.options.get("back") or {}
        found |= {str(release) for release, _ in back.values()}
        with contextlib.suppress(SaltformError):  # a verb without a snapshot
            found |= {
                release for release, _ in read_snapshot(services.layout.run(run), record.host).promoted.values()
            }
    return found - {""}


# --- by age -------------------------------------------------------------------------------------------------


def _by_age(
    services: Services, runs: set[str], releases: set[str], keeping: set[str], before: float
) -> Iterator[Old]:
    layout = services.layout
    known = services.runlog.pruning.runs()
    for path in _folders(layout.run("any").parent):
        unknown = path.name not in known and _used(path) < before and not services.locks.run_alive(path.name)
        if path.name in runs or unknown:
            yield _old("logs", path)
    wanted = services.runlog.pruning.modules(without=releases) | _modules_of(services, keeping)
    for path in _folders(layout.modules):
        if path.name not in (*wanted, FILES) and _used(path) < before:
            yield _old("modules", path)
    for path in layout.moved_state("any", "any", "any").parents[2].rglob("*.tfstate*"):
        found = path.stat()
        if found.st_mtime < before:
            yield Old("backups", path, found.st_size, found.st_mtime)
    yield from (item for item in _rebuildable(services) if item.used < before)


def _modules_of(services: Services, runs: set[str]) -> set[str]:
    """What runs that can still go on were told to use."""
    found: set[str] = set()
    for run in runs:
        with contextlib.suppress(SaltformError):  # a verb without a snapshot
            snapshot = read_snapshot(services.layout.run(run), services.runlog.run(run).host)
            found |= {digest for digest, _ in snapshot.modules.values()}
    return found


def _rebuildable(services: Services) -> Iterator[Old]:
    """Workspaces that nobody is in, and caches. Not the provider plugins: initialised folders are links to them."""
    layout = services.layout
    for environment in _folders(layout.workspace("any", "any").parent.parent):
        for path in _folders(environment):
            recent = _used(path) > time.time() - HOUR  # a question may be at work there, which has no lock
            if not recent and not (path / ERRORED_FILE).exists():
                yield _old("workspaces", path)
    for name in ("init", "git"):
        yield from (_old("caches", path) for path in _folders(layout.cache / name))


# --- by size ------------------------------------------------------------------------------------------------


def _by_size(services: Services, keeping: set[str], already: list[Old], most: float) -> list[Old]:
    """The least recently used of what can be made anew, and logs, until the rest fits."""
    gone = {item.path for item in already}
    logs = [
        _old("logs", path / "logs")
        for path in _folders(services.layout.run("any").parent)
        if (path / "logs").is_dir() and path.name not in keeping and path not in gone
    ]
    left = [item for item in (*_rebuildable(services), *logs) if item.path not in gone]
    total = sum(item.bytes for item in left)
    chosen = []
    for item in sorted(left, key=lambda item: item.used):
        if total <= most:
            break
        chosen.append(item)
        total -= item.bytes
    return chosen


# --- on disk ------------------------------------------------------------------------------------------------


def _folders(path: Path) -> list[Path]:
    return sorted(item for item in path.iterdir() if item.is_dir() and not item.is_symlink()) if path.is_dir() else []


def _old(kind: str, path: Path) -> Old:
    return Old(kind, path, _size(path), _used(path))


def _size(path: Path) -> int:
    return sum(item.lstat().st_size for item in path.rglob("*") if not item.is_dir() or item.is_symlink())


def _used(path: Path) -> float:
    """When something in it was last written."""
    return max((item.lstat().st_mtime for item in (path, *path.iterdir())), default=0.0)


def _remove(services: Services, item: Old) -> bool:
    """What has that name is gone at once, so that nobody meets half of it; never while somebody is in it."""
    path = item.path
    doomed = path.with_name(f".{path.name}.pruned")
    try:
        with _alone(services, item):
            path.rename(doomed)
    except (Locked, OSError):
        return False  # somebody works there, or was faster
    if doomed.is_dir():
        shutil.rmtree(doomed, ignore_errors=True)
    else:
        doomed.unlink(missing_ok=True)
    return True


def _drop_unlinked(folder: Path, before: float) -> None:
    """Files of modules that no module has any more: they have no other name."""
    for path in folder.iterdir() if folder.is_dir() else ():
        found = path.stat()
        if found.st_nlink == 1 and found.st_mtime < before:
            path.unlink(missing_ok=True)


def _alone(services: Services, item: Old) -> contextlib.AbstractContextManager[object]:
    """Holding what whoever uses the folder holds meanwhile."""
    path = item.path
    if item.kind == "workspaces":
        component = path.name.partition(".")[0]
        return services.locks.hold(path.parent.name, component, services.run_id, services.author)
    if item.kind == "caches":
        lock = lock_of(path)  # of a folder that was initialised, too: its name has no dash
        return flock.hold(lock, {"run": services.run_id}, str(path))
    return contextlib.nullcontext()
