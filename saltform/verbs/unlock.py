"""unlock: make sure that nothing dead is in the way of a component. Never a living holder's lock, never a stranger's.

A lock of ours is gone with the last process that has it. So what is left to clear is a lock that a process keeps
which a provisioner left behind (`runlog/left_behind.py`), and Terraform's own lock on the state after one of our
processes was killed; and what a person wants is to know, and to have it on record.
"""

from __future__ import annotations

import socket
from typing import Any

from saltform.engine.context import EnvironmentContext
from saltform.engine.options import bad, is_dry
from saltform.engine.result import result
from saltform.engine.run import Run
from saltform.engine.selection import find
from saltform.engine.services import Services
from saltform.engine.state_locks import dead_run, release, strangers
from saltform.engine.work import ComponentWork
from saltform.errors import Locked, SaltformError, TerraformError
from saltform.graph import Graph
from saltform.runlog import StepRecord
from saltform.status import Status
from saltform.terraform import planning
from saltform.terraform.state_lock import in_the_way, read_note
from saltform.tfstate.local import LOCK_NOTE
from saltform.verbs.one_component import inputs_or_null


def unlock(
    services: Services, environment: str | None, component: str | None, reason: Any, dry_run: Any = None
) -> dict[str, Any]:
    """Clear what a dead holder left; on record, with the reason."""
    why = str(reason or "").strip()
    if not why:
        raise bad("reason", "found nothing, expected why the lock may go: it is kept on record")
    with EnvironmentContext(services, environment) as context:
        found = find(context, component or "")
        if is_dry(dry_run):
            return _preview(context, found.name)
        run = Run(context, "unlock", Graph({found.name: ()}), {"components": [found.name], "reason": why}, "stop", 1)

        def step(_name: str, record: StepRecord) -> Status:
            part = ComponentWork(context, found, inputs_or_null(context, found), record)
            left = services.locks.free(context.name, found.name, _binaries(part))
            try:
                if found.backend.type == "local":
                    with part.locked():
                        status = _clear_note(part)
                else:
                    status = _clear_on_server(part)
            except Locked as error:
                _say_what_to_do(services, error)
                raise
            if not left:
                return status
            note = f"took its lock from {', '.join(map(str, left))}, left behind by a run that has ended"
            record.reason = note if status is Status.UNCHANGED else f"{note}; {record.reason}"
            return Status.APPLIED

        return run.execute(step)


def _binaries(part: ComponentWork) -> tuple[str, ...]:
    """The files that are this component's terraform, whatever their names."""
    try:
        return part.binary.files
    except SaltformError:  # there is none any more
        return ()


def _say_what_to_do(services: Services, error: Locked) -> None:
    holder = error.data["holder"]
    if not holder.get("run"):
        return
    if services.locks.run_alive(holder["run"]):
        error.fix = f"wait for it, or: salt-run infrastructure.cancel {holder['run']}"
    elif holder.get("host", socket.gethostname()) != socket.gethostname():
        error.fix = f"on {holder['host']}, where that run was, the same command"


def _preview(context: EnvironmentContext, name: str) -> dict[str, Any]:
    """What can be told without trying: of a lock on a server nothing."""
    holder = context.services.locks.holder(context.name, name)
    lock = read_note(context.services.layout.states(context.name, name) / LOCK_NOTE)
    said = "nobody holds it" if context.component(name).backend.type == "local" else "nobody of ours holds it"
    left = context.services.locks.kept_by(context.name, name)
    if left and not any(item.is_terraform() for item in left):
        said = f"{', '.join(map(str, left))} keeps it, left behind by a run that has ended: it would be freed"
    elif holder is not None:
        said = f"run {holder.get('run', '?')} holds it and lives: nothing would be done"
    elif lock is not None:
        said = f"Terraform's own lock is there ({lock}): it would be removed if a dead run of ours left it"
    return result("unlock", environment=context.name, summary=f"{context.name}/{name}: {said}", notes=[])


def _clear_note(part: ComponentWork) -> Status:
    path = part.services.layout.states(part.component.environment, part.component.name) / LOCK_NOTE
    lock = read_note(path)
    if lock is None:
        part.step.reason = "nobody held it"
        return Status.UNCHANGED
    run = dead_run(part, lock)
    if not run:
        raise strangers(part.component.id, lock)
    path.unlink()
    part.step.reason = f"removed the note that a killed terraform of run {run} left beside the state"
    return Status.APPLIED


def _clear_on_server(part: ComponentWork) -> Status:
    """Whether a state on a server is locked is known to whoever tries to lock it: by a plan of nothing."""
    with part.at_work() as session:
        part.prepare(session)
        try:
            planning.run(session, None, refresh=False)
        except TerraformError as error:
            lock = in_the_way(error)
            if lock is None:
                raise
            if not release(part, session, error):
                raise strangers(part.component.id, lock) from None
            part.step.reason = f"released the state lock that a killed terraform left ({lock})"
            return Status.APPLIED
    part.step.reason = "nobody held it"
    return Status.UNCHANGED
