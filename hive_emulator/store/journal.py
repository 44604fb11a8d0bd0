"""A journal in a file of its own: an entry is on disk after one write and its sync.

1. Entries stand one behind the other from the file's start: check sum, number and length, then the text.
2. The file is filled with zeros when it is made. So a write takes no new blocks and changes no size, and the sync has
   nothing to do but the data.
3. When everything in it is kept elsewhere, writing begins at the start again. Numbers go on, so that what is left of
   the round before is never taken for new.
4. A write that was cut off has the wrong check sum: the reading ends before it.
"""

from __future__ import annotations

import os
import struct
import zlib
from pathlib import Path

SIZE = 4 * 1024 * 1024
_CHECK = struct.Struct("<I")
_HEAD = struct.Struct("<QI")  # number, length
_BEFORE = _CHECK.size + _HEAD.size  # the text
_sync = getattr(os, "fdatasync", os.fsync)  # macOS has only the other


class Journal:
    """See the module's text."""

    def __init__(self, path: Path) -> None:
        self.number = 0  # of the last entry
        self._end = 0
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        if os.fstat(self._file).st_size < SIZE:
            _fill(self._file)
            _sync_folder(path.parent)

    def read(self, after: int) -> list[bytes]:
        """The texts behind entry ``after``, which is kept elsewhere; the next one is written behind them."""
        data = os.pread(self._file, SIZE, 0)
        self.number, self._end = after, 0
        found = []
        while (text := _entry(data, self._end, self.number + 1)) is not None:
            found.append(text)
            self._advance(text)
        return found

    def has_room(self, text: bytes) -> bool:
        """True when ``text`` fits behind the last entry."""
        return self._end + _BEFORE + len(text) <= SIZE

    def append(self, text: bytes) -> None:
        """Write ``text`` and return when it is on disk; when that fails, it is as if it had never been tried."""
        body = _HEAD.pack(self.number + 1, len(text)) + text
        try:
            if os.pwrite(self._file, _CHECK.pack(zlib.crc32(body)) + body, self._end) < _CHECK.size + len(body):
                raise OSError("it was written only in part")
            _sync(self._file)
        except OSError:
            os.pwrite(self._file, bytes(_BEFORE), self._end)
            raise
        self._advance(text)

    def begin_again(self) -> None:
        """Write from the start: everything up to ``number`` is kept elsewhere."""
        self._end = 0

    def close(self) -> None:
        os.close(self._file)

    def _advance(self, text: bytes) -> None:
        self.number += 1
        self._end += _BEFORE + len(text)


def _entry(data: bytes, at: int, number: int) -> bytes | None:
    """The text of entry ``number`` if it stands there, whole."""
    if at + _BEFORE > len(data):
        return None
    (check,) = _CHECK.unpack_from(data, at)
    found, length = _HEAD.unpack_from(data, at + _CHECK.size)
    body = data[at + _CHECK.size : at + _BEFORE + length]
    if found != number or len(body) < _HEAD.size + length or zlib.crc32(body) != check:
        return None
    return body[_HEAD.size :]


def _fill(file: int) -> None:
    while (there := os.fstat(file).st_size) < SIZE:
        os.pwrite(file, bytes(SIZE - there), there)
    os.fsync(file)


def _sync_folder(folder: Path) -> None:
    """A new file's name is on disk only then."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
