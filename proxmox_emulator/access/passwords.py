"""Passwords as they are kept: with scrypt, and a salt."""

from __future__ import annotations

import hashlib
import hmac
import secrets

from proxmox_emulator.records import Body

_COST = {"n": 2**14, "r": 8, "p": 1}


def keep(password: str) -> str:
    """What is written down of a password."""
    salt = secrets.token_bytes(16)
    return f"{salt.hex()}:{hashlib.scrypt(password.encode(), salt=salt, **_COST).hex()}"


def matches(user: Body | None, password: str) -> bool:
    """Whether it is the user's password. Takes as long for a user who isn't there."""
    kept = (user or {}).get("password") or "00" * 16 + ":"
    salt, _, wanted = kept.partition(":")
    found = hashlib.scrypt(password.encode(), salt=bytes.fromhex(salt), **_COST).hex()
    return hmac.compare_digest(found, wanted)
