"""Known secrets are masked in everything that leaves the engine.

1. Every secret becomes a set of byte patterns: as it is, base64 (at each of the three offsets it can have
   inside a longer text, in both alphabets), URL-encoded, JSON-escaped (and again, for JSON inside JSON).
2. A secret of several lines is also looked for line by line, because that is how it is printed.
3. All patterns are searched in one pass (Aho-Corasick, a library's): the cost hardly grows with their number.
4. Where something was found, all matches are searched, overlapping ones too, and merged: of two secrets that share
   letters (`hunter2-and`, `and-more` in `hunter2-and-more`) none leaves its tail.
5. What a process prints is masked line by whole line (`process/output.py` puts lines together), so no secret is
   cut in two by a boundary between chunks. Blocks of many lines are searched first, and only the lines in which
   something was found are looked at one by one: a line without a secret costs next to nothing.

Nothing shorter than six characters is masked: `admin` or `8080` would turn logs into riddles, and protect
nothing.
"""

from __future__ import annotations

import base64
import functools
import json
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote, quote_plus

from saltform.report.words import HIDDEN

MASK = HIDDEN
SHORTEST = 6
TOGETHER = 64  # patterns: up to about so many are searched for with vector instructions, ten times faster than more
_BANNER = re.compile(r"-----(BEGIN|END) [A-Z0-9 ]+-----")
_GO_ESCAPES = {ord(mark): f"\\u{ord(mark):04x}" for mark in "&<>\u2028\u2029"}
_PAIR = re.compile(r"\\.")  # a backslash and what it escapes, so that an escaped backslash is never half of a pair
_LONG = {"\\b": "\\u0008", "\\f": "\\u000c"}  # as Go wrote them before 1.22, and as HCL needs them
_SECRET_NAME = re.compile(r"key|secret|token|password|passphrase", re.IGNORECASE)


def encodings(secret: str) -> set[str]:
    """Every form in which a secret is recognised."""
    if len(secret) < SHORTEST:
        return set()
    found = {secret, *_base64(secret)}
    for part in _parts(secret):
        found |= {part, *_escaped(part)}
    return {form for form in found if len(form) >= SHORTEST}


def _parts(secret: str) -> Iterator[str]:
    yield secret
    if "\n" in secret or "\r" in secret:
        for line in secret.splitlines():
            if len(line.strip()) >= SHORTEST and not _BANNER.fullmatch(line.strip()):
                yield line.strip()
    yield from _leaves(secret)


def _leaves(secret: str) -> Iterator[str]:
    """A secret that is a JSON object (a Google key file) has secrets of its own inside."""
    if not secret.lstrip().startswith("{"):
        return
    try:
        fields = json.loads(secret)
    except ValueError:
        return
    for name, value in fields.items():
        if isinstance(value, str) and _SECRET_NAME.search(name):
            yield from _parts(value)


def _escaped(text: str) -> Iterator[str]:
    for once in (json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]):
        go = once.translate(_GO_ESCAPES)
        for escaped in (once, go, _PAIR.sub(lambda pair: _LONG.get(pair[0], pair[0]), go)):
            yield escaped
            yield json.dumps(escaped, ensure_ascii=False)[1:-1]
    for encoded in (quote(text, safe=""), quote(text), quote_plus(text)):
        yield encoded
        yield re.sub(r"%[0-9A-F]{2}", lambda match: match[0].lower(), encoded)


def _base64(text: str) -> Iterator[str]:
    """At each offset, the characters that depend on the secret alone."""
    data = text.encode()
    for offset in range(3):
        coded = base64.b64encode(b"\0" * offset + data).decode().rstrip("=")
        first = (0, 2, 3)[offset]
        last = len(coded) if (offset + len(data)) % 3 == 0 else len(coded) - 1
        core = coded[first:last]
        if len(core) >= SHORTEST:
            yield core
            yield core.replace("+", "-").replace("/", "_")


