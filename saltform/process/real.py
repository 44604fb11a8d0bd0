"""How one process is run:

1. It gets a session and a process group of its own, so that a Ctrl-C at the master's shell doesn't reach it
   and a signal of ours reaches its providers too.
2. Its output goes to two files in memory, not to pipes: nothing blocks when nobody reads, no grandchild keeps
   us waiting by holding a pipe open, and when *we* die its next line doesn't kill it (a write to a broken
   pipe ends a Go program on the spot, in the middle of an apply).
3. While it runs, whole lines are handed on as they come. When it ends, the waiting thread says so at once.
   A reader that fails (its disk is full, say) doesn't stop it: it ends first, then the error is raised.
4. On a time-out or a cancel, or when its lock's lease ran out, the group gets ONE SIGINT: terraform takes a second
   one as "drop everything, state included". It has `grace` seconds to finish, then the group is killed.
5. The guard (`guard_program.py`) sends that SIGINT, whoever has a reason for it first. So there is never a second
   one, and a group whose lease ran out is interrupted even if we are stopped, or killed.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from saltform.errors import BinaryError, WorkspaceError
from saltform.process.guard import GUARD
from saltform.process.interface import HURRY, LOST_LOCK, Cancel, OnBlock, OnLine, Result
from saltform.process.lease import Lease
from saltform.process.output import Output

LOOK_EVERY = 0.05  # seconds between two looks at the output and the cancel event; an end is noticed at once
KILL_WAIT = 10.0  # seconds that the kernel gets to end a killed process (one stuck in a disk can take longer)


class RealProcesses:
    """Starts processes of the operating system."""

    def run(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        timeout: float,
        on_line: OnLine,
        on_block: OnBlock | None = None,
        cancel: threading.Event | None = None,
        grace: float = 30.0,
        pass_fds: Sequence[int] = (),
        lease: Lease | None = None,
        name: str = "",
    ) -> Result:
        began, lease = time.monotonic(), lease or Lease()
        with Output("stdout", on_line, on_block) as out, Output("stderr", on_line, on_block) as err:
            GUARD.ready()
            with lease.inherited() as (session, sockets):
                process = _start(argv, cwd, env, (out.fd, err.fd), (*pass_fds, *sockets))

            def look() -> None:
                GUARD.watch(process.pid, *lease.terms(session, grace))
                out.forward()
                err.forward()

            GUARD.watch(process.pid, *lease.terms(session, grace))
            ended = threading.Event()
            threading.Thread(
                target=_announce_end, args=(process, ended), name=f"wait {name or argv[0]}", daemon=True
            ).start()
            interrupted, killed = "", False
            try:
                while not ended.wait(LOOK_EVERY):
                    look()
                    interrupted = _reason_to_stop(began + timeout, cancel, lease)
                    if interrupted:
                        break
            finally:  # also when Salt turns a signal into SystemExit right here
                if not ended.is_set():
                    killed = _stop(process.pid, ended, grace, look, cancel)
                if (process.returncode or 0) < 0:
                    _signal_group(process.pid, signal.SIGKILL)  # ended by a signal: its providers don't notice
                GUARD.forget(process.pid)
            out.forward(to_the_end=True)
            err.forward(to_the_end=True)
        if error := out.error or err.error:
            raise error
        code = process.returncode if process.returncode is not None else -signal.SIGKILL
        interrupted = interrupted or (LOST_LOCK if lease.expired else "")  # the guard was faster
        return Result(code, time.monotonic() - began, interrupted, killed)


def _start(
    argv: Sequence[str], cwd: Path, env: Mapping[str, str], outputs: tuple[int, int], pass_fds: Sequence[int]
) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            list(argv),
            cwd=cwd,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=outputs[0],
            stderr=outputs[1],
            start_new_session=True,
            umask=0o077,  # states and plans hold secrets, and terraform itself writes them readable for all
            pass_fds=tuple(pass_fds),
        )
    except OSError as error:
        if not Path(cwd).is_dir():
            raise WorkspaceError("the workspace is not a folder", f"{cwd}: {error.strerror}") from error
        raise BinaryError(
            f"{argv[0]} can't be started",
            error.strerror or str(error),
            f"check that it exists and may be run: ls -l {argv[0]}",
        ) from error


def _announce_end(process: subprocess.Popen[bytes], ended: threading.Event) -> None:
    process.wait()
    ended.set()


def _reason_to_stop(deadline: float, cancel: threading.Event | None, lease: Lease) -> str:
    if lease.expired:
        return LOST_LOCK
    if cancel is not None and cancel.is_set():
        return "cancelled"
    return "timeout" if time.monotonic() > deadline else ""


def _stop(
    pid: int,
    ended: threading.Event,
    grace: float,
    look: Callable[[], None],
    cancel: threading.Event | None = None,
) -> bool:
    """One interrupt, the grace, then the end of the whole group. Was it killed?"""
    GUARD.interrupt(pid)
    hurried, deadline = False, time.monotonic() + grace
    while not ended.wait(min(LOOK_EVERY, max(0.0, deadline - time.monotonic()))):
        look()
        if isinstance(cancel, Cancel) and cancel.now and not hurried:
            hurried, deadline = True, min(deadline, time.monotonic() + HURRY)
        if time.monotonic() > deadline:
            _signal_group(pid, signal.SIGKILL)
            ended.wait(KILL_WAIT)
            return True
    return False


def _signal_group(group: int, number: int) -> None:
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        pass  # it ended by itself in the meantime (a zombie's group answers EPERM on some systems)
