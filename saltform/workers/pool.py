"""A small pool that pumps a schedule.

1. The caller's thread claims what is ready, as long as there is a free slot, and hands it to the pool.
2. It waits for the next end, tells the schedule, and goes on with 1 until the schedule is finished. A component that
   has no more process to run, and only waits for the minions, says so: its slot is free then, and it still runs.
3. When the cancel event is set, every running process is interrupted by whoever watches it; as they end, nothing
   new starts, and the pump waits for all of them.
4. A step that could not be put on record raises (the disk is full, say). Nothing new starts then, what runs ends,
   and the first such error is raised.
"""

from __future__ import annotations

import queue
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event

from saltform.schedule import Schedule
from saltform.status import Status

# A component's name, and what it calls when it only waits any more → how it ended, and why.
Work = Callable[[str, Callable[[], None]], "tuple[Status, str]"]


def pump(
    schedule: Schedule,
    work: Work,
    parallelism: int,
    cancel: Event,
    on_left_out: Callable[[list[str]], None],
    waiting: int = 0,
) -> None:
    """Run `work` for every component as the schedule allows; `waiting` of them may wait without a slot."""
    ended: queue.SimpleQueue[tuple[str, Status, str]] = queue.SimpleQueue()
    errors: list[Exception] = []

    def one(name: str) -> None:
        try:
            status, reason = work(name, lambda: ended.put((name, Status.CONVERGING, "")))
        except Exception as error:  # whatever it was, the pump waits for this end
            errors.append(error)
            status, reason = Status.FAILED, str(error)
        ended.put((name, status, reason))

    running = 0
    without_slot: set[str] = set()
    with ThreadPoolExecutor(parallelism + waiting, thread_name_prefix="component") as pool:
        while not schedule.finished:
            for name in schedule.ready(parallelism - running):
                if schedule.claim(name):
                    running += 1
                    pool.submit(one, name)
            name, status, reason = ended.get()
            running -= name not in without_slot
            if status is Status.CONVERGING:
                without_slot.add(name)
                continue
            left_out = schedule.done(name, status, reason)
            if errors:
                schedule.cancel(reason)  # and no record of it: records are what doesn't work
                continue
            on_left_out(left_out)
            if cancel.is_set():
                on_left_out(schedule.cancel("the run was cancelled"))
    if errors:
        raise errors[0]
