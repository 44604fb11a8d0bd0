"""What `init` makes, made once for all components of a kind: the others wait for it and copy it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from saltform.errors import WorkspaceError
from saltform.files import alone, cannot_write, make_folder, write_atomic
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
    _copy(workspace, partial)
    partial.rename(shared)


def _copy(source: Path, target: Path) -> None:
    """Only what `init` makes: `copytree` of the whole folder would give it the other one's permissions, too."""
    make_folder(target)
    try:
        # Its providers are links.
        shutil.copytree(source / ".terraform", target / ".terraform", symlinks=True, dirs_exist_ok=True)
        if (source / LOCK_FILE).exists():
            write_atomic(target / LOCK_FILE, (source / LOCK_FILE).read_bytes(), durable=False)
    except shutil.Error as error:  # the errors of all files, as texts
        _, path, why = error.args[0][0]
        raise WorkspaceError("can't write", f"{path}: {why}", "check the folder and its disk") from None
    except OSError as error:
        raise cannot_write(target, error) from None
