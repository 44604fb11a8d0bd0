"""The job that this process works on: the minion's own options for it, its id, and who sent it.

Nothing of this comes from the call. Salt's loader hands a state the options of its call, in which `saltenv=`,
`pillarenv=` and `localconfig=` have replaced the minion's; arguments like `__pub_user` can be forged. What can't:

1. The options, where Salt itself holds them while it runs the job: in the frame that called the job's function.
2. The minion's note of the job (`CACHEDIR/proc/JID`), by the id of the process that works on it. A state with
   `parallel: True`, and the `salt-call` of Salt's sudo executor, run in a child: follow the parents to the note.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from saltform.engine.services import MINION
from saltform.errors import SaltformError

SCHEDULE = "schedule"  # the user of the minion's own schedule, and of its start-up states
# Where Salt runs a job: module and function.
_RUNS_A_JOB = {
    ("salt.minion", "_thread_return"),
    ("salt.minion", "_thread_multi_return"),
    ("salt.utils.schedule", "handle_func"),
    ("salt.cli.caller", "call"),
}
_OF_A_MASTER = ("root", "salt")  # users that a master runs as: what it publishes for a minion is in their name
_CLOCKS = 2.0  # seconds by which a process's start, which the kernel tells in whole seconds, and a file's time differ


@dataclass(frozen=True)
class Job:
    """What a minion's note says."""

    id: str
    author: str
    salt_call: bool


def minion_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of the minion's own options. `given` are the loader's, which have to be from the same file."""
    options = _options_of_the_job(sys._getframe())
    if options is None:
        raise SaltformError(
            "who sent this job can't be told",
            "it is neither from a master, nor from the minion's schedule, nor a salt-call",
            "run it with `salt` or `salt-call`",
        )
    if given.get("conf_file") != options.get("conf_file"):
        raise SaltformError(
            "localconfig is refused here",
            f"{given.get('conf_file')} would replace the minion's own options, and so who may",
            "leave out localconfig=",
        )
    return options


def current_job(options: Mapping[str, Any]) -> Job:
    """The job of this process, from the minion's note of it."""
    note = _note_of_this_process(Path(options["cachedir"], "proc"))
    job = Job(str(note.get("jid")), _author(note), _is_salt_call(note))
    if not job.salt_call and not options.get("multiprocessing", True):
        raise SaltformError(
            "multiprocessing: False is refused here",
            "jobs of several users share one process then, and who sent which can't be told",
            "take `multiprocessing: False` out of the minion's configuration, and restart it",
        )
    return job


def _options_of_the_job(frame: FrameType | None) -> dict[str, Any] | None:
    while frame is not None:
        if (frame.f_globals.get("__name__"), frame.f_code.co_name) in _RUNS_A_JOB:
            held = frame.f_locals
            return dict(held["opts"] if "opts" in held else held["self"].opts)
        frame = frame.f_back
    return None


def _author(note: Mapping[str, Any]) -> str:
    """A note without a user is of the minion's own: its schedule, its start-up states, or a salt-call."""
    import salt.utils.user

    user = str(note.get("user") or "")
    if not user:
        return str(salt.utils.user.get_specific_user()) if _is_salt_call(note) else SCHEDULE
    of_a_master = user in _OF_A_MASTER or user.startswith("sudo_")
    if "kwarg" in note and (of_a_master or note.get("tgt") in (None, "salt-call")):
        # Salt 3008 writes such a note for a state that waited, and has forgotten then which minion sent it; without
        # any user it writes root.
        raise SaltformError(
            "who sent this job can't be told",
            f"the state waited in Salt's queue (queue=True), and anybody is {user} after that",
            "run it again without queue=True",
        )
    if note.get("id"):
        if not of_a_master:
            raise SaltformError(
                "who sent this job can't be told",
                f"it says that minion {note['id']} published it, and was sent by {user}",
                "send it without an id",
            )
        return f"{MINION}{note['id']}"
    return user


def _is_salt_call(note: Mapping[str, Any]) -> bool:
    return note.get("tgt") == "salt-call" and not note.get("user")


def _note_of_this_process(folder: Path) -> Mapping[str, Any]:
    """The nearest note on the way up to the first process. A salt-call that a job started is part of that job."""
    import psutil

    notes, at_a_shell = list(_notes(folder)), None
    this = psutil.Process()
    for process in (this, *this.parents()):
        # An older note is of a process that had this id before.
        since = process.create_time() - _CLOCKS
        of_it = [note for written, note in notes if note.get("pid") == process.pid and written >= since]
        if len(of_it) > 1:
            raise _no_note(folder, f"process {process.pid} has {len(of_it)} notes")
        if of_it and not _is_salt_call(of_it[0]):
            return of_it[0]
        at_a_shell = at_a_shell or (of_it[0] if of_it else None)
    if at_a_shell is None:
        raise _no_note(folder, f"neither process {this.pid} nor one above it has a note")
    return at_a_shell


def _notes(folder: Path) -> Iterator[tuple[float, Mapping[str, Any]]]:
    import salt.payload
    from salt.exceptions import SaltDeserializationError

    for path in folder.glob("*"):
        try:
            written, note = path.stat().st_mtime, salt.payload.loads(path.read_bytes())
        except (OSError, ValueError, SaltDeserializationError):
            continue  # another job ended this moment, or begins
        if isinstance(note, dict):
            yield written, note


def _no_note(folder: Path, found: str) -> SaltformError:
    return SaltformError(
        "who sent this job can't be told",
        f"the minion's notes of its jobs are in {folder}: {found}",
        "run it with `salt`, or with `salt-call` as a user who may write there",
    )
