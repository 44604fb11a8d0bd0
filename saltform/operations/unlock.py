"""unlock: make sure that nothing dead is in the way of a component. Never a living holder's lock.

A lock of ours is the kernel's: it is gone with the last process that has it. So what is left to clear is the note
that a killed terraform leaves beside a local state; and what a person wants is to know, and to have it on record.
"""

from __future__ import annotations

from typing import Any

from saltform.errors import Locked
from saltform.graph import Graph
from saltform.operations.one_component import find
from saltform.operations.opened import Opened
from saltform.operations.options import bad
from saltform.operations.part import Part
from saltform.operations.running import Run
from saltform.operations.services import Services
from saltform.runlog import StepRecord
from saltform.status import Status

_NOTE = ".terraform.tfstate.lock.info"


def unlock(services: Services, environment: str | None, component: str | None, reason: Any) -> dict[str, Any]:
    """Clear what a dead holder left; on record, with the reason."""
    why = str(reason or "").strip()
    if not why:
        raise bad("reason", "found nothing, expected why the lock may go: it is kept on record")
    with Opened(services, environment) as opened:
        found = find(opened, component or "")
        run = Run(opened, "unlock", Graph({found.name: ()}), {"components": [found.name], "reason": why}, "stop", 1)

        def step(_name: str, record: StepRecord) -> Status:
            part = Part(opened, found, {}, record)
            try:
                with part.locked():
                    return _clear(opened, found.name, record)
            except Locked as error:
                error.fix = (
                    f"wait for it, or: salt-run infrastructure.cancel {error.data['holder'].get('run', 'RUN')}"
                )
                raise

        return run.execute(step)


def _clear(opened: Opened, name: str, record: StepRecord) -> Status:
    note = opened.services.layout.states(opened.name, name) / _NOTE
    if not note.exists():
        record.reason = "nobody held it"
        return Status.UNCHANGED
    note.unlink()
    record.reason = "removed the note that a killed terraform left beside the state"
    return Status.APPLIED
