"""reject: one person says no to the plans of a run that wait for one. That is final: nothing of them is applied."""

from __future__ import annotations

from typing import Any

from saltform.engine.options import is_dry
from saltform.engine.result import result
from saltform.engine.services import Services
from saltform.errors import EXIT_CANCELLED, Locked
from saltform.features.approval.decisions import Decisions
from saltform.features.approval.kept_plans import KeptPlans
from saltform.graph import Graph
from saltform.report import words
from saltform.runlog import RunRecord, StepRecord
from saltform.runlog.approvals import REJECTED
from saltform.status import Status

_TO_COME = (Status.PENDING.value, Status.DEFERRED.value, Status.AWAITING_APPROVAL.value)


def reject(
    services: Services, run: Any, components: Any = None, comment: Any = None, dry_run: Any = None
) -> dict[str, Any]:
    """Say no. What needs a rejected component is skipped; when nothing is left to wait for, the run is over."""
    about, dry = Decisions.about(services, run, components), is_dry(dry_run)
    about.check_open()
    about.check_allowed(not_author=False)
    _refuse_running(services, about.record)
    skipped = _skipped(about)
    if not dry:
        about.decide(REJECTED, comment)
        _settle(about, skipped)
    record, names = about.record, ", ".join(about.requests)
    return result(
        "reject",
        environment=record.environment,
        run=record.id,
        summary=f"{services.author} {'would reject' if dry else 'rejected'} {names} of run {record.id}",
        notes=[f"skipped, because it needs that: {', '.join(skipped)}"] if skipped else [],
    )


def _refuse_running(services: Services, record: RunRecord) -> None:
    """What was approved may be under way this moment, and nothing is said over a step that runs."""
    if services.locks.run_alive(record.id):
        raise Locked(
            f"run {record.id} is running",
            f"{record.verb} {record.environment} by {record.author}",
            f"salt-run infrastructure.cancel {record.id}, then reject what is left",
        )


def _skipped(about: Decisions) -> list[str]:
    above = Graph(about.record.graph).dependents(list(about.requests))
    steps = about.services.runlog.steps(about.record.id)
    return sorted(step.component for step in steps if step.component in above and step.status in _TO_COME)


def _settle(about: Decisions, skipped: list[str]) -> None:
    services, record = about.services, about.record
    steps = {step.component: step for step in services.runlog.steps(record.id)}
    kept = KeptPlans(services.layout, record.id)
    for name in about.requests:
        _end(about, steps[name], Status.CANCELLED, about.standing(name).why)
        kept.forget(name)
    for name in skipped:
        if name not in about.requests:
            _end(about, steps[name], Status.SKIPPED, "needs what was rejected")
    if record.status == "waiting" and not any(step.status in _TO_COME for step in steps.values()):
        record.status, record.exit_code = "cancelled", EXIT_CANCELLED
        statuses = [step.status for step in steps.values()]
        record.summary = words.summary(record.verb, record.environment, statuses)
        services.runlog.end(record)


def _end(about: Decisions, step: StepRecord, status: Status, reason: str) -> None:
    step.status, step.reason = status.value, reason
    about.services.runlog.end_step(about.record.id, step)
