"""Roles: named sets of privileges."""

from __future__ import annotations

from typing import Any

from proxmox_emulator.access.privileges import ALL, BUILT_IN, role_privileges
from proxmox_emulator.errors import ApiError, parameter_error
from proxmox_emulator.request import Request


def _wanted(request: Request) -> list[str]:
    named = request.params.get("privs", "").replace(",", " ").replace(";", " ").split()
    unknown = [name for name in named if name not in ALL]
    if unknown:
        raise parameter_error(privs=f"invalid format - invalid privilege '{unknown[0]}'")
    return named


def _own(request: Request) -> str:
    role = request.params["roleid"]
    if role in BUILT_IN:
        raise ApiError(f"auto-generated role '{role}' cannot be modified")
    if request.cluster.records.get("role", role) is None:
        raise ApiError(f"role '{role}' does not exist")
    return role


async def list_roles(request: Request) -> list[dict[str, Any]]:
    """All roles, the built-in ones included."""
    made = {role: body["privs"] for role, body in request.cluster.records.all("role").items()}
    return [
        {"roleid": role, "privs": ",".join(sorted(privs)), "special": int(role in BUILT_IN)}
        for role, privs in sorted({**BUILT_IN, **made}.items())
    ]


async def read_role(request: Request) -> dict[str, int]:
    """A role's privileges, each as 1."""
    role = request.params["roleid"]
    if role not in BUILT_IN and request.cluster.records.get("role", role) is None:
        raise ApiError(f"role '{role}' does not exist")
    return dict.fromkeys(sorted(role_privileges(request.cluster.records, role)), 1)


async def create_role(request: Request) -> None:
    """A role of one's own."""
    role = request.params["roleid"]
    if role in BUILT_IN or request.cluster.records.get("role", role):
        raise ApiError(f"create role failed: role '{role}' already exists")
    request.cluster.records.put("role", role, {"privs": _wanted(request)})


async def update_role(request: Request) -> None:
    """Replace a role's privileges, or add to them."""
    role, privs = _own(request), _wanted(request)
    if request.params.get("append"):
        privs = sorted({*privs, *role_privileges(request.cluster.records, role)})
    request.cluster.records.put("role", role, {"privs": privs})


async def delete_role(request: Request) -> None:
    """A role; entries that name it bring nothing from then on."""
    request.cluster.records.delete("role", _own(request))
