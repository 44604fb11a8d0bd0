"""terraform init: providers, modules and backend of a workspace.

Terraform takes a provider from the plugin cache if the lock file has its hash. Otherwise it unpacks the provider
again, over the one in the cache, and fails with "text file busy" while another component works with that one. So an
`init` that may choose what no lock file names (a component's first one, an upgrade, a provider that was added) is
told to take what is in the cache: its lock file then has that package's hash alone. Every other goes by the lock.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import re
from collections.abc import Iterator
from pathlib import Path

from saltform.errors import TerraformError
from saltform.files import cannot_write, make_folder
from saltform.terraform.command import arguments, flag, unless_default
from saltform.terraform.session import Session, run_text

CACHE_BEFORE_LOCK = "TF_PLUGIN_CACHE_MAY_BREAK_DEPENDENCY_LOCK_FILE"
BUSY = "text file busy"
_LOCKED_PROVIDER = re.compile(r'^provider "([^"]+)" \{\s*version\s*=\s*"([^"]+)"', re.MULTILINE)


def argv(*, upgrade: bool = False, fetch: bool = True) -> list[str]:
    return arguments("init", input=False, no_color=flag(True), upgrade=flag(upgrade), get=unless_default(fetch, True))


def run(session: Session, *, upgrade: bool = False, plugin_cache: Path | None = None, fetch: bool = True) -> float:
    """Initialise the workspace; the seconds it took. `plugin_cache` is the mirror's, where it has one.

    Without `fetch`, all modules are in place already.
    """
    words = argv(upgrade=upgrade, fetch=fetch)
    lock_file = session.workspace / ".terraform.lock.hcl"
    from_cache = dataclasses.replace(session, env={**session.env, CACHE_BEFORE_LOCK: "true"})
    with _plugin_cache_lock(plugin_cache, lock_file, upgrade):
        if plugin_cache is None:
            return run_text(session, words).seconds
        if upgrade or not lock_file.exists():
            return run_text(from_cache, words).seconds
        try:
            return run_text(session, words).seconds
        except TerraformError as error:
            if BUSY not in f"{error.detail} {error.diagnostics}":
                raise
            return run_text(from_cache, words).seconds


@contextlib.contextmanager
def _plugin_cache_lock(cache: Path | None, lock_file: Path, upgrade: bool) -> Iterator[None]:
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
        alone = upgrade or not _all_cached(cache, lock_file)
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
