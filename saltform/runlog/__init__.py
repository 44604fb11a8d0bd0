"""What happened: runs, steps, releases, components, leases. SQLite in one file, or PostgreSQL."""

from saltform.runlog.log import ALL, RunLog
from saltform.runlog.records import ComponentRecord, RunRecord, StepRecord
from saltform.runlog.timestamps import later, new_run_id, now, seconds_between

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
