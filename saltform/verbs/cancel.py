"""cancel: ask a run to stop, from any shell; one on another master is asked through the run log."""

from __future__ import annotations

import time
from typing import Any

from saltform.engine import audit
from saltform.engine.options import flag, is_dry
from saltform.engine.result import result, run_entry
from saltform.engine.services import Services
from saltform.errors import SaltformError
from saltform.files import write_atomic
from saltform.runlog import now as this_moment
from saltform.workers import CANCEL

WAIT = 10.0  # seconds for the run to end before this returns; it goes on ending by itself


def cancel(services: Services, run: str | None, now: Any = None, dry_run: Any = None) -> dict[str, Any]:
    """Tell the run to stop in good order; with `now` every terraform has only seconds to do so."""
    hurry = flag("now", False if now is None else now)
    record = services.runlog.run(run or "")
    if not services.locks.run_alive(record.id):
        status = run_entry(services, record)["status"]
        raise SaltformError(f"run {record.id} doesn't run", f"it is {status}", run=record.id)
    what = f"run {record.id} ({record.verb} {record.environment})"
    if is_dry(dry_run):
        entry, said = (
            run_entry(services, record),
            "would start nothing more, and end when what it has begun is finished",
        )
        return result(
            "cancel", environment=record.environment, summary=f"{what} {said}", run=entry, ended=False, notes=[]
        )
    asked = f"{'now' if hurry else 'in good order'}\ncancelled by {services.author} at {this_moment()}\n"
    if services.locks.is_here(record.id):
        write_atomic(services.layout.run(record.id) / CANCEL, asked.encode(), durable=False)
    else:
        services.runlog.ask_to_cancel(record.id, asked)
    audit.note(services, record.environment, "cancel", record.id, now=hurry)
    deadline = time.monotonic() + WAIT
    while services.locks.run_alive(record.id) and time.monotonic() < deadline:
        time.sleep(0.1)
    ended = not services.locks.run_alive(record.id)
    said = "has ended" if ended else "starts nothing more, and ends when what it has begun is finished"
    return result(
        "cancel",
        environment=record.environment,
        summary=f"{what} {said}",
        run=run_entry(services, services.runlog.run(record.id)),
        ended=ended,
        notes=[] if ended or hurry else [f"to give it only seconds: cancel {record.id} now=True"],
    )
