"""Changes of instances that were under way when an emulator ended: they are begun again.

1. An instance on its way says in ``_OnTheWay`` which event that is, and since when. Its hook ran in the process that
   ended, so nobody will tell how it went.
2. The event begins anew: its hook is run once more, or, where there is none now, the instance arrives at once.
3. In a store that several emulators share, another one may be running the hook. So there it begins anew only
   when the hook has had all the time that it may take, and nothing has changed since.
"""

from __future__ import annotations

import asyncio
from datetime import datetime, timezone
from functools import partial
from typing import TYPE_CHECKING

from hive_emulator.action import Call
from hive_emulator.ec2 import instances
from hive_emulator.ec2.instance_states import begin
from hive_emulator.hooks import TIMEOUT

if TYPE_CHECKING:
    from hive_emulator.emulator import Emulator

_CLEAN_UP = {"launch": instances.release}


def begin_again(emulator: Emulator) -> None:
    """Begin every interrupted change anew, in the background."""
    for account, region, kind, id, record in emulator.store.state.everything():
        if kind == "instance" and "_OnTheWay" in record:
            emulator.background(_one(emulator, account, region, id, record["_OnTheWay"]))


async def _one(emulator: Emulator, account: str, region: str, id: str, change: dict[str, str]) -> None:
    if emulator.store.shared:
        since = datetime.fromisoformat(change["Since"][:-1] + "+00:00")
        await asyncio.sleep(TIMEOUT - (datetime.now(timezone.utc) - since).total_seconds())
    await emulator.run(account, region, partial(_begin, id, change))


def _begin(id: str, change: dict[str, str], call: Call) -> None:
    instance = call.cloud.get("instance", id)
    if instance is not None and instance.get("_OnTheWay") == change:
        begin(call, change["Event"], instance, _CLEAN_UP.get(change["Event"]))
