"""What a minion asks for, as its event says it; and the digest with which its data store confirms exactly that.

The digest is the SHA-256 of four lines: verb, environment, components joined by commas, nonce. None of them holds a
line break, so no other request has the same digest. The nonce is new for every request: what was asked for once can't
be asked for again by whoever kept the event.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from saltform.config.load import REQUESTABLE
from saltform.config.names import MINION, NAME, suggestion
from saltform.errors import NotAllowed

NONCE = re.compile(r"[A-Za-z0-9_-]{16,64}")
COMPONENTS = re.compile(r"[\w*?\[\]!,-]{0,1000}", re.ASCII)  # names and globs
KEYS = ("environment", "components", "nonce")
_LONGEST = 1000


@dataclass(frozen=True)
class Asked:
    """One request. Whoever made the event chose all of it, the minion's id too."""

    verb: str
    minion: str
    environment: str = ""
    components: str = ""
    nonce: str = ""
    unknown: str = ""  # the first name of the event that no request has; those in underscores are Salt's own

    @classmethod
    def read(cls, verb: str, minion: str, event: Mapping[str, Any]) -> Asked:
        """Whatever an event holds, as text of bounded length; `check_form` says whether it is a request."""
        components = event.get("components")
        listed = components if isinstance(components, list) else [components]
        joined = ",".join(name.strip() for each in listed for name in _text(each).split(","))
        names = [_text(name) for name, value in event.items() if name not in KEYS and value is not None]
        unknown = next((name for name in names if not name.startswith("__")), "")
        environment, nonce = _text(event.get("environment")), _text(event.get("nonce"))
        return cls(verb[:_LONGEST], minion, environment, joined, nonce, unknown)

    @property
    def digest(self) -> str:
        lines = "\n".join((self.verb, self.environment, self.components, self.nonce))
        return hashlib.sha256(lines.encode("utf-8", "replace")).hexdigest()

    def check_minion(self) -> None:
        if not MINION.fullmatch(self.minion):
            raise refused(self.minion[:300], "that is no minion id")

    def check_form(self) -> None:
        """Raise unless this can be a request: from here on its digest means this one and no other."""
        self.check_minion()
        if self.verb not in REQUESTABLE:
            raise refused(self.minion, f"found {self.verb!r}, expected one of {', '.join(REQUESTABLE)}")
        if not NAME.fullmatch(self.environment):
            raise refused(self.minion, f"found environment={self.environment!r}, expected the name of an environment")
        if not COMPONENTS.fullmatch(self.components):
            raise refused(self.minion, f"found components={self.components!r}, expected names with commas between")
        if not NONCE.fullmatch(self.nonce):
            rule = "16 to 64 letters, digits, '-' and '_', new for every request"
            raise refused(self.minion, f"found nonce={self.nonce!r}, expected {rule}")
        if self.unknown:
            known = f"{', '.join(KEYS)}.{suggestion(self.unknown, KEYS)}"
            raise refused(self.minion, f"{self.unknown!r} is no part of a request, known are {known}")


def refused(minion: str, why: str) -> NotAllowed:
    return NotAllowed("a minion's request was refused", f"{minion!r}: {why}", "docs/events.md says how to ask")


def _text(value: Any) -> str:
    return "" if value is None else str(value)[:_LONGEST]
