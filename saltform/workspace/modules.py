"""Modules: found by name, `salt://` path or git reference, and kept by content.

1. A reference is resolved to a folder: `NAME` below one of the configured module folders, `salt://PATH` through
   the master's file server, `git::URL//SUB?ref=REF` through a local clone at a commit.
2. The folder and the local modules it calls (`../other`) are digested together, paths and contents.
   Modules from elsewhere that they call are fetched by terraform: `remote_modules.py` keeps and digests them.
3. Content that was not seen before is copied into the store, `modules/<digest>/`, and stays there: a release can
   be applied or destroyed again after its files have changed or gone. Each file is there once, in `modules/files/`,
   however many modules and versions of them have it.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from saltform.config.names import nearest
from saltform.errors import ModuleError
from saltform.files import cannot_write, make_folder, sync_folder, sync_tree, write_atomic
from saltform.workspace import interface as interfaces
from saltform.workspace.git import refuse_password
from saltform.workspace.interface import Interface

FILES = "files"  # in the store, beside the modules
REMOTE = "remote"  # in a module's place in the store, beside `tree`
_LEFT_OUT = {".terraform", ".git", ".terraform.lock.hcl", "__pycache__"}

Fetch = Callable[[str], Path]  # a reference → the folder it stands for now


@dataclass(frozen=True)
class Module:
    """A module's content, safe in the store. `entry` is where in `tree` the module itself is.

    `remote` are the modules from elsewhere that it calls, as terraform has them in `.terraform/modules`. `unkept`: it
    calls some, and terraform has to fetch them.
    """

    digest: str
    tree: Path
    entry: str
    interface: Interface
    remote: Path | None = None
    unkept: bool = False


class Modules:
    """The store of one master. Each reference is resolved once for the life of this object: one run."""

    def __init__(self, store: Path, folders: tuple[Path, ...], fetch_salt: Fetch, fetch_git: Fetch) -> None:
        self.store = store
        self._folders = folders
        self._fetch_salt = fetch_salt
        self._fetch_git = fetch_git
        self._resolved: dict[str, Module] = {}

    def resolve(self, reference: str) -> Module:
        """The module that a reference stands for now."""
        if reference not in self._resolved:
            self._resolved[reference] = self._keep(self._find(reference))
        return self._resolved[reference]

    @property
    def found(self) -> dict[str, tuple[str, str]]:
        """Every reference that was resolved, with its content's digest and entry."""
        return {reference: (module.digest, module.entry) for reference, module in self._resolved.items()}

    def pin(self, found: Mapping[str, tuple[str, str]]) -> None:
        """From now on these references stand for what they stood for then."""
        for reference, where in found.items():
            module = self.kept(*where)
            self._resolved[reference] = dataclasses.replace(module, unkept=calls_unkept(module))

    def kept(self, digest: str, entry: str) -> Module:
        """A module of an earlier release, from the store."""
        home = self.store / digest
        try:
            face = Interface.parse((home / "interface.json").read_bytes())
        except (OSError, ValueError, KeyError, TypeError):
            raise ModuleError(
                "a module of an earlier release is not in the store",
                f"{home} is missing or damaged",
                f"restore {self.store} from a backup",
            ) from None
        remote = home / REMOTE
        return Module(digest, home / "tree", entry, face, remote if remote.is_dir() else None)

    def _find(self, reference: str) -> Path:
        if reference.startswith("git::"):
            return self._fetch_git(reference)
        if reference.startswith("salt://"):
            return self._fetch_salt(reference)
        parts = Path(reference).parts
        if not parts or Path(reference).is_absolute() or ".." in parts:
            raise ModuleError(
                "not a module reference",
                f"{reference!r} is a path",
                "write NAME, salt://PATH or git::URL//PATH?ref=REF",
            )
        for folder in self._folders:
            if (folder / reference).is_dir():
                return folder / reference
        known = [
            item.name for folder in self._folders if folder.is_dir() for item in folder.iterdir() if item.is_dir()
        ]
        near = nearest(reference, known)
        raise ModuleError(
            f"no module {reference!r}",
            "looked in " + ", ".join(map(str, self._folders)) + (f"; did you mean {near!r}?" if near else ""),
            "create it there, or add its folder to saltform:modules in Salt's configuration",
        )

    def _keep(self, folder: Path) -> Module:
        try:
            folders, face = _with_local_calls(folder)
            root = Path(os.path.commonpath(folders))
            entry = os.path.relpath(folder, root)
            digest = digest_of(root, folders, entry)
        except OSError as error:
            raise ModuleError(
                "a module's file can't be read",
                f"{error.filename or folder}: {error.strerror or error}",
                "remove it if it is a link that leads nowhere, or let the master's user read it",
            ) from None
        for source in face.remote_sources:
            refuse_password(source, f"a module's source in {folder}")
        self.add(digest, {"tree": (root, folders)}, face)
        return Module(digest, self.store / digest / "tree", entry, face, unkept=bool(face.remote_sources))

    def add(self, digest: str, parts: Mapping[str, tuple[Path, list[Path]]], face: Interface) -> None:
        """Copy content that was not seen before into the store: name → root, and the folders below it to take."""
        home = self.store / digest
        if home.is_dir():
            return
        partial = make_folder(self.store) / f".{home.name}.{os.getpid()}.{id(face)}"
        try:
            for part, (root, folders) in parts.items():
                for path in files_of(folders):
                    target = partial / part / path.relative_to(root)
                    make_folder(target.parent)
                    self._link(path, target)
            write_atomic(partial / "interface.json", face.dump())
            sync_tree(partial)
            partial.rename(home)
            sync_folder(self.store)
        except OSError as error:
            if not home.is_dir():  # otherwise another process was faster with the same content
                raise cannot_write(home, error) from None
        finally:
            shutil.rmtree(partial, ignore_errors=True)

    def _link(self, path: Path, target: Path) -> None:
        """The file's content in the store, under this name too; a copy where the file system has no links."""
        content, runs = path.read_bytes(), os.access(path, os.X_OK)
        kept = self.store / FILES / f"{hashlib.sha256(content).hexdigest()}{'x' if runs else ''}"
        if not kept.exists():
            write_atomic(kept, content, 0o700 if runs else 0o600)
        try:
            target.hardlink_to(kept)
        except OSError:
            shutil.copy(kept, target)


