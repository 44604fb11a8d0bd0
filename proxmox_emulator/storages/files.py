"""Files of a storage: ISO images, templates, snippets, images to import. They are real files in the data folder."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from proxmox_emulator.cluster import Cluster
from proxmox_emulator.errors import ApiError
from proxmox_emulator.records import Body

# Content type → its folder below a storage's path. A storage of another type has no files.
FOLDERS = {
    "iso": "template/iso",
    "vztmpl": "template/cache",
    "snippets": "snippets",
    "import": "import",
    "backup": "dump",
}
FILE_STORAGES = ("dir", "nfs", "btrfs")
_ENDINGS = {
    "iso": r"\.(iso|img)\Z",
    "vztmpl": r"\.tar\.(gz|xz|zst|bz2)\Z",
    "import": r"\.(ova|ovf|qcow2|raw|vmdk)\Z",
}
_FORMATS = {"iso": "iso", "snippets": "snippet", "backup": "tar"}


@dataclass(frozen=True)
class StoredFile:
    """A file as a volume."""

    storage: str
    content: str
    path: Path

    @property
    def volid(self) -> str:
        """`local:iso/NAME`."""
        return f"{self.storage}:{self.content}/{self.path.name}"

    @property
    def format(self) -> str:
        """As Proxmox names it."""
        ending = self.path.suffix.removeprefix(".")
        return _FORMATS.get(self.content, "t" + ending if self.content == "vztmpl" else ending)

    @property
    def size(self) -> int:
        """In bytes; that of a sparse file counts in full."""
        return self.path.stat().st_size

    @property
    def ctime(self) -> int:
        """When it was written."""
        return int(self.path.stat().st_mtime)


def listed(cluster: Cluster, storage: Body, node: str) -> Iterator[StoredFile]:
    """The files of a storage on a node, of the content types that it is set to have."""
    if storage["type"] not in FILE_STORAGES:
        return
    for content in sorted(set(storage["content"].split(",")) & FOLDERS.keys()):
        folder = cluster.storage_folder(storage, node) / FOLDERS[content]
        if folder.is_dir():
            for path in sorted(folder.iterdir()):
                if path.is_file() and not path.is_symlink() and not path.name.startswith("."):
                    yield StoredFile(storage["storage"], content, path)


def find(cluster: Cluster, storage: Body, node: str, name: str) -> StoredFile | None:
    """The file of a volume name such as `iso/NAME`."""
    content, _, file_name = name.partition("/")
    if content not in FOLDERS or storage["type"] not in FILE_STORAGES or not is_plain(file_name):
        return None
    path = cluster.storage_folder(storage, node) / FOLDERS[content] / file_name
    return StoredFile(storage["storage"], content, path) if path.is_file() and not path.is_symlink() else None


def target(cluster: Cluster, storage: Body, node: str, content: str, name: str) -> Path:
    """Where a new file goes, its folder made; refuses names that lead elsewhere and endings that don't fit."""
    if not is_plain(name) or not re.search(_ENDINGS.get(content, ""), name):
        raise ApiError("Parameter verification failed.", 400, {"filename": "invalid filename or wrong extension"})
    path = cluster.storage_folder(storage, node) / FOLDERS[content] / name
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def is_plain(name: str) -> bool:
    """Whether it is the name of a file and not a way to another folder."""
    return bool(re.match(r"[A-Za-z0-9_][\w.+~=:@-]{0,254}\Z", name, re.ASCII))
