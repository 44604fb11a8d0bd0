"""What `init` makes, made once for all components of a kind: the others wait for it and copy it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from saltform.errors import WorkspaceError
from saltform.files import alone, cannot_write, write_atomic
from saltform.workspace.folder import LOCK_FILE


def once_for_all(shared: Path, workspace: Path, work: Callable[[], None], share: bool) -> None:
    """Initialise the workspace: from `shared` if it is there, else by `work`, which is kept there if it may be."""
    with alone(shared.with_suffix(".lock")):
        if share and (shared / ".terraform").is_dir():
            _copy(shared, workspace)
            return
        work()
        if share:
            _keep(workspace, shared)


def _keep(workspace: Path, shared: Path) -> None:
    partial = shared.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    _copy(workspace / ".terraform", partial / ".terraform")
    if (workspace / LOCK_FILE).exists():
        write_atomic(partial / LOCK_FILE, (workspace / LOCK_FILE).read_bytes())
    partial.rename(shared)


def _copy(source: Path, target: Path) -> None:
    """Its providers are links."""
    try:
        shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True)
    except shutil.Error as error:  # the errors of all files, as texts
        _, path, why = error.args[0][0]
        raise WorkspaceError("can't write", f"{path}: {why}", "check the folder and its disk") from None
    except OSError as error:
        raise cannot_write(target, error) from None
