"""The running cloud: its store, its settings, and how a behaviour is run as one unit of work."""

from __future__ import annotations

import asyncio
import importlib
import logging
import pkgutil
import uuid
from collections.abc import Callable, Coroutine, Iterable
from datetime import datetime, timezone
from typing import Any, TypeVar

from hive_emulator.action import Call, registry
from hive_emulator.cloud import Cloud
from hive_emulator.config import CloudConfig
from hive_emulator.ec2 import defaults
from hive_emulator.errors import ApiError
from hive_emulator.faults import Fault, Faults, check_actions
from hive_emulator.handlers.access_log import AccessLog
from hive_emulator.handlers.auth import Patience
from hive_emulator.keys import Key
from hive_emulator.metrics import Metrics
from hive_emulator.store.base import Conflict, Store

log = logging.getLogger("hive_emulator")
Answer = TypeVar("Answer")

# Without actions, and with an import (cryptography) that would be a tenth of the start.
_LATER = {"hive_emulator.ec2.key_material"}
ATTEMPTS = 50  # lost races against other writers before a request is told to come back


def load_actions() -> None:
    """Import every family, so that its actions are registered."""
    import hive_emulator.iam
    import hive_emulator.ssm
    import hive_emulator.sts

    for found in pkgutil.iter_modules(hive_emulator.ec2.__path__, "hive_emulator.ec2."):
        if found.name not in _LATER:
            importlib.import_module(found.name)


class Emulator:
    """What every request is run against."""

    def __init__(
        self,
        store: Store,
        config: CloudConfig | None = None,
        keys: Iterable[Key] = (),
        admin_token: str = "",
    ) -> None:
        self.store = store
        self.config = config or CloudConfig()
        self.keys = {key.access_key: key for key in keys}
        self.admin_token = admin_token  # empty: no admin calls
        self.patience = Patience()
        self.faults = Faults()
        self.metrics = Metrics()
        self.access_log: AccessLog | None = None
        self._jobs: set[asyncio.Task[None]] = set()
        self._line = asyncio.Lock()  # of those who lost a race: else each winner would make all the others run again

    async def run(
        self,
        account: str,
        region: str,
        work: Callable[[Call], Answer],
        action: str = "",
        request_id: str = "",
        stale: float = 0.0,
    ) -> Answer:
        """Run ``work`` on the state, commit what it staged, then start what it asked for afterwards.

        When another writer was faster, ``work`` is run again on the new state, in line with the others that lost
        a race. An error drops what was staged. What was created less than ``stale`` seconds ago is not seen.
        """
        in_line = False
        try:
            for _ in range(ATTEMPTS):
                if self.store.shared:
                    await self.store.catch_up()
                call = self.call(account, region, action, request_id)
                if stale:
                    call.cloud.hide_younger(stale)
                answer = work(call)
                try:
                    await call.cloud.commit(self.store)
                except Conflict:
                    if not in_line:
                        in_line = await self._line.acquire()
                    continue
                for job in call.afterwards:
                    self.background(job())
                return answer
        finally:
            if in_line:
                self._line.release()
        raise ApiError("RequestLimitExceeded", "Too many writers at once: try again.", 503)

    def call(self, account: str, region: str, action: str = "", request_id: str = "") -> Call:
        """A fresh call on the present state."""
        cloud = Cloud(self.store.state, account, region)
        now = datetime.now(timezone.utc)
        return Call(action, account, region, request_id or str(uuid.uuid4()), now, cloud, self.config, self)

    def is_seeded(self, account: str, region: str) -> bool:
        """True when what an account has in a region from the start is there."""
        meta = self.store.state.tables(account, region).get("meta")
        return meta is not None and "seeded" in meta.records

    async def seed(self, account: str, region: str) -> None:
        """Make what an account has in a region from the start: the default VPC."""
        await self.run(account, region, _once(defaults.seed))

    def set_faults(self, faults: list[Fault]) -> None:
        """Replace the faults that are played, unless one of them fits no action that is loaded."""
        check_actions(faults, [name for _, name in registry()])
        self.faults.set(faults)
        self.store.state.note_births(self.faults.stale)

    def background(self, job: Coroutine[Any, Any, None]) -> None:
        """Run ``job`` beside the requests; it is waited for at the end, and its failure is logged."""
        task = asyncio.get_running_loop().create_task(job)
        self._jobs.add(task)
        task.add_done_callback(self._job_done)

    def _job_done(self, task: asyncio.Task[None]) -> None:
        self._jobs.discard(task)
        if not task.cancelled() and task.exception() is not None:
            log.error("a background job failed", exc_info=task.exception())

    async def idle(self) -> None:
        """Wait until nothing runs in the background."""
        while self._jobs:
            await asyncio.wait(self._jobs)

    async def close(self, grace: float = 5.0) -> None:
        """Give background jobs ``grace`` seconds, then stop them, then close the store."""
        if self._jobs:
            _, late = await asyncio.wait(self._jobs, timeout=grace)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        await self.store.close()


def _once(seed: Callable[[Call], None]) -> Callable[[Call], None]:
    """``seed``, unless the store says that it was done before."""

    def work(call: Call) -> None:
        if call.cloud.get("meta", "seeded") is None:
            seed(call)
            call.cloud.put("meta", "seeded", {"at": call.timestamp()})

    return work
