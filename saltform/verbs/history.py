"""history: what happened, newest first."""

from __future__ import annotations

from typing import Any

from saltform.config import load
from saltform.engine.options import bad
from saltform.engine.result import result, run_entry
from saltform.engine.services import Services
from saltform.report.words import plural


def history(services: Services, environment: str | None, limit: Any) -> dict[str, Any]:
    """The newest runs first."""
    if not str(limit).isdecimal() or int(limit) < 1:
        raise bad("limit", f"found {limit!r}, expected a whole number, 1 or more")
    runs = [run_entry(services, run) for run in services.runlog.runs(environment, int(limit))]
    if environment and not runs:
        load(services.pillar, environment, has_orphans=lambda _: True)  # misspelt, or never deployed?
    return result("history", environment=environment or "", summary=plural(len(runs), "run"), runs=runs)
