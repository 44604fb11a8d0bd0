"""Tasks: what a call starts and answers with a UPID for.

1. The task's record is written before the UPID is given out.
2. Its work runs beside the calls; each line of its log is kept with it.
3. Its end is on record with its exit status: `OK`, or the first line of what went wrong.
4. A task that was running when the emulator was killed is found at the next start, and is stopped as one whose
   worker died.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from proxmox_emulator.errors import ApiError
from proxmox_emulator.records import Body, Records

if TYPE_CHECKING:
    from proxmox_emulator.faults import Faults

KEPT = 2000  # finished tasks that are remembered
DIED = "unexpected status"


class TaskError(Exception):
    """The work of a task failed; the text is its exit status."""


@dataclass
class TaskLog:
    """What the work of a task writes into its log."""

    upid: str
    lines: list[str] = field(default_factory=list)

    def __call__(self, line: str) -> None:
        self.lines.append(line)


Work = Callable[[TaskLog], Awaitable[None]]


class Tasks:
    """The tasks of one emulator."""

    def __init__(self, records: Records, faults: Faults) -> None:
        self._records, self._faults = records, faults
        self._running: dict[str, asyncio.Task[None]] = {}
        self._count = len(records.all("task"))
        with records.transaction():
            for upid, task in list(records.all("task").items()):
                if "endtime" not in task:
                    records.put("task", upid, {**task, "endtime": int(time.time()), "exitstatus": DIED})

    def start(self, node: str, kind: str, subject: str, user: str, work: Work) -> str:
        """Begin a task; returns its UPID."""
        now = int(time.time())
        self._count += 1
        started = f"{self._count & 0xFFFFFFFF:08X}:{now:08X}"
        upid = f"UPID:{node}:{os.getpid() & 0xFFFFFFFF:08X}:{started}:{kind}:{subject}:{user}:"
        body = {
            "node": node,
            "type": kind,
            "id": subject,
            "user": user,
            "starttime": now,
            "pid": os.getpid(),
            "log": [],
        }
        with self._records.transaction():
            self._records.put("task", upid, body)
            self._forget_old()
        self._running[upid] = asyncio.get_running_loop().create_task(self._run(upid, body, work))
        return upid

    def get(self, upid: str) -> Body:
        """A task's record."""
        found = self._records.get("task", upid)
        if found is None:
            raise ApiError(f"no such task '{upid}'", 500)
        return found

    def stop(self, upid: str) -> None:
        """Interrupt a task that runs."""
        if upid in self._running:
            self._running[upid].cancel()

    async def close(self) -> None:
        """Interrupt all that run, and wait for them."""
        running = list(self._running.values())
        for each in running:
            each.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    async def idle(self) -> None:
        """Wait until nothing runs."""
        while self._running:
            await asyncio.gather(*self._running.values(), return_exceptions=True)

    async def _run(self, upid: str, body: Body, work: Work) -> None:
        log, status = TaskLog(upid), "OK"
        try:
            await self._faults.before_task(body)
            await work(log)
        except asyncio.CancelledError:
            status = "interrupted by signal"
        except (TaskError, ApiError) as error:
            status = str(error).splitlines()[0]
            log(f"TASK ERROR: {error}")
        finally:
            self._running.pop(upid, None)
        if status == "OK":
            log("TASK OK")
        end: dict[str, Any] = {"log": log.lines, "endtime": int(time.time()), "exitstatus": status}
        with self._records.transaction():
            self._records.put("task", upid, {**body, **end})

    def _forget_old(self) -> None:
        tasks = self._records.all("task")
        if len(tasks) > KEPT + 200:
            ended = sorted((task["starttime"], upid) for upid, task in tasks.items() if "endtime" in task)
            for _, upid in ended[: len(tasks) - KEPT]:
                self._records.delete("task", upid)
