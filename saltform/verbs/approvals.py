"""approvals: what waits for a person, who can act, until when. Looking reminds of what is about to expire, and clears
away what another master has settled.
"""

from __future__ import annotations

from itertools import groupby
from typing import Any

from saltform.engine.result import result
from saltform.engine.services import Services
from saltform.errors import SaltformError
from saltform.events import approval_tag
from saltform.features.approval.approvers import who_may_approve
from saltform.features.approval.approving import request_entry
from saltform.features.approval.decisions import rules
from saltform.features.approval.kept_plans import forget_settled
from saltform.features.approval.request_status import EXPIRED, TURNED_DOWN, WAITING, standing
from saltform.features.recovery.resumable import check_not_overtaken
from saltform.report.words import plural
from saltform.runlog import RunRecord, now, seconds_between
from saltform.runlog.approvals import Request

SOON = 0.25  # of a request's time: when less is left, who has to act is told again


def approvals(services: Services, environment: str | None = None) -> dict[str, Any]:
    """Every request that isn't settled, of one environment or of all. Of a run that can't go on any more: why."""
    found, notes = [], []
    forget_settled(services)
    if environment:
        rules(services, environment)  # misspelt?
    for run, requests in groupby(services.runlog.approvals.all(environment), lambda each: each.run):
        record = services.runlog.run(run)
        try:
            check_not_overtaken(services, record)
        except SaltformError as error:
            notes.append(f"{record.environment}: {error}")
            continue
        for request in requests:
            try:
                entry = _entry(services, record, request)
            except SaltformError as error:
                notes.append(f"{request.environment}/{request.component} of run {run}: {error}")
                continue
            if entry["standing"] != TURNED_DOWN:
                found.append(entry)
                _remind(services, request, entry)
    waiting = sum(entry["standing"] == WAITING for entry in found)
    summary = f"{plural(waiting, 'plan')} {'waits' if waiting == 1 else 'wait'} for approval"
    return result("approvals", environment=environment or "", summary=summary, requests=found, notes=notes)


def _entry(services: Services, record: RunRecord, request: Request) -> dict[str, Any]:
    rule = rules(services, request.environment).approval_of(request.component)
    allowed = who_may_approve(services, rule, record.author, request.environment)
    found = standing(request, services.runlog.approvals.decisions(record.id), rule, allowed, now())
    return {
        "run": record.id,
        "verb": record.verb,
        "author": record.author,
        "environment": request.environment,
        "component": request.component,
        "standing": found.word,
        **request_entry(request, rule, found),
    }


def _remind(services: Services, request: Request, entry: dict[str, Any]) -> None:
    """Once when little time is left, once when none is."""
    left, whole = seconds_between(now(), request.expires), seconds_between(request.asked, request.expires)
    what = "expired" if entry["standing"] == EXPIRED else "expiring" if entry["standing"] == WAITING else ""
    if not what or (what == "expiring" and left > SOON * whole):
        return
    if services.runlog.approvals.remind(request, what):
        command = "resume" if what == "expired" else "approve"
        services.events.fire(
            approval_tag(request.environment, request.run),
            {"what": what, **entry, "command": f"salt-run infrastructure.{command} {request.run}"},
        )
