"""`POST /access/ticket`: a ticket for a password."""

from __future__ import annotations

import asyncio
from typing import Any

from proxmox_emulator.access import passwords
from proxmox_emulator.errors import unauthorized
from proxmox_emulator.request import Request


async def create_ticket(request: Request) -> dict[str, Any]:
    """A ticket and the CSRF prevention token that goes with it; an earlier ticket is as good as the password."""
    user, password = request.params["username"], request.params["password"]
    if "@" not in user and "realm" in request.params:
        user = f"{user}@{request.params['realm']}"
    tickets, records = request.cluster.tickets, request.cluster.records
    found = records.get("user", user)
    known = tickets.user_of(password) == user or await asyncio.to_thread(passwords.matches, found, password)
    if found is None or not found.get("enable", 1) or not known:
        raise unauthorized("authentication failure")
    return {
        "username": user,
        "ticket": tickets.ticket(user),
        "CSRFPreventionToken": tickets.csrf(user),
        "clustername": "emulator",
        "cap": {},
    }