class Masker:
    """Masks the secrets it knows; more can be added while it is used."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._lock = threading.Lock()
        self._secrets: set[str] = set()
        self._patterns: set[bytes] = set()
        self._find: _Find = _nothing
        self._find_overlapping: _Find | None = None
        self._screens: list[_Find] = []
        self.add(secrets)

    def __repr__(self) -> str:
        return f"Masker({len(self._secrets)} secrets)"

    def add(self, secrets: Iterable[str]) -> None:
        with self._lock:
            new = set(secrets) - self._secrets
            self._secrets |= new
            self._patterns.update(form.encode() for secret in new for form in encodings(secret))
            if new and self._patterns:
                self._find, self._find_overlapping = self._build_and_find, None

    def _build_and_find(self, data: bytes) -> _Matches:
        """For the first text after secrets were added: a run adds a hundred times, and searches in between rarely."""
        with self._lock:
            patterns = sorted(self._patterns)
            self._screens = [_finder(patterns[at : at + TOGETHER]) for at in range(0, len(patterns), TOGETHER)]
            self._find = _finder(patterns)
            return self._find(data)

    def find_lines(self, block: bytes) -> set[int]:
        """The numbers of the lines in which something is to be masked."""
        if self._find == self._build_and_find:
            self._find(b"")
        found = [match for screen in self._screens for match in screen(block)]
        return {number for _, start, end in found for number in _lines(block, start, end)}

    def line(self, text: str) -> str:
        """A text without its secrets; the very same object when it has none."""
        data = text.encode("utf-8", "surrogatepass")
        found = self._find(data)  # called for every line of every log: no detour on the way
        return self._masked(data).decode("utf-8", "replace") if found else text

    def data(self, data: bytes) -> bytes:
        found = self._find(data)
        return self._masked(data) if found else data

    def _masked(self, data: bytes) -> bytes:
        with self._lock:
            if self._find_overlapping is None:
                self._find_overlapping = _overlapping_finder(sorted(self._patterns))
            found = self._find_overlapping(data)
        return _replaced(data, _merged(found))

    def tree(self, value: Any) -> Any:
        """The same for what a return, a record or an event is made of: mappings, lists, strings."""
        if isinstance(value, str):
            return self.line(value)
        if isinstance(value, Mapping):
            return {self.tree(name): self.tree(item) for name, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.tree(item) for item in value]
        return value


_Matches = Sequence[tuple[int, int, int]]  # pattern, start, end
_Find = Callable[[bytes], _Matches]


def _lines(block: bytes, start: int, end: int) -> range:
    first = block.count(b"\n", 0, start)
    return range(first, first + block.count(b"\n", start, end - 1) + 1)


def _nothing(data: bytes) -> _Matches:
    return ()


def _finder(patterns: list[bytes]) -> _Find:
    import ahocorasick_rs

    longest = ahocorasick_rs.MatchKind.LeftmostLongest
    return ahocorasick_rs.BytesAhoCorasick(patterns, matchkind=longest).find_matches_as_indexes


def _overlapping_finder(patterns: list[bytes]) -> _Find:
    """Every match, not only the leftmost longest ones: several times slower, so only for what has a match."""
    import ahocorasick_rs

    search = ahocorasick_rs.BytesAhoCorasick(patterns, matchkind=ahocorasick_rs.MatchKind.Standard)
    return functools.partial(search.find_matches_as_indexes, overlapping=True)


def _merged(matches: _Matches) -> Iterator[tuple[int, int]]:
    """The spans that the matches cover, in order; those that share letters as one."""
    at, until = 0, 0
    for start, end in sorted((start, end) for _, start, end in matches):
        if start < until:
            until = max(until, end)
            continue
        if until:
            yield at, until
        at, until = start, end
    if until:
        yield at, until


def _replaced(data: bytes, spans: Iterable[tuple[int, int]]) -> bytes:
    pieces, at = [], 0
    for start, end in spans:
        pieces += [data[at:start], MASK.encode()]
        at = end
    return b"".join([*pieces, data[at:]])
