"""Users, their passwords, and the realms they are of."""

from __future__ import annotations

import asyncio
from typing import Any

from proxmox_emulator.access import passwords, privileges
from proxmox_emulator.access.identity import ROOT
from proxmox_emulator.errors import ApiError, parameter_error
from proxmox_emulator.records import Body
from proxmox_emulator.request import Request


def find_user(request: Request) -> Body:
    """The user that a call is about."""
    user = request.params["userid"]
    found = request.cluster.records.get("user", user)
    if found is None:
        raise ApiError(f"no such user ('{user}')", 400)
    return found


def shown(user: str, body: Body) -> dict[str, Any]:
    """What is told of a user."""
    return {"userid": user, "enable": 1, **{name: value for name, value in body.items() if name != "password"}}


async def list_users(request: Request) -> list[dict[str, Any]]:
    """All users."""
    return [shown(user, body) for user, body in sorted(request.cluster.records.all("user").items())]


async def create_user(request: Request) -> None:
    """A user; one of `pve` may have a password here."""
    user, body = request.params["userid"], request.options("userid")
    if request.cluster.records.get("user", user):
        raise ApiError(f"create user failed: user '{user}' already exists")
    if user.rpartition("@")[2] not in ("pam", "pve"):
        raise parameter_error(userid=f"realm '{user.rpartition('@')[2]}' does not exist")
    if "password" in body:
        body["password"] = await asyncio.to_thread(passwords.keep, body["password"])
    request.cluster.records.put("user", user, body)


async def read_user(request: Request) -> dict[str, Any]:
    """One user, with their tokens."""
    user = request.params["userid"]
    found = shown(user, find_user(request))
    del found["userid"]
    tokens = request.cluster.records.all("token")
    mine = {name.partition("!")[2]: body for name, body in tokens.items() if name.startswith(f"{user}!")}
    return {**found, "groups": [], "tokens": {name: {"privsep": body["privsep"]} for name, body in mine.items()}}


async def update_user(request: Request) -> None:
    """Change what is known of a user."""
    body = find_user(request)
    request.cluster.records.put("user", request.params["userid"], {**body, **request.options("userid", "append")})


async def delete_user(request: Request) -> None:
    """A user, with tokens and ACL entries."""
    user, records = request.params["userid"], request.cluster.records
    find_user(request)
    if user == ROOT:
        raise ApiError("delete user failed: can't delete root@pam")
    with records.transaction():
        records.delete("user", user)
        for token in [name for name in records.all("token") if name.startswith(f"{user}!")]:
            records.delete("token", token)
        for entry in [key for key in records.all("acl") if key.split(" ")[1].partition("!")[0] == user]:
            records.delete("acl", entry)


async def change_password(request: Request) -> None:
    """One's own, or with User.Modify anybody's."""
    user = request.params["userid"]
    if user != request.identity.user or request.identity.token:
        privileges.require(request.cluster.records, request.identity, "/access", "User.Modify")
    body = find_user(request)
    kept = await asyncio.to_thread(passwords.keep, request.params["password"])
    request.cluster.records.put("user", user, {**body, "password": kept})


async def list_domains(request: Request) -> list[dict[str, Any]]:
    """The realms: two, and no others can be added."""
    return [
        {"realm": "pam", "type": "pam", "comment": "Linux PAM standard authentication"},
        {"realm": "pve", "type": "pve", "comment": "Proxmox VE authentication server"},
    ]
