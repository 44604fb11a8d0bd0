"""The parameters of a request, from its query and its body; a file that comes with them goes to disk.

A body that is too large is refused before it is read to its end.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import IO, Any
from urllib.parse import parse_qsl

import orjson
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from proxmox_emulator.errors import ApiError

LARGEST_FORM = 1024 * 1024
MOST_PARAMETERS = 1000
Receive = Callable[[], Awaitable[dict[str, Any]]]


class Body:
    """What came with a request."""

    def __init__(self) -> None:
        self.params: dict[str, Any] = {}
        self.file: Path | None = None

    def discard(self) -> None:
        """Remove the file, unless somebody has moved it to its place."""
        if self.file is not None:
            self.file.unlink(missing_ok=True)


async def read(scope: dict[str, Any], headers: dict[str, str], receive: Receive, folder: Path, largest: int) -> Body:
    """Everything that came, a file (of at most `largest` bytes) in `folder`."""
    found = Body()
    _add_form(found.params, scope["query_string"])
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "multipart/form-data":
        await _read_multipart(found, headers, receive, folder, largest)
        return found
    content = b"".join([chunk async for chunk in _chunks(receive, LARGEST_FORM)])
    if kind == "application/json" and content:
        found.params.update(_json(content))
    else:
        _add_form(found.params, content)
    return found


async def _chunks(receive: Receive, largest: int) -> Any:
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ApiError("connection closed", 400)
        size += len(message.get("body", b""))
        if size > largest:
            raise ApiError(f"for data too large (limit is {largest} bytes)", 413)
        yield message.get("body", b"")
        if not message.get("more_body"):
            return


def _add_form(params: dict[str, Any], content: bytes) -> None:
    try:
        pairs = parse_qsl(content.decode(), keep_blank_values=True, max_num_fields=MOST_PARAMETERS, errors="strict")
    except ValueError:
        raise ApiError("unable to parse the form: it has too many parameters, or is not UTF-8", 400) from None
    for name, value in pairs:
        if name in params:  # several of one name are a list, in Proxmox too
            before = params[name] if isinstance(params[name], list) else [params[name]]
            params[name] = [*before, value]
        else:
            params[name] = value


def _json(content: bytes) -> dict[str, Any]:
    try:
        found = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise ApiError(f"malformed JSON string: {error}", 400) from None
    if not isinstance(found, dict):
        raise ApiError("malformed JSON: expected an object", 400)
    return {name: int(value) if isinstance(value, bool) else value for name, value in found.items()}


async def _read_multipart(found: Body, headers: dict[str, str], receive: Receive, folder: Path, largest: int) -> None:
    boundary = parse_options_header(headers["content-type"])[1].get(b"boundary")
    if not boundary:
        raise ApiError("multipart/form-data without a boundary", 400)
    descriptor, name = tempfile.mkstemp(prefix="upload-", dir=folder)
    found.file = Path(name)
    with os.fdopen(descriptor, "wb") as target:
        parser = _parser(found, boundary, target)
        try:
            async for chunk in _chunks(receive, largest + LARGEST_FORM):
                parser.write(chunk)
            parser.finalize()
        except FormParserError as error:
            raise ApiError(f"unable to parse the form: {error}", 400) from None
        except OSError as error:
            raise ApiError(f"unable to write the upload: {error.strerror}", 500) from None


def _parser(found: Body, boundary: bytes, target: IO[bytes]) -> MultipartParser:
    part: dict[str, Any] = {}

    def begin() -> None:
        part.update(header=b"", value=b"", name="", is_file=False, content=b"")

    def field(data: bytes, start: int, end: int) -> None:
        part["header"] += data[start:end]

    def value(data: bytes, start: int, end: int) -> None:
        part["value"] += data[start:end]

    def header_end() -> None:
        if part["header"].lower() == b"content-disposition":
            options = parse_options_header(part["value"])[1]
            part["name"] = options.get(b"name", b"").decode(errors="replace")
            part["is_file"] = b"filename" in options
            part["content"] = options.get(b"filename", b"")
        part.update(header=b"", value=b"")

    def content(data: bytes, start: int, end: int) -> None:
        if part["is_file"]:
            target.write(data[start:end])
        else:
            part["content"] += data[start:end]
            if len(part["content"]) > LARGEST_FORM:
                raise ApiError(f"for data too large (limit is {LARGEST_FORM} bytes)", 413)

    def end() -> None:
        found.params[part["name"]] = part["content"].decode(errors="replace")

    return MultipartParser(
        boundary,
        {
            "on_part_begin": begin,
            "on_header_field": field,
            "on_header_value": value,
            "on_header_end": header_end,
            "on_part_data": content,
            "on_part_end": end,
        },
    )
