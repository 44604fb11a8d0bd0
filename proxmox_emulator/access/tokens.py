"""API tokens."""

from __future__ import annotations

import uuid
from typing import Any

from proxmox_emulator.access.identity import hashed
from proxmox_emulator.access.users import find_user
from proxmox_emulator.errors import ApiError, parameter_error
from proxmox_emulator.records import Body
from proxmox_emulator.request import Request


def _name(request: Request) -> str:
    return f"{request.params['userid']}!{request.params['tokenid']}"


def _find(request: Request) -> Body:
    find_user(request)
    found = request.cluster.records.get("token", _name(request))
    if found is None:
        raise ApiError(f"no such token '{request.params['tokenid']}' for user '{request.params['userid']}'")
    return found


def _shown(body: Body) -> dict[str, Any]:
    return {"expire": 0, **{name: value for name, value in body.items() if name != "secret"}}


async def list_tokens(request: Request) -> list[dict[str, Any]]:
    """A user's tokens."""
    find_user(request)
    start = f"{request.params['userid']}!"
    tokens = sorted(request.cluster.records.all("token").items())
    return [{"tokenid": name.removeprefix(start), **_shown(body)} for name, body in tokens if name.startswith(start)]


async def read_token(request: Request) -> dict[str, Any]:
    """One token, never its secret."""
    return _shown(_find(request))


async def create_token(request: Request) -> dict[str, Any]:
    """A token: the only answer that has its secret."""
    find_user(request)
    name, secret = _name(request), str(uuid.uuid4())
    if request.cluster.records.get("token", name):
        raise parameter_error(tokenid="Token already exists.")
    body = {"privsep": 1, **request.options("userid", "tokenid")}
    request.cluster.records.put("token", name, {**body, "secret": hashed(secret)})
    return {"full-tokenid": name, "info": _shown(body), "value": secret}


async def update_token(request: Request) -> dict[str, Any]:
    """Change a token's comment, end or separation."""
    body = {**_find(request), **request.options("userid", "tokenid")}
    return _shown(request.cluster.records.put("token", _name(request), body))


async def delete_token(request: Request) -> None:
    """A token and its ACL entries."""
    _find(request)
    name, records = _name(request), request.cluster.records
    with records.transaction():
        records.delete("token", name)
        for entry in [key for key in records.all("acl") if key.endswith(f" {name}")]:
            records.delete("acl", entry)
