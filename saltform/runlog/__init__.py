"""What happened: runs, steps, releases, components, leases. SQLite in one file, or PostgreSQL."""

from saltform.runlog.log import ALL, RunLog
from saltform.runlog.moments import later, new_run_id, now, seconds_between
from saltform.runlog.records import ComponentRecord, RunRecord, StepRecord

__all__ = [
    "ALL",
    "ComponentRecord",
    "RunLog",
    "RunRecord",
    "StepRecord",
    "later",
    "new_run_id",
    "now",
    "seconds_between",
]
