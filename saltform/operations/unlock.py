"""unlock: make sure that nothing dead is in the way of a component. Never a living holder's lock, never a stranger's.

A lock of ours is gone with the last process that has it. So what is left to clear is Terraform's own lock on the
state after one of our processes was killed; and what a person wants is to know, and to have it on record.
"""

from __future__ import annotations

from typing import Any

from saltform.errors import Locked, TerraformError
from saltform.graph import Graph
from saltform.operations.environment.choosing import find
from saltform.operations.environment.opened import Opened
from saltform.operations.run.options import bad, is_dry
from saltform.operations.run.result import result
from saltform.operations.run.running import Run
from saltform.operations.run.services import Services
from saltform.operations.step.dead_locks import dead_run, release, strangers
from saltform.operations.step.one_component import inputs_or_null
from saltform.operations.step.part import Part
from saltform.runlog import StepRecord
from saltform.status import Status
from saltform.terraform import planning
from saltform.terraform.state_lock import in_the_way, read_note
from saltform.tfstate.local import LOCK_NOTE


def unlock(
    services: Services, environment: str | None, component: str | None, reason: Any, dry_run: Any = None
) -> dict[str, Any]:
    """Clear what a dead holder left; on record, with the reason."""
    why = str(reason or "").strip()
    if not why:
        raise bad("reason", "found nothing, expected why the lock may go: it is kept on record")
    with Opened(services, environment) as opened:
        found = find(opened, component or "")
        if is_dry(dry_run):
            return _preview(opened, found.name)
        run = Run(opened, "unlock", Graph({found.name: ()}), {"components": [found.name], "reason": why}, "stop", 1)

        def step(_name: str, record: StepRecord) -> Status:
            part = Part(opened, found, inputs_or_null(opened, found), record)
            try:
                if found.backend.type == "local":
                    with part.locked():
                        return _clear_note(part)
                return _clear_on_server(part)
            except Locked as error:
                holder = error.data["holder"].get("run")
                if holder:
                    error.fix = f"wait for it, or: salt-run infrastructure.cancel {holder}"
                raise

        return run.execute(step)


def _preview(opened: Opened, name: str) -> dict[str, Any]:
    """What can be told without trying: of a lock on a server nothing."""
    holder = opened.services.locks.holder(opened.name, name)
    lock = read_note(opened.services.layout.states(opened.name, name) / LOCK_NOTE)
    said = "nobody holds it" if opened.component(name).backend.type == "local" else "nobody of ours holds it"
    if holder is not None:
        said = f"run {holder.get('run', '?')} holds it and lives: nothing would be done"
    elif lock is not None:
        said = f"Terraform's own lock is there ({lock}): it would be removed if a dead run of ours left it"
    return result("unlock", environment=opened.name, summary=f"{opened.name}/{name}: {said}", notes=[])


def _clear_note(part: Part) -> Status:
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


def _clear_on_server(part: Part) -> Status:
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
