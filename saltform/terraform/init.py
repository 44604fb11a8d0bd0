"""terraform init: providers, modules and backend of a workspace."""

from __future__ import annotations

import contextlib
import fcntl
import re
from collections.abc import Iterator
from pathlib import Path

from saltform.files import cannot_write, make_folder
from saltform.terraform.command import arguments, flag
from saltform.terraform.session import Session, run_text

_LOCKED_PROVIDER = re.compile(r'^provider "([^"]+)" \{\s*version\s*=\s*"([^"]+)"', re.MULTILINE)


def argv(*, upgrade: bool = False) -> list[str]:
    return arguments("init", input=False, no_color=flag(True), upgrade=flag(upgrade))


def run(session: Session, *, upgrade: bool = False, plugin_cache: Path | None = None) -> float:
    """Initialise the workspace; the seconds it took. `plugin_cache` is the mirror's, where it has one."""
    with _plugin_cache_lock(plugin_cache, session.workspace, upgrade):
        return run_text(session, argv(upgrade=upgrade)).seconds


@contextlib.contextmanager
def _plugin_cache_lock(cache: Path | None, workspace: Path, upgrade: bool) -> Iterator[None]:
    """Terraform's plugin cache takes one writer at a time: who may install is alone, who only links isn't."""
    if cache is None:
        yield
        return
    path = make_folder(cache).with_name(f"{cache.name}.lock")
    try:
        lock = path.open("w")
    except OSError as error:
        raise cannot_write(path, error) from None
    with lock:
        alone = upgrade or not _all_cached(cache, workspace / ".terraform.lock.hcl")
        fcntl.flock(lock, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        yield


def _all_cached(cache: Path, lock_file: Path) -> bool:
    """Is every provider that the lock file names in the cache already?"""
    try:
        providers = locked_providers(lock_file.read_bytes())
    except OSError:
        return False
    return all((cache / source / version).is_dir() for source, version in providers.items())


def locked_providers(lock_file: bytes) -> dict[str, str]:
    """Source → version of every provider that a lock file names."""
    return dict(_LOCKED_PROVIDER.findall(lock_file.decode(errors="replace")))
