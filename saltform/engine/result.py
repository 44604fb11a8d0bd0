"""What a verb returns: the stable dictionary of docs/returns.md, and the exit code that says the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from saltform.engine.services import Services
from saltform.errors import EXIT_CHANGES, EXIT_DONE, EXIT_FAILED, SaltformError
from saltform.report.words import HIDDEN
from saltform.runlog import RunRecord, StepRecord
from saltform.status import Status

if TYPE_CHECKING:
    from saltform.runlog.drift import Finding


def result(verb: str, retcode: int = EXIT_DONE, **members: Any) -> dict[str, Any]:
    """A verb's return. Never a top-level key `data`: Salt would judge it as state results."""
    return {
        "outputter": "infrastructure",
        "retcode": retcode,
        "success": retcode in (EXIT_DONE, EXIT_CHANGES),
        "verb": verb,
        **members,
    }


def failure(verb: str, error: BaseException, **members: Any) -> dict[str, Any]:
    """The return for an error, whatever it is. An error that isn't ours is a defect: named, without a traceback."""
    if isinstance(error, SaltformError):
        return result(verb, error.exit_code, error=error.as_dict(), **members)
    said = {
        "type": type(error).__name__,
        "summary": "unexpected error",
        "detail": f"{type(error).__name__}: {error}",
        "fix": "this is a defect of Saltform: please report it with the master's log at level debug",
    }
    return result(verb, EXIT_FAILED, error=said, **members)


def step_entry(step: StepRecord, seconds: float) -> dict[str, Any]:
    """One step as it stands under `steps`."""
    counts = step.details.get("counts", {})
    entry = {
        "status": step.status,
        "reason": step.reason,
        "seconds": round(seconds, 2),
        "add": counts.get("add", 0),
        "change": counts.get("change", 0),
        "destroy": counts.get("remove", 0),
        "changes": step.details.get("changes", []),
    }
    for name in ("outputs", "verdicts", "waits_for", "approval", "approved_by", "drift", "check", "retries", "error"):
        if step.details.get(name):
            entry[name] = step.details[name]
    if step.log:
        entry["log"] = step.log
    return entry


def mark_undone(steps: Mapping[str, dict[str, Any]], undone: Mapping[str, str], run: str) -> None:
    """What was applied and is gone again, or went back, is not shown as applied. `undone` are statuses of `run`."""
    gone = {Status.DESTROYED.value: "destroyed again", Status.ROLLED_BACK.value: "brought back again"}
    for name, status in undone.items():
        entry = steps.get(name)
        if entry is not None and entry["status"] == Status.APPLIED.value and status in gone:
            entry |= {"status": status, "reason": f"applied, then {gone[status]} by run {run}"}


def run_entry(services: Services, run: RunRecord) -> dict[str, Any]:
    """A run as it stands in returns; one that never ended and whose process is gone is dead."""
    entry = {name: value for name, value in vars(run).items() if name not in ("graph", "turn", "cancel", "heartbeat")}
    if run.status == "running" and not services.locks.run_alive(run.id):
        entry["status"] = "dead"
    return entry


def finding_entry(finding: Finding, moment: str) -> dict[str, Any]:
    """A finding as it stands in returns."""
    entry = {
        "address": finding.address,
        "attribute": finding.attribute,
        "before": finding.before_value,
        "after": finding.after_value,
        "state": "known" if finding.known(moment) else "new",
        "first_seen": finding.first_seen,
    }
    if finding.known(moment):
        entry |= {"until": finding.known_until, "by": finding.known_by, "reason": finding.known_reason}
    return entry


def shown_outputs(outputs: Mapping[str, Any]) -> dict[str, Any]:
    """Outputs for a person or a job cache: sensitive values are never among them."""
    return {name: HIDDEN if item.sensitive else item.value for name, item in sorted(outputs.items())}
