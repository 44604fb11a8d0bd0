"""What every command needs, and the one way it is run: output logged, interrupts and failures translated."""

from __future__ import annotations

import contextlib
import json
import re
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from saltform.config.types import Timeouts
from saltform.errors import Cancelled, LostLock, SaltformError, Timeout
from saltform.files import cannot_write
from saltform.limits import PARALLELISM, Gate, Pace
from saltform.process import HURRY, LOST_LOCK, Cancel, Lease, OnBlock, OnLine, Processes, Result
from saltform.terraform.binary import Binary
from saltform.terraform.diagnostics import Diagnostic, failure, from_text
from saltform.terraform.transient_errors import throttled

TAIL = 40  # lines of output that an error shows when terraform left no diagnostic
GRACE = 60.0  # seconds to stop for a command that writes nothing but its lock
WRITES_STATE = ("apply", "import", "state", "taint", "untaint")  # these get as long as an apply may take
ASKS_PROVIDER = ("plan", "apply", "import")  # these have a place at the provider; the others never ask it


RESUME = "when the run log is back: salt-run infrastructure.resume"
COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")  # not every command knows -no-color, and provisioners do as they like


def unmasked(text: str) -> str:
    return text


def may_start() -> None:
    """Nothing is against it."""


@dataclass(frozen=True)
class Session:
    """One component with what was lent to it: made by `operations`, used by every command."""

    binary: Binary
    workspace: Path
    env: Mapping[str, str]
    processes: Processes
    log: Callable[[str], None]
    cancel: threading.Event
    component: str
    timeouts: Timeouts = Timeouts()
    # Applied to every text that leaves: log, diagnostics, errors. Without a secret the same object comes back.
    mask: Callable[[str], str] = unmasked
    # Which of many lines, by number, have something to mask: one search for all of them instead of one for each.
    find_lines: Callable[[bytes], Set[int]] | None = None
    pass_fds: tuple[int, ...] = ()
    deletes: bool = False  # the plan that is applied deletes something: what holds data can take long to go
    gate: Gate | None = None  # of its provider
    tell: Callable[[str], None] = lambda _text: None  # what is being done, for whoever watches
    slowed: Callable[[Pace], None] = lambda _pace: None  # the provider is asked less from now on
    lease: Lease | None = None  # of the component's lock, where others may take it when it isn't renewed
    check: Callable[[], None] = may_start  # asked before each process: raises when the component's lock was lost


@dataclass(frozen=True)
class Finished:
    """A process that ran to its end, and the text it printed."""

    exit_code: int
    seconds: float
    stdout: Sequence[str]
    stderr: Sequence[str]


def run_text(session: Session, argv: Sequence[str], *, accept: Sequence[int] = (0,), quiet: bool = False) -> Finished:
    """Run a command that prints text or one JSON document. `quiet` keeps stdout (values!) out of the log."""
    printed: dict[str, list[str]] = {"stdout": [], "stderr": []}

    def on_line(stream: str, line: str) -> None:
        line = COLOUR.sub("", line)
        printed[stream].append(line)
        if not (quiet and stream == "stdout"):
            session.log(session.mask(line))

    result = start(session, argv, on_line)
    if result.exit_code not in accept:
        said = [session.mask(line) for line in (*(() if quiet else printed["stdout"]), *printed["stderr"])]
        raise failed(session, argv[0], result, from_text(said), said)
    return Finished(result.exit_code, result.seconds, printed["stdout"], printed["stderr"])


def run_json(session: Session, argv: Sequence[str], *, accept: Sequence[int] = (0,)) -> dict[str, Any]:
    """Run a command that prints one JSON document; newer versions may print warnings after it."""
    finished = run_text(session, argv, accept=accept, quiet=True)
    text = "\n".join(finished.stdout).lstrip()
    try:
        document = json.JSONDecoder().raw_decode(text)[0]
    except ValueError:
        document = None
    if not isinstance(document, dict):
        said = [session.mask(line) for line in finished.stderr] or ["it printed no JSON"]
        raise failed(session, argv[0], Result(finished.exit_code, finished.seconds), from_text(said), said)
    return document


