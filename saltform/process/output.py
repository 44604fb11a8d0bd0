"""What a process prints: in memory, and handed on line by line while it is being written."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator

from saltform.process.interface import OnBlock, OnLine

CHUNK = 1 << 16


class Output:
    """What a process writes to one of its streams, read while it is being written."""

    def __init__(self, stream: str, on_line: OnLine, on_block: OnBlock | None = None) -> None:
        self._stream = stream
        self._on_line = on_line
        self._on_block = on_block
        self._read_to = 0
        self._started: list[bytes] = []  # the pieces of a line whose end hasn't come yet
        self.error: Exception | None = None  # the first one that the reader raised

    def __enter__(self) -> Output:
        if hasattr(os, "memfd_create"):
            self.fd = os.memfd_create(self._stream)
        else:  # not Linux: a file that has no name
            with tempfile.TemporaryFile() as file:
                self.fd = os.dup(file.fileno())
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.fd)

    def forward(self, to_the_end: bool = False) -> None:
        """Hand on the lines that are complete; at the end of the process the last one too."""
        for piece in self._new_pieces():
            whole, end, rest = piece.rpartition(b"\n")
            if end:
                self._emit(whole)
            if rest:
                self._started.append(rest)
        if to_the_end and self._started:
            self._emit(b"")

    def _new_pieces(self) -> Iterator[bytes]:
        while piece := os.pread(self.fd, CHUNK, self._read_to):
            self._read_to += len(piece)
            yield piece

    def _emit(self, last_piece: bytes) -> None:
        block = b"".join([*self._started, last_piece])
        self._started.clear()
        if self._on_block is not None:
            self._on_block(block)
        for line in block.split(b"\n"):
            try:
                self._on_line(self._stream, line.decode("utf-8", errors="replace").rstrip("\r"))
            except Exception as error:
                self.error = self.error or error
