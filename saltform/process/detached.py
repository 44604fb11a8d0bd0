"""A process that goes on when we are gone: nobody waits for it, and it is not among our children for long."""

from __future__ import annotations

import contextlib
import os
import sys
import threading

# Not the folder in which we happen to be: what lies there is nobody's module.
_PROGRAM = "import sys; sys.path[:] = filter(None, sys.path); from {module} import main; main()"
DESCRIPTOR = 3
_lock = threading.Lock()
_started: set[int] = set()


def start_detached(module: str, arguments: list[str], text: str, descriptor: int) -> None:
    """Run `module.main()` in a Python of its own, with `text` as standard input and `descriptor` as DESCRIPTOR.

    The text is short: a pipe has to hold it. `main` calls `leave_parent` first.
    """
    argv = [sys.executable, "-c", _PROGRAM.format(module=module), *arguments]
    read, write = os.pipe()
    try:
        os.write(write, text.encode())
        os.close(write)
        files = [
            (os.POSIX_SPAWN_DUP2, read, 0),
            (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
            (os.POSIX_SPAWN_DUP2, descriptor, DESCRIPTOR),
        ]
        with _lock:
            _reap()
            _started.add(os.posix_spawn(argv[0], argv, os.environ, file_actions=files, setsid=True))
    finally:
        os.close(read)


def leave_parent() -> None:
    """In the new process, before anything else: go on as a child of nobody.

    When a master stops, it ends all of its children; a run is ended by `cancel`, or by a signal of its own.
    """
    if os.fork():
        os._exit(0)


def _reap() -> None:
    """The first processes, which `leave_parent` ended at once."""
    for process in list(_started):
        with contextlib.suppress(ChildProcessError):
            if os.waitpid(process, os.WNOHANG)[0] == 0:
                continue
        _started.discard(process)
