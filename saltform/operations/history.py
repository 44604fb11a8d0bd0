"""history: what happened, newest first."""

from __future__ import annotations

from typing import Any

from saltform.config import load
from saltform.operations.run.options import bad
from saltform.operations.run.result import result
from saltform.operations.run.services import Services
from saltform.report.words import plural
from saltform.runlog import RunRecord


def history(services: Services, environment: str | None, limit: Any) -> dict[str, Any]:
    """The newest runs first."""
    if not str(limit).isdecimal() or int(limit) < 1:
        raise bad("limit", f"found {limit!r}, expected a whole number, 1 or more")
    runs = [run_entry(services, run) for run in services.runlog.runs(environment, int(limit))]
    if environment and not runs:
        load(services.pillar, environment, has_orphans=lambda _: True)  # misspelt, or never deployed?
    return result("history", environment=environment or "", summary=plural(len(runs), "run"), runs=runs)


def run_entry(services: Services, run: RunRecord) -> dict[str, Any]:
    """A run as it stands in returns; one that never ended and whose process is gone is dead."""
    entry = {name: value for name, value in vars(run).items() if name not in ("graph", "turn", "cancel", "heartbeat")}
    if run.status == "running" and not services.locks.run_alive(run.id):
        entry["status"] = "dead"
    return entry