def _with_local_calls(folder: Path) -> tuple[list[Path], Interface]:
    """The module's folder, and the folders outside of it that it calls by `../` paths, however far.

    The interface has what any of them calls from elsewhere.
    """
    face = interfaces.read(folder)
    found = {Path(os.path.normpath(folder)): face}
    todo = list(found)
    while todo:
        here = todo.pop()
        for source in found[here].local_sources:
            there = Path(os.path.normpath(here / source.split("?")[0]))
            if there not in found:
                if not there.is_dir():
                    raise ModuleError(
                        "a module calls one that isn't there",
                        f"{here} has source {source!r}",
                        f"create {there}",
                    )
                found[there] = interfaces.read(there)
                todo.append(there)
    outer = [path for path in found if not any(other != path and path.is_relative_to(other) for other in found)]
    remote = sorted({source for each in found.values() for source in each.remote_sources})
    return sorted(outer), dataclasses.replace(face, remote_sources=tuple(remote))


def calls_unkept(module: Module) -> bool:
    """Whether it calls modules from elsewhere that were not kept with it: those of earlier versions were not."""
    return module.remote is None and bool(_with_local_calls(module.tree / module.entry)[1].remote_sources)


def digest_of(root: Path, folders: list[Path], entry: str) -> str:
    whole = hashlib.sha256(entry.encode())
    for path in files_of(folders):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        runs = "x" if os.access(path, os.X_OK) else "-"
        whole.update(f"\0{path.relative_to(root)}\0{runs}{content}".encode())
    return whole.hexdigest()


def _leads_back(path: Path) -> bool:
    """A link to a folder that it is in itself (`examples/all/module -> ../..`): whoever follows it never gets out."""
    if not path.is_symlink():
        return False
    target = path.stat()
    return any(os.path.samestat(target, above.stat()) for above in path.parents)


def files_of(folders: list[Path]) -> Iterator[Path]:
    for folder in folders:
        for parent, names, files in os.walk(folder, followlinks=True):
            names[:] = sorted(name for name in names if name not in _LEFT_OUT and not _leads_back(Path(parent, name)))
            for name in sorted(files):
                ours = name not in _LEFT_OUT and not name.endswith((".tfstate", ".tfstate.backup"))
                if ours and not interfaces.left_by_an_editor(name):
                    yield Path(parent, name)
