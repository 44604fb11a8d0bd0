"""Moments, as they stand in the run log: they sort by time."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone


def now(offset: float = 0.0) -> str:
    """This moment, or so many seconds from it."""
    moment = datetime.now(timezone.utc) + timedelta(seconds=offset)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def seconds_between(begin: str, end: str) -> float:
    """Between two moments as `now` gives them."""
    first, last = (datetime.fromisoformat(item.replace("Z", "+00:00")) for item in (begin, end))
    return (last - first).total_seconds()


def later(moment: str, seconds: float) -> str:
    """So many seconds after a moment."""
    then = datetime.fromisoformat(moment.replace("Z", "+00:00")) + timedelta(seconds=seconds)
    return then.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def new_run_id() -> str:
    """In the form of Salt's job ids, which are the run ids wherever Salt gives one."""
    return datetime.now(timezone.utc).strftime("%Y%m%d%H%M%S%f")