def start(session: Session, argv: Sequence[str], on_line: OnLine, on_block: OnBlock | None = None) -> Result:
    """Run a command to its end, whatever that is."""
    command = argv[0]
    if session.cancel.is_set():
        raise Cancelled(
            f"terraform {command} for {session.component} was not started",
            "the run had been cancelled before",
        )
    timeout, grace = limits(session, command)
    with _at_provider(session, command) as (pace, place):
        session.check()
        try:
            return session.processes.run(
                [*session.binary.path, command, *pace, *argv[1:]],
                cwd=session.workspace,
                env=session.env,
                timeout=timeout,
                on_line=on_line,
                on_block=on_block,
                cancel=session.cancel,
                grace=grace,
                pass_fds=(*session.pass_fds, *place),
                lease=session.lease,
                name=f"{session.component} {command}",
            )
        except OSError as error:  # of the log: terraform itself ran to its end
            raise cannot_write(session.workspace, error) from error


@contextlib.contextmanager
def _at_provider(session: Session, command: str) -> Iterator[tuple[list[str], tuple[int, ...]]]:
    """A place at the provider for a command that asks it, and the option that says how much it may ask at once."""
    if session.gate is None or command not in ASKS_PROVIDER:
        yield [], ()
        return
    with session.gate.place(session.cancel, session.tell) as place:
        parallelism = session.gate.pace().parallelism
        yield [f"-parallelism={parallelism}"] if parallelism != PARALLELISM else [], place


def tier(session: Session, command: str) -> str:
    """Which of the time-outs in pillar is meant for a command."""
    if command == "apply" and session.deletes and session.timeouts.extended > session.timeouts.apply:
        return "extended"
    return {"init": "init", "plan": "plan", "apply": "apply", "import": "apply"}.get(command, "quick")


def limits(session: Session, command: str) -> tuple[float, float]:
    """Seconds before a command is interrupted, and seconds it then has to finish what it has begun."""
    timeout: float = getattr(session.timeouts, tier(session, command))
    return timeout, max(timeout, session.timeouts.apply) if command in WRITES_STATE else GRACE


def failed(
    session: Session, command: str, result: Result, diagnostics: Sequence[Diagnostic], said: Sequence[str]
) -> SaltformError:
    """The error for a command that did not end well: cancelled, timed out, or failed by itself.

    A command that was interrupted and still ended well is no error: what it did is done, and recorded so.
    """
    if result.interrupted:
        return _interrupted(session, command, result)
    tail = "\n".join(deque(said, TAIL))
    error = failure(command, session.component, result.exit_code, diagnostics, tail, session.workspace)
    if session.gate is not None and throttled(error) and (pace := session.gate.slow_down()):
        session.slowed(pace)
    return error


def _interrupted(session: Session, command: str, result: Result) -> SaltformError:
    timeout, grace = limits(session, command)
    if isinstance(session.cancel, Cancel) and session.cancel.now:
        grace = min(grace, HURRY)
    writes = command in WRITES_STATE
    if result.killed:
        lost = "what it was creating may be missing in its state, and its" if writes else "it had created nothing; a"
        ending = (
            f"it didn't stop within {grace:g} s after the interrupt and was killed: {lost} state lock may be left"
        )
    else:
        did = "wrote down what it had done" if writes else "had created nothing"
        ending = f"it stopped after the interrupt and {did}"
    data: dict[str, Any] = {"component": session.component, "command": command, "killed": result.killed}
    if result.interrupted == "cancelled":
        summary = f"terraform {command} for {session.component} was cancelled"
        return Cancelled(summary, f"after {result.seconds:.0f} s; {ending}", **data)
    if result.interrupted == LOST_LOCK:
        summary = f"terraform {command} for {session.component} was interrupted: its lock was lost"
        return LostLock(summary, f"after {result.seconds:.0f} s; {_why_lost(session)}; {ending}", RESUME, **data)
    return Timeout(
        f"terraform {command} for {session.component} took longer than {timeout:g} s",
        ending,
        "see in its log what it waited for; "
        f"or give it more time: `timeouts: {{{tier(session, command)}: …}}` in pillar",
        **data,
    )


def _why_lost(session: Session) -> str:
    try:
        session.check()
    except LostLock as error:
        return error.detail
    return "it was not renewed in time"
