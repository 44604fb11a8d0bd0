"""The folder on disk: rendered privately and atomically, byte-identical for identical input.

main.tf.json          the generated root
module/               a copy of the module's content
state                 a link to the folder that holds the state
.terraform.lock.hcl   the component's provider lock, kept elsewhere and copied in
.terraform/           what `init` makes; `.saltform-init` says for which fingerprint
"""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

from saltform.files import cannot_write, make_folder, write_atomic
from saltform.workspace.modules import Module
from saltform.workspace.root import STATE_LINK

ROOT_FILE = "main.tf.json"
LOCK_FILE = ".terraform.lock.hcl"
FETCHED = ".terraform/modules"  # where terraform puts modules from elsewhere
_MODULE_STAMP = ".saltform-module"
_INIT_STAMP = ".saltform-init"


class Workspace:
    """One component's folder. `states` is where its state lives."""

    def __init__(self, path: Path, states: Path) -> None:
        self.path = path
        self.states = states

    def render(self, root: bytes, module: Module, provider_lock: bytes) -> None:
        """Make the folder say exactly this. What is already right is not written again."""
        make_folder(self.path)
        make_folder(self.states, durable=True)
        try:
            self._link_state()
            self._copy_module(module)
        except OSError as error:
            raise cannot_write(self.path, error) from None
        self._write(ROOT_FILE, root)
        if provider_lock:
            self._write(LOCK_FILE, provider_lock)
        else:
            (self.path / LOCK_FILE).unlink(missing_ok=True)

    def initialised_for(self, fingerprint: str) -> bool:
        """Whether `.terraform` is what `init` would make for this fingerprint."""
        return _read(self.path / _INIT_STAMP) == fingerprint.encode() and (self.path / ".terraform").is_dir()

    def forget_init(self) -> None:
        (self.path / _INIT_STAMP).unlink(missing_ok=True)
        shutil.rmtree(self.path / ".terraform", ignore_errors=True)

    def lay_out_modules(self, remote: Path) -> None:
        """What `init` would fetch from elsewhere, as it was fetched when the module was new."""
        try:
            shutil.copytree(remote, self.path / FETCHED, dirs_exist_ok=True)
        except OSError as error:
            raise cannot_write(self.path / FETCHED, error) from None

    def mark_initialised(self, fingerprint: str) -> None:
        self._write(_INIT_STAMP, fingerprint.encode())

    def provider_lock(self) -> bytes:
        return _read(self.path / LOCK_FILE)

    def _link_state(self) -> None:
        link = self.path / STATE_LINK
        if link.is_symlink() and link.readlink() == self.states:
            return
        temporary = link.with_name(f".{STATE_LINK}.{os.getpid()}")
        temporary.unlink(missing_ok=True)
        temporary.symlink_to(self.states)
        temporary.replace(link)

    def _copy_module(self, module: Module) -> None:
        stamp = f"{module.digest} {module.entry} {_boot()}".encode()
        if _read(self.path / _MODULE_STAMP) == stamp and (self.path / "module").is_dir():
            return
        (self.path / _MODULE_STAMP).unlink(missing_ok=True)
        shutil.rmtree(self.path / "module", ignore_errors=True)
        shutil.copytree(module.tree, self.path / "module")
        self._write(_MODULE_STAMP, stamp)

    def _write(self, name: str, content: bytes) -> None:
        if _read(self.path / name) != content:
            write_atomic(self.path / name, content, durable=False)


def init_fingerprint(root_parts: bytes, module: Module, provider_lock: bytes, binary: str, cli_config: bytes) -> str:
    """What `init` depends on: providers, backend, modules, lock file, binary and where providers come from."""
    whole = hashlib.sha256()
    for part in (
        root_parts,
        module.digest.encode(),
        module.entry.encode(),
        provider_lock,
        binary.encode(),
        cli_config,
    ):
        whole.update(hashlib.sha256(part).digest())
    return whole.hexdigest()


def _boot() -> str:
    """Nothing here is synced: after a power cut a module's files may be empty, and all it made would be destroyed."""
    return _read(Path("/proc/sys/kernel/random/boot_id")).decode().strip()


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
