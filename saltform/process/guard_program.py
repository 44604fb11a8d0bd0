"""Interrupts what a runner left running when it was killed.

A program of its own, started by `guard.py` once for each process that runs terraform, as
`python -I -S guard_program.py STARTER`, with a pipe from its starter as standard input:

1. `+GROUP GRACE` says that a process group runs, `-GROUP` that it ended, an empty line asks if we are there.
2. When the pipe ends or its starter is gone, every group that still runs gets ONE SIGINT: terraform finishes
   what it has begun, stores its state and releases its lock.
3. What still runs after its grace is killed. Then the guard ends, too.

A signal at the parent's death (`prctl`) would not do: it follows the thread that started the process.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time

LOOK_EVERY = 1.0


def watch(starter: int) -> dict[int, float]:
    """Read what the starter says until it is gone; the groups that were left running, with their grace."""
    groups: dict[int, float] = {}
    unread = b""
    while True:
        if not select.select([0], [], [], LOOK_EVERY)[0]:
            if os.getppid() != starter:  # gone, but a fork of it still holds the pipe
                return groups
            continue
        piece = os.read(0, 65536)
        if not piece:
            return groups
        *lines, unread = (unread + piece).split(b"\n")
        for line in lines:
            group, _, grace = line[1:].partition(b" ")
            if line.startswith(b"+"):
                groups[int(group)] = float(grace)
            elif line.startswith(b"-"):
                groups.pop(int(group), None)


def interrupt(groups: dict[int, float]) -> None:
    deadlines = {group: time.monotonic() + grace for group, grace in groups.items() if send(group, signal.SIGINT)}
    while deadlines:
        time.sleep(0.1)
        for group, deadline in list(deadlines.items()):
            if not send(group, 0):
                del deadlines[group]
            elif time.monotonic() > deadline:
                send(group, signal.SIGKILL)
                del deadlines[group]


def send(group: int, number: int) -> bool:
    """Is there still a process in the group to take the signal?"""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


if __name__ == "__main__":
    os.setsid()
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))  # a pipe of our starter's caller would seem open after its end
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # what ends the runner must not end its guard
    interrupt(watch(int(sys.argv[1])))
