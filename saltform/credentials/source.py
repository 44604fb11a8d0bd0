"""What every source of credentials looks like, and what it gives."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from saltform.errors import CredentialError

if TYPE_CHECKING:
    from saltform.config.types import CredentialSource


@dataclass(frozen=True)
class Lease:
    """How long a value may be used. One without an id ends by itself and can't be renewed or given back."""

    id: str
    seconds: float
    renewable: bool = False


@dataclass(frozen=True)
class Fetched:
    """What a source gave. The values are in no repr."""

    values: Mapping[str, Any] = field(repr=False)
    version: str = ""  # changes when the value does; empty where the source has no such thing
    lease: Lease | None = None


class Source(Protocol):
    """One place to ask. Asked once a run for each distinct question, from several threads."""

    def fetch(self, asked: CredentialSource) -> Fetched: ...

    def leased(self, asked: CredentialSource) -> bool:
        """Are its values leased? Answered without taking a lease where that can be."""
        ...


def text(value: Any) -> str:
    """A value as an environment carries it: strings as they are, everything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


def place(asked: CredentialSource) -> str:
    """The source as it is named in messages: never with a value, and never with a command's arguments."""
    where = asked.options.get("path", "")
    if asked.kind == "command":
        where = (where.split() if isinstance(where, str) else list(where))[0]
    return f"{asked.kind} {where}".rstrip()


def choose(fetched: Fetched, asked: CredentialSource, known: frozenset[str]) -> dict[str, str]:
    """The variables that a source serves: those it maps, or the kind's own names among its fields.

    Never another field: whoever writes to the source would choose what else a process is told.
    """
    renamed = asked.options.get("map")
    if renamed:
        return {name: text(pick(fetched, asked, source)) for name, source in renamed.items()}
    if asked.kind == "environment" and asked.options.get("path"):
        known = frozenset((asked.options["path"],))
    return {name: text(value) for name, value in fetched.values.items() if name in known}


def pick(fetched: Fetched, asked: CredentialSource, name: str) -> Any:
    """One field, or an error that names the fields there are."""
    value = fetched.values.get(name)
    if value is None:
        fields = ", ".join(sorted(fetched.values)) or "none"
        if asked.kind == "environment":
            fields = "not shown"
        raise CredentialError(
            f"Missing field {name!r} in {place(asked)}",
            f"fields there: {fields}",
            f"add the field, or name another one at {asked.path}",
            source=place(asked),
        )
    return value


def only_value(fetched: Fetched, asked: CredentialSource, variable: str) -> Any:
    """The one value that a secret variable takes: the named field, one of its own name, or the only one."""
    if asked.options.get("field"):
        return pick(fetched, asked, asked.options["field"])
    if asked.kind == "environment":
        return pick(fetched, asked, asked.options.get("path", variable))
    if variable in fetched.values:
        return fetched.values[variable]
    if len(fetched.values) == 1:
        return next(iter(fetched.values.values()))
    return pick(fetched, asked, "value")
