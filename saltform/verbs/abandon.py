"""abandon: put a run away that died, was cancelled or failed and that nobody wants to go on with."""

from __future__ import annotations

from typing import Any

from saltform.engine import audit
from saltform.engine.options import is_dry
from saltform.engine.result import result, run_entry
from saltform.engine.services import Services
from saltform.engine.snapshot import forget_kept_plans, forget_snapshot
from saltform.errors import Locked, SaltformError
from saltform.runlog import now


def abandon(services: Services, run: str | None, dry_run: Any = None) -> dict[str, Any]:
    """Mark the run; nothing that it made is touched."""
    record = services.runlog.run(run or "")
    if services.locks.run_alive(record.id):
        fix = f"salt-run infrastructure.cancel {record.id}"
        raise Locked(f"run {record.id} is still running", f"{record.verb} by {record.author}", fix)
    if record.status in ("done", "abandoned"):
        raise SaltformError(f"run {record.id} can't be abandoned", f"it is {record.status}", run=record.id)
    what = f"run {record.id} ({record.verb} {record.environment})"
    if is_dry(dry_run):
        summary = f"{what} would be abandoned; what it made would stay"
        return result(
            "abandon", environment=record.environment, summary=summary, run=run_entry(services, record), notes=[]
        )
    notes = [*record.notes, f"abandoned by {services.author} at {now()}"]
    services.runlog.abandon(record.id, notes)
    audit.note(services, record.environment, "abandon", record.id)
    forget_snapshot(services.layout.run(record.id))
    services.runlog.approvals.withdraw(record.id)
    forget_kept_plans(services.layout.run(record.id))
    return result(
        "abandon",
        environment=record.environment,
        summary=f"{what} is abandoned; what it made is still there",
        run=run_entry(services, services.runlog.run(record.id)),
        notes=[],
    )
