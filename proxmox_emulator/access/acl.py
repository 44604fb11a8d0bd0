"""The access control list: who has which role on which path."""

from __future__ import annotations

from typing import Any

from proxmox_emulator.access import privileges
from proxmox_emulator.access.identity import Identity
from proxmox_emulator.access.privileges import BUILT_IN
from proxmox_emulator.errors import parameter_error
from proxmox_emulator.request import Request


async def list_acl(request: Request) -> list[dict[str, Any]]:
    """All entries."""
    found = []
    for key, body in sorted(request.cluster.records.all("acl").items()):
        path, name = key.split(" ")
        kind = "token" if "!" in name else "user"
        found += [{"path": path, "ugid": name, "type": kind, **entry} for entry in body["roles"]]
    return found


async def update_acl(request: Request) -> None:
    """Add entries, or take them away; several roles and names at once."""
    records, path = request.cluster.records, "/" + request.params["path"].strip("/")
    roles = request.params["roles"].replace(",", " ").split()
    for role in roles:
        if role not in BUILT_IN and records.get("role", role) is None:
            raise parameter_error(roles=f"role '{role}' does not exist")
    with records.transaction():
        for name in _names(request):
            kept = [
                entry
                for entry in (records.get("acl", f"{path} {name}") or {"roles": []})["roles"]
                if entry["roleid"] not in roles
            ]
            if not request.params.get("delete"):
                kept += [{"roleid": role, "propagate": request.params.get("propagate", 1)} for role in roles]
            if kept:
                records.put("acl", f"{path} {name}", {"roles": kept})
            else:
                records.delete("acl", f"{path} {name}")


def _names(request: Request) -> list[str]:
    found = []
    for parameter, kind in (("users", "user"), ("tokens", "token")):
        for name in request.params.get(parameter, "").replace(",", " ").split():
            if request.cluster.records.get(kind, name) is None:
                raise parameter_error(**{parameter: f"{kind} '{name}' does not exist"})
            found.append(name)
    if not found:
        raise parameter_error(users="property is missing and it is not optional")
    return found


async def permissions(request: Request) -> dict[str, dict[str, int]]:
    """What somebody may do, by path: whoever asks, or with Sys.Audit on /access anybody."""
    identity, records = request.identity, request.cluster.records
    if "userid" in request.params and request.params["userid"] != identity.name:
        privileges.require(records, identity, "/access", "Sys.Audit")
        user, _, token = request.params["userid"].partition("!")
        identity = Identity(user, request.params["userid"] if token else "")
    named = {key.split(" ")[0] for key in records.all("acl")} | {"/", "/access", "/nodes", "/storage", "/vms"}
    paths = [request.params["path"]] if "path" in request.params else sorted(named)
    found = {path: privileges.privileges(records, identity, path) for path in paths if not path.endswith("/{vmid}")}
    return {path: dict.fromkeys(sorted(privs), 1) for path, privs in found.items() if privs}
