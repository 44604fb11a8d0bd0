"""The `may` of a call in the table, checked for who asks.

`user`: anybody who is known. `world`: anybody. `PATH PRIVILEGE`: this privilege on this path, or one of several
(`A|B`). `… or pool`: on the path, or on the pool that the call names. `self:…`: whoever it is about, or this. A path
may name parameters: `/vms/{vmid}`. `VM.Config` stands for any of its privileges; the options decide which.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from proxmox_emulator.access import privileges
from proxmox_emulator.access.privileges import ALL
from proxmox_emulator.errors import ApiError, forbidden

if TYPE_CHECKING:
    from proxmox_emulator.request import Request

_CONFIG = sorted(name for name in ALL if name.startswith("VM.Config."))


def check(request: Request) -> None:
    """Refuse with 403 who may not."""
    may = request.call.may
    if may in ("user", "world"):
        return
    if may.startswith("self:"):
        if not request.identity.token and request.params.get("userid") == request.identity.user:
            return
        may = may.removeprefix("self:")
    path, wanted, *alternative = may.split(" ")
    filled = re.sub(r"\{(\w+)\}", lambda found: str(request.params[found[1]]), path)
    needed = _CONFIG if wanted == "VM.Config" else wanted.split("|")
    try:
        privileges.require_one(request.cluster.records, request.identity, filled, *needed)
    except ApiError:
        if not alternative or "pool" not in request.params:
            raise forbidden(filled, [wanted]) from None
        privileges.require(request.cluster.records, request.identity, f"/pool/{request.params['pool']}", wanted)
