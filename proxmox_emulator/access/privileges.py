"""What an identity may do on a path: roles by ACL entries, the nearest path first, tokens never more than their user.

1. `root@pam` may everything; so may its tokens without privilege separation.
2. Of the entries for a path and those above it that propagate, the nearest path counts; `NoAccess` there ends it.
3. A guest in a pool is also reached by `/pool/NAME`.
4. A token with privilege separation has what both its own entries and its user's allow.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from proxmox_emulator.access.identity import ROOT, Identity
from proxmox_emulator.errors import forbidden
from proxmox_emulator.records import Records

BUILT_IN: dict[str, list[str]] = {
    role: words.split() for role, words in json.loads(Path(__file__).with_name("roles.json").read_text()).items()
}
ALL = frozenset(BUILT_IN["Administrator"])


def privileges(records: Records, identity: Identity, path: str) -> frozenset[str]:
    """All privileges of an identity on a path."""
    if not identity.token:
        return _of(records, identity.user, path)
    token = records.get("token", identity.token) or {}
    users = _of(records, identity.user, path)
    return users & _of(records, identity.token, path) if token.get("privsep", 1) else users


def require(records: Records, identity: Identity, path: str, *wanted: str) -> None:
    """Refuse with 403 unless all of the privileges are there."""
    missing = set(wanted) - privileges(records, identity, path)
    if missing:
        raise forbidden(path, list(wanted))


def require_one(records: Records, identity: Identity, path: str, *wanted: str) -> None:
    """Refuse with 403 unless one of the privileges is there."""
    if not set(wanted) & privileges(records, identity, path):
        raise forbidden(path, list(wanted), "|")


def role_privileges(records: Records, role: str) -> frozenset[str]:
    """What a role, built in or not, brings."""
    if role in BUILT_IN:
        return frozenset(BUILT_IN[role])
    found = records.get("role", role)
    return frozenset(found["privs"] if found else ())


def _of(records: Records, name: str, path: str) -> frozenset[str]:
    if name == ROOT:
        return ALL
    found = _on_path(records, name, path)
    if re.match(r"/vms/\d+\Z", path):
        vmid = int(path.removeprefix("/vms/"))
        for pool_id, pool in records.all("pool").items():
            if vmid in pool["vms"]:
                found |= _on_path(records, name, f"/pool/{pool_id}")
    return found


def _on_path(records: Records, name: str, path: str) -> frozenset[str]:
    parts = [part for part in path.split("/") if part]
    for depth in range(len(parts), -1, -1):
        here = "/" + "/".join(parts[:depth])
        roles = [
            entry["roleid"]
            for entry in (records.get("acl", f"{here} {name}") or {"roles": []})["roles"]
            if depth == len(parts) or entry["propagate"]
        ]
        if "NoAccess" in roles:
            return frozenset()
        if roles:
            return frozenset().union(*(role_privileges(records, role) for role in roles))
    return frozenset()
