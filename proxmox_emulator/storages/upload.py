"""`POST …/upload`: a file that comes with the request."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from proxmox_emulator.errors import ApiError, parameter_error
from proxmox_emulator.request import Request
from proxmox_emulator.storages import files, volumes
from proxmox_emulator.tasks import TaskError, TaskLog

UPLOADABLE = ("iso", "vztmpl", "import")


def verify(path: Path, algorithm: str | None, wanted: str | None) -> None:
    """Refuse a file whose checksum isn't the one that was said."""
    if not wanted:
        return
    with path.open("rb") as file:
        found = (
            hashlib.file_digest(file, algorithm or "sha256").hexdigest() if hasattr(hashlib, "file_digest") else ""
        )
        found = found or hashlib.new(algorithm or "sha256", file.read()).hexdigest()
    if found != wanted.lower():
        raise TaskError(f"checksum mismatch: got '{found}' != expect '{wanted}'")


async def upload(request: Request) -> str:
    """Move the file that came to its place, as a task."""
    cluster, node, content = request.cluster, request.node, request.params["content"]
    if content not in UPLOADABLE:
        raise parameter_error(content=f"upload content type '{content}' not allowed")
    if request.upload is None:
        raise parameter_error(filename="property is missing and it is not optional")
    storage = volumes.storage(cluster, request.params["storage"], node)
    try:
        volumes.require_content(storage, content)
    except ApiError as error:
        raise parameter_error(storage=error.message) from None
    target = files.target(cluster, storage, node, content, request.params["filename"])
    volumes.require_space(cluster, storage, node, request.upload.stat().st_size)
    arrived = request.upload.rename(request.upload.with_suffix(".task"))  # the request's own is removed with it

    async def work(log: TaskLog) -> None:
        try:
            verify(arrived, request.params.get("checksum-algorithm"), request.params.get("checksum"))
            place(arrived, target)
        finally:
            arrived.unlink(missing_ok=True)
        log(f"finished file import successfully: {target.name}")

    return cluster.tasks.start(node, "imgcopy", "", request.identity.name, work)


def place(arrived: Path, target: Path) -> None:
    """The whole file or none at its place, also after `kill -9`."""
    with arrived.open("rb") as file:
        os.fsync(file.fileno())
    arrived.replace(target)
