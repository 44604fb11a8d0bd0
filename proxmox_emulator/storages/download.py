"""`POST …/download-url`: a file from a URL on this machine, or from the folder of images.

Nothing outside loopback is ever asked: another host is refused, in a redirect too.
"""

from __future__ import annotations

import asyncio
import ipaddress
import os
import tempfile
import urllib.error
import urllib.request
from pathlib import Path
from typing import IO, Any
from urllib.parse import unquote, urlsplit

from proxmox_emulator.cluster import Cluster
from proxmox_emulator.errors import ApiError, parameter_error
from proxmox_emulator.request import Request
from proxmox_emulator.storages import files, volumes
from proxmox_emulator.storages.upload import UPLOADABLE, place, verify
from proxmox_emulator.tasks import TaskError, TaskLog

TIMEOUT = 30


class NotAllowed(ValueError):
    """A URL that leads elsewhere; the text says where it may lead."""


def check(url: str, images: Path | None) -> None:
    """Refuse all but loopback and the folder of images."""
    parts = urlsplit(url)
    if parts.scheme == "file":
        path = Path(unquote(parts.path)).resolve()
        if images is None or not path.is_relative_to(images.resolve()):
            raise NotAllowed("file:// is for files below the folder of --images")
    elif parts.scheme not in ("http", "https") or not _is_loopback(parts.hostname or ""):
        raise NotAllowed("only http:// and https:// on loopback, and file:// below the folder of --images")


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class _Redirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        check(newurl, None)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _open(url: str, images: Path | None) -> Any:
    check(url, images)
    no_proxy = urllib.request.ProxyHandler({})
    return urllib.request.build_opener(no_proxy, _Redirects).open(url, timeout=TIMEOUT)


async def url_metadata(request: Request) -> dict[str, Any]:
    """The size and the name of what is at a URL."""
    try:
        answer = await asyncio.to_thread(_open, request.params["url"], request.cluster.config.images)
    except (OSError, ValueError) as error:
        raise ApiError(f"failed to query URL metadata: {_why(error)}") from None
    with answer:
        name = os.path.basename(unquote(urlsplit(request.params["url"]).path))  # noqa: PTH119 - of a URL
        size = int(answer.headers.get("Content-Length") or 0)
        return {"filename": name, "size": size, "mimetype": answer.headers.get_content_type()}


async def download_url(request: Request) -> str:
    """Fetch a file to a storage, as a task."""
    cluster, node, content = request.cluster, request.node, request.params["content"]
    if content not in UPLOADABLE:
        raise parameter_error(content=f"download content type '{content}' not allowed")
    storage = volumes.storage(cluster, request.params["storage"], node)
    try:
        volumes.require_content(storage, content)
        check(request.params["url"], cluster.config.images)
    except ApiError as error:
        raise parameter_error(storage=error.message) from None
    except NotAllowed as error:
        raise parameter_error(url=str(error)) from None
    target = files.target(cluster, storage, node, content, request.params["filename"])
    if target.exists():
        raise ApiError(f"refusing to override existing file '{target.name}'")

    async def work(log: TaskLog) -> None:
        log(f"downloading {request.params['url']} to {target.name}")
        await asyncio.to_thread(_fetch, cluster, request, target)
        log(f"download of '{request.params['url']}' to '{target.name}' finished")

    return cluster.tasks.start(node, "download", target.name.replace(":", "_"), request.identity.name, work)


def _fetch(cluster: Cluster, request: Request, target: Path) -> None:
    storage = volumes.storage(cluster, request.params["storage"], request.node)
    total, used = volumes.space(cluster, storage, request.node)
    descriptor, name = tempfile.mkstemp(prefix="download-", dir=cluster.config.data_dir / "uploads")
    arrived = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file, _open(request.params["url"], cluster.config.images) as answer:
            _copy(answer, file, total - used)
        verify(arrived, request.params.get("checksum-algorithm"), request.params.get("checksum"))
        place(arrived, target)
    except (OSError, ValueError) as error:
        raise TaskError(f"download failed: {_why(error)}") from None
    finally:
        arrived.unlink(missing_ok=True)


def _copy(source: IO[bytes], target: IO[bytes], most: int) -> None:
    size = 0
    while chunk := source.read(1024 * 1024):
        size += len(chunk)
        if size > most:
            raise TaskError("download failed: not enough space on the storage")
        target.write(chunk)


def _why(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"{error.code} {error.reason}"
    return str(getattr(error, "reason", None) or error)
