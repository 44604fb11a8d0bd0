"""show: one run with all its steps, as it was recorded."""

from __future__ import annotations

from typing import Any

from saltform.engine.result import mark_undone, result, run_entry, step_entry
from saltform.engine.services import Services
from saltform.runlog import StepRecord, seconds_between


def show(services: Services, run: str) -> dict[str, Any]:
    """One run with all its steps, as it was recorded."""
    record = services.runlog.run(run)
    steps = {step.component: _recorded_step(step) for step in services.runlog.steps(record.id)}
    if record.rolled_back_by:
        undone = {step.component: step.status for step in services.runlog.steps(record.rolled_back_by)}
        mark_undone(steps, undone, record.rolled_back_by)
    return result(
        "show",
        environment=record.environment,
        summary=record.summary or f"run {record.id} has not ended",
        run=run_entry(services, record),
        steps=steps,
        notes=record.notes,
    )


def _recorded_step(step: StepRecord) -> dict[str, Any]:
    entry = step_entry(step, _seconds(step))
    return entry | {
        "started": step.started,
        "ended": step.ended,
        "release": step.release,
        "fingerprint": step.fingerprint,
        "serial": step.serial,
        "exit_code": step.exit_code,
    }


def _seconds(step: StepRecord) -> float:
    if not (step.started and step.ended):
        return 0.0
    return seconds_between(step.started, step.ended)
