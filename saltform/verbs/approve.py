"""approve: one person agrees to the plans of a run that wait for one. What was approved is applied by `resume`."""

from __future__ import annotations

from typing import Any

from saltform.engine.options import is_dry
from saltform.engine.result import result
from saltform.engine.services import Services
from saltform.features.approval.approving import request_entry
from saltform.features.approval.decisions import Decisions
from saltform.features.recovery.resumable import check_not_overtaken
from saltform.runlog.approvals import APPROVED


def approve(
    services: Services, run: Any, components: Any = None, comment: Any = None, dry_run: Any = None
) -> dict[str, Any]:
    """Agree, and say what is still missing."""
    about, dry = Decisions.about(services, run, components), is_dry(dry_run)
    about.check_open()
    check_not_overtaken(services, about.record)  # it could not be applied any more
    about.check_allowed(not_author=True)
    if not dry:
        about.decide(APPROVED, comment)
    found = {name: about.standing(name) for name in about.requests}
    missing = [
        f"{name}: {len(item.approved_by)} of {about.rule(name).count} have approved"
        for name, item in found.items()
        if not item.granted
    ]
    record = about.record
    go_on = f"to apply what was approved: salt-run infrastructure.resume {record.id}"
    names = ", ".join(about.requests)
    return result(
        "approve",
        environment=record.environment,
        run=record.id,
        summary=f"{services.author} {'would approve' if dry else 'approved'} {names} of run {record.id}",
        requests={
            name: request_entry(request, about.rule(name), found[name]) for name, request in about.requests.items()
        },
        notes=[] if dry else [*missing, *([go_on] if len(missing) < len(found) else [])],
    )
