"""Sends a process group its one SIGINT, when its runner says so, when its lease ran out, or when its runner is gone.

A program of its own, started by `guard.py` once for each process that runs terraform, as
`python -I -S guard_program.py STARTER`, with a pipe from its starter as standard input:

1. `+GROUP GRACE UNTIL INTERRUPTED` says that a process group runs, `-GROUP` that it ended, `!GROUP` that it shall
   stop; an empty line asks if we are there.
2. A group is interrupted ONCE: terraform finishes what it has begun, stores its state and releases its lock.
   A second SIGINT would make it drop its state.
3. A group that the starter doesn't renew is interrupted when the monotonic clock says UNTIL: its starter lost its
   lock, or is stopped (SIGSTOP) and can't know.
4. When the pipe ends or the starter is gone, every group that still runs is interrupted; what still runs after its
   GRACE is killed. Then the guard ends, too.

A signal at the parent's death (`prctl`) would not do: it follows the thread that started the process.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time

LOOK_EVERY = 1.0


class Group:
    """One that runs."""

    def __init__(self, number: int, interrupted: bool) -> None:
        self.number = number
        self.grace = self.until = 0.0
        self.interrupted = interrupted

    def interrupt(self) -> None:
        if not self.interrupted:
            self.interrupted = True
            send(self.number, signal.SIGINT)


def watch(starter: int) -> list[Group]:
    """Read what the starter says until it is gone; the groups that were left running."""
    groups: dict[int, Group] = {}
    unread = b""
    while True:
        soonest = min((group.until for group in groups.values() if not group.interrupted), default=float("inf"))
        patience = min(LOOK_EVERY, max(0.0, soonest - time.monotonic()))
        if not select.select([0], [], [], patience)[0]:
            if os.getppid() != starter:  # gone, but a fork of it still holds the pipe
                return list(groups.values())
            for group in groups.values():  # only now: what the starter has said until this moment is read
                if time.monotonic() >= group.until:
                    group.interrupt()
            continue
        piece = os.read(0, 65536)
        if not piece:
            return list(groups.values())
        *lines, unread = (unread + piece).split(b"\n")
        for line in lines:
            obey(line, groups)


def obey(line: bytes, groups: dict[int, Group]) -> None:
    number, *terms = line[1:].split()[:4] or [b"0"]
    if line.startswith(b"+"):
        group = groups.setdefault(int(number), Group(int(number), interrupted=terms[2] == b"1"))
        group.grace, group.until = float(terms[0]), float(terms[1])
    elif line.startswith(b"-"):
        groups.pop(int(number), None)
    elif line.startswith(b"!") and int(number) in groups:
        groups[int(number)].interrupt()


def end(groups: list[Group]) -> None:
    for group in groups:
        group.interrupt()
    deadlines = {group.number: time.monotonic() + group.grace for group in groups}
    while deadlines:
        for number, deadline in list(deadlines.items()):
            if not send(number, 0):
                del deadlines[number]
            elif time.monotonic() > deadline:
                send(number, signal.SIGKILL)
                del deadlines[number]
        time.sleep(0.1)


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
    end(watch(int(sys.argv[1])))
