"""Tickets and CSRF prevention tokens: signed with the emulator's key, good for two hours."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import time
from collections.abc import Callable

LIFETIME = 7200
_TICKET = re.compile(r"PVE:([^:]{1,64}):([0-9A-F]{8})::([A-Za-z0-9+/=]{20,200})\Z")
_CSRF = re.compile(r"([0-9A-F]{8}):([A-Za-z0-9+/=]{20,200})\Z")


class Tickets:
    """Makes and checks them."""

    def __init__(self, key: bytes, clock: Callable[[], float] = time.time) -> None:
        self._key, self._clock = key, clock

    def ticket(self, user: str) -> str:
        """`PVE:USER@REALM:TIME::SIGNATURE`."""
        now = f"{int(self._clock()):08X}"
        return f"PVE:{user}:{now}::{self._signature('ticket', user, now)}"

    def csrf(self, user: str) -> str:
        """`TIME:SIGNATURE`."""
        now = f"{int(self._clock()):08X}"
        return f"{now}:{self._signature('csrf', user, now)}"

    def user_of(self, ticket: str) -> str | None:
        """Whose ticket it is; None if it is forged or too old."""
        found = _TICKET.match(ticket)
        if found and self._good(found[2], found[3], "ticket", found[1]):
            return found[1]
        return None

    def csrf_is_good(self, token: str, user: str) -> bool:
        """Whether the token was made for the user, not too long ago."""
        found = _CSRF.match(token)
        return bool(found) and self._good(found[1], found[2], "csrf", user)  # type: ignore[index]

    def _good(self, made: str, signature: str, kind: str, user: str) -> bool:
        age = self._clock() - int(made, 16)
        return hmac.compare_digest(signature, self._signature(kind, user, made)) and -300 < age < LIFETIME

    def _signature(self, kind: str, user: str, made: str) -> str:
        text = f"{kind}:{user}:{made}".encode()
        return base64.b64encode(hmac.new(self._key, text, hashlib.sha256).digest()).decode()
