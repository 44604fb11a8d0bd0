"""The audit chain: who did what, entry after entry, each holding the hash of the one before it.

1. One chain for each environment. An entry's hash is over everything in it, the hash of the entry before included:
   who changes an entry, or takes one out, would have to change all that came after it.
2. The newest number and hash stand in a row of their own. Whoever adds an entry takes that row first, so writers,
   those of other masters too, come one after the other.
3. Every master keeps the newest entry that it wrote in a file of its own besides (`anchor`): entries cut off at the
   end, with the row changed to match, still don't match that.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from saltform.runlog.database import Database

FIRST = "0" * 64  # what the first entry has as the one before


@dataclass(frozen=True)
class Anchor:
    """How far a chain went when somebody looked."""

    number: int
    hash: str


@dataclass(frozen=True)
class Entry:
    """One thing that somebody did."""

    environment: str
    number: int
    moment: str
    action: str
    author: str
    origin: str
    host: str
    run: str
    content: Mapping[str, Any]
    previous: str
    hash: str = ""

    def computed(self) -> str:
        parts = {name: value for name, value in asdict(self).items() if name != "hash"}
        return hashlib.sha256(json.dumps(parts, sort_keys=True, ensure_ascii=True).encode()).hexdigest()


class AuditLog:
    """The tables of the audit's schema."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def append(self, environment: str, moment: str, about: Mapping[str, str], content: Mapping[str, Any]) -> Anchor:
        """Add an entry; `about` is action, author, origin, host and run. Where the chain ends now."""
        plain = json.dumps(content, sort_keys=True, default=str)
        with self._database.transaction():
            self._database.write(
                "INSERT INTO audit_heads (environment, number, hash) VALUES (?, 0, ?) ON CONFLICT DO NOTHING",
                (environment, FIRST),
            )
            # Before it is read: from here on other writers of this chain wait.
            self._database.write(
                "UPDATE audit_heads SET number = number + 1 WHERE environment = ?",
                (environment,),
            )
            (head,) = self._database.rows("SELECT * FROM audit_heads WHERE environment = ?", (environment,))
            entry = Entry(
                environment, head["number"], moment, content=json.loads(plain), previous=head["hash"], **about
            )
            anchor = Anchor(entry.number, entry.computed())
            values = asdict(entry) | {"content": plain, "hash": anchor.hash}
            self._database.write(
                f"INSERT INTO audit ({', '.join(values)}) VALUES ({', '.join('?' * len(values))})",  # noqa: S608
                tuple(values.values()),
            )
            self._database.write(
                "UPDATE audit_heads SET hash = ? WHERE environment = ?",
                (anchor.hash, environment),
            )
        return anchor

    def environments(self) -> list[str]:
        """Those with a chain, or with what is left of one."""
        rows = self._database.rows(
            "SELECT environment FROM audit UNION SELECT environment FROM audit_heads ORDER BY environment"
        )
        return [row["environment"] for row in rows]

    def entries(self, environment: str, since: str = "") -> list[Entry]:
        rows = self._database.rows(
            "SELECT * FROM audit WHERE environment = ? AND moment >= ? ORDER BY number", (environment, since)
        )
        return [Entry(**dict(row) | {"content": json.loads(row["content"])}) for row in rows]

    def has(self, environment: str, anchor: Anchor) -> bool:
        """Whether that very entry is in the chain."""
        return bool(
            self._database.rows(
                "SELECT 1 FROM audit WHERE environment = ? AND number = ? AND hash = ?",
                (environment, anchor.number, anchor.hash),
            )
        )

    def head(self, environment: str) -> Anchor | None:
        rows = self._database.rows("SELECT number, hash FROM audit_heads WHERE environment = ?", (environment,))
        return Anchor(**dict(rows[0])) if rows else None


def broken(entries: list[Entry], head: Anchor | None, anchor: Anchor | None, host: str) -> Iterator[str]:
    """Everything that is wrong with a whole chain; nothing when it is as it was written.

    `anchor` is what this host has kept: the newest entry that it wrote itself, so others may have come after it.
    """
    number, previous = 0, FIRST
    known = {}
    for entry in entries:
        if entry.number != number + 1:
            yield f"missing: {_numbers(number + 1, entry.number - 1)}"
        elif entry.previous != previous:
            yield f"entry {entry.number} doesn't follow the one before it"
        if entry.computed() != entry.hash:
            yield f"entry {entry.number} was changed ({entry.moment} {entry.action} by {entry.author})"
        number, previous = entry.number, entry.hash
        known[number] = entry.hash
    if entries and head is None:
        yield "the head is gone"
    elif head is not None and head.number < number:
        yield f"the head says {head.number}, but there are entries up to {number}"
    if anchor is None and any(entry.host == host for entry in entries):
        yield "this host's anchor is gone, and with it the proof that nothing was cut off"
    for kept, what in ((head, "the head"), (anchor, "this host's anchor")):
        if kept is not None and kept.number > number:
            yield f"missing at the end: {_numbers(number + 1, kept.number)} ({what} says {kept.number})"
        elif kept is not None and kept.number and known.get(kept.number) != kept.hash:
            yield f"entry {kept.number} is not the one that {what} names"


def _numbers(first: int, last: int) -> str:
    return f"entry {first}" if first == last else f"entries {first} to {last}"
