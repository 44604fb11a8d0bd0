"""Searching for planted secrets: in files (archives opened), texts, and the command lines of all processes.

The forms are written down here once more, on purpose: sharing them with the masking would share its blind spots.

    found = search_files({"psk": "hunter2hunter2"}, master_folder, run_folder)
    with CommandLines() as lines: deploy()
    found += lines.search(secrets)
    assert not found, report(found)
"""

from __future__ import annotations

import base64
import gzip
import io
import json
import os
import tarfile
import threading
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, quote_plus

import ahocorasick_rs

SHORTEST = 6  # what is shorter is found everywhere by chance


@dataclass(frozen=True)
class Found:
    secret: str  # its name
    form: str
    where: str


def report(found: Iterable[Found]) -> str:
    return "\n".join(sorted({f"{item.secret} ({item.form}) in {item.where}" for item in found}))


def forms(secret: str) -> dict[bytes, str]:
    """Every form a secret may have been written in."""
    known = {secret.encode(): "as it is", secret.encode("utf-16-le"): "utf-16"}
    for line in secret.splitlines() if "\n" in secret else []:
        if len(line.strip()) > 16 and not line.startswith("-----"):
            known[line.strip().encode()] = "one of its lines"
    known[secret.encode().hex().encode()] = "hex"
    for text, form in (
        (json.dumps(secret)[1:-1], "JSON"),
        (json.dumps(secret, ensure_ascii=False)[1:-1], "JSON"),
        (json.dumps(json.dumps(secret)[1:-1])[1:-1], "JSON in JSON"),
        (_as_go(json.dumps(secret, ensure_ascii=False)[1:-1]), "JSON as Go writes it"),
        (quote(secret), "URL"),
        (quote(secret, safe=""), "URL"),
        (quote_plus(secret), "URL"),
        (repr(secret)[1:-1], "Python's repr"),
    ):
        known.setdefault(text.encode(), form)
    for offset in range(3):
        coded = base64.b64encode(b"\0" * offset + secret.encode()).rstrip(b"=")
        core = coded[4 if offset else 0 : -1]
        known.setdefault(core, "base64")
        known.setdefault(core.translate(bytes.maketrans(b"+/", b"-_")), "base64")
    return {form: name for form, name in known.items() if len(form) >= SHORTEST}


def _as_go(text: str) -> str:
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


class Search:
    """All forms of all secrets, looked for in one pass."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        listed = [(form, name, how) for name, secret in secrets.items() for form, how in forms(secret).items()]
        self._names = [(name, how) for _, name, how in listed]
        self._automaton = ahocorasick_rs.BytesAhoCorasick([form for form, _, _ in listed])

    def data(self, data: bytes, where: str) -> list[Found]:
        hits = {index for index, _, _ in self._automaton.find_matches_as_indexes(data)}
        return [Found(*self._names[index], where) for index in sorted(hits)]

    def file(self, path: Path) -> list[Found]:
        try:
            content = path.read_bytes()
        except (OSError, MemoryError):
            return []  # gone meanwhile, a socket, not ours to read
        return [hit for where, data in _unpacked(str(path), content) for hit in self.data(data, where)]


def _unpacked(where: str, content: bytes, depth: int = 0) -> Iterator[tuple[str, bytes]]:
    """A file, and what is in it if it is an archive: Terraform's plans are zip files."""
    yield where, content
    if depth > 3:
        return
    if content[:4] == b"PK\x03\x04":
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for name in archive.namelist():
                yield from _unpacked(f"{where}!{name}", archive.read(name), depth + 1)
    elif content[:2] == b"\x1f\x8b":
        yield from _unpacked(f"{where}!gunzip", gzip.decompress(content), depth + 1)
    elif content[257:262] == b"ustar":
        with tarfile.open(fileobj=io.BytesIO(content)) as archive:
            for member in archive:
                data = archive.extractfile(member)
                if data is not None:
                    yield from _unpacked(f"{where}!{member.name}", data.read(), depth + 1)


def search_files(
    secrets: Mapping[str, str], *folders: Path, allowed: Callable[[Path], bool] = lambda path: False
) -> list[Found]:
    """Every regular file below the folders, except those where Terraform itself writes values (`allowed`)."""
    search = Search(secrets)
    found: list[Found] = []
    for folder in folders:
        for parent, _, names in os.walk(folder):
            found += search.data(parent.encode(), f"the name of {parent}")
            for name in names:
                path = Path(parent) / name
                found += search.data(name.encode(errors="replace"), f"the name of {path}")
                if path.is_file() and not path.is_symlink() and not allowed(path):
                    found += search.file(path)
    return found


def search_text(secrets: Mapping[str, str], text: object, where: str) -> list[Found]:
    """A return, an event, a traceback: anything that can be written as text."""
    data = text if isinstance(text, bytes) else str(text).encode(errors="replace")
    return Search(secrets).data(data, where)


class CommandLines:
    """The command lines of all processes on this machine, as `ps` shows them, sampled while the block runs."""

    def __init__(self, every: float = 0.02) -> None:
        self._every = every
        self._stop = threading.Event()
        self.seen: set[bytes] = set()

    def __enter__(self) -> CommandLines:
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def search(self, secrets: Mapping[str, str]) -> list[Found]:
        search = Search(secrets)
        return [
            hit
            for line in self.seen
            for hit in search.data(line, "a command line: " + line[:40].decode("ascii", "replace"))
        ]

    def _sample(self) -> None:
        while not self._stop.wait(self._every):
            for process in Path("/proc").glob("[0-9]*"):
                try:
                    self.seen.add((process / "cmdline").read_bytes().replace(b"\0", b" "))
                except OSError:
                    continue  # it ended in between
