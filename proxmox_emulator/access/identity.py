"""Who asks: from the credentials of a request to a user, and a token of theirs.

1. `Authorization: PVEAPIToken=USER@REALM!TOKENID=SECRET`, or
2. the cookie `PVEAuthCookie` with a ticket, and for everything but GET the header `CSRFPreventionToken`.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import time
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from urllib.parse import unquote

from proxmox_emulator.access.tickets import Tickets
from proxmox_emulator.errors import unauthorized
from proxmox_emulator.records import Records

ROOT = "root@pam"
_TOKEN = re.compile(r"PVEAPIToken=((\S+@[^\s!]+)!([A-Za-z0-9._-]+))=(\S+)\Z")


@dataclass(frozen=True)
class Identity:
    """A user, or a token of theirs."""

    user: str
    token: str = ""  # USER@REALM!TOKENID; empty: the user themselves

    @property
    def name(self) -> str:
        """As tasks are signed with it."""
        return self.token or self.user


def hashed(secret: str) -> str:
    """A token's secret as it is kept. It is random and long, so a plain hash is enough."""
    return hashlib.sha256(secret.encode()).hexdigest()


def from_headers(records: Records, tickets: Tickets, method: str, headers: dict[str, str]) -> Identity:
    """Who asks; raises the 401 that says why nobody does."""
    authorization = headers.get("authorization", "")
    if authorization:
        return _from_token(records, authorization)
    ticket = _cookie(headers.get("cookie", ""))
    if not ticket:
        raise unauthorized("No ticket")
    user = tickets.user_of(ticket)
    if user is None or not _usable(records, user):
        raise unauthorized("permission denied - invalid PVE ticket")
    if method != "GET" and not tickets.csrf_is_good(headers.get("csrfpreventiontoken", ""), user):
        raise unauthorized("Permission denied - invalid csrf token")
    return Identity(user)


def _from_token(records: Records, authorization: str) -> Identity:
    found = _TOKEN.match(authorization)
    if not found:
        raise unauthorized("invalid token format")
    name, user, token_id, secret = found.groups()
    token = records.get("token", name)
    if not _usable(records, user):
        raise unauthorized(f"no such user ('{user}')")
    if token is None:
        raise unauthorized(f"no such token '{token_id}' for user '{user}'")
    if not hmac.compare_digest(token["secret"], hashed(secret)):
        raise unauthorized("invalid token value!")
    if token.get("expire") and token["expire"] <= time.time():
        raise unauthorized("token expired")
    return Identity(user, name)


def _usable(records: Records, user: str) -> bool:
    found = records.get("user", user)
    if found is None or not found.get("enable", 1):
        return False
    return not found.get("expire") or found["expire"] > time.time()


def _cookie(header: str) -> str:
    try:
        found = SimpleCookie(header).get("PVEAuthCookie")
    except CookieError:
        return ""
    return unquote(found.value) if found else ""
