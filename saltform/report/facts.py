"""What a report's head says about its run, the same for Markdown and HTML."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

from saltform.report.words import clean, duration

Record = Mapping[str, Any]
KEYS = {"id": "run", "environment": "environment", "verb": "verb", "author": "author", "host": "host"}


def about(record: Record) -> Record:
    """The run itself: from the record it is a dictionary, live it is its id beside everything else."""
    run = record.get("run")
    if isinstance(run, Mapping):
        return run
    return {"id": run or "", "environment": record.get("environment", ""), "verb": record.get("verb", "")}


def title(record: Record) -> str:
    run = about(record)
    return clean(f"{run.get('verb', '')} {run.get('environment', '')}".strip())


def word(record: Record) -> str:
    """How the run ended, in one word."""
    return clean(about(record).get("status") or ("done" if record.get("success", True) else "failed"))


def facts(record: Record) -> list[tuple[str, str]]:
    """Who, where, when and how: what is known of it."""
    run = about(record)
    found = [(word, clean(run[key])) for key, word in KEYS.items() if run.get(key)]
    began, ended = moment(run.get("started")), moment(run.get("ended"))
    if began is not None:
        found.append(("started", f"{datetime.fromtimestamp(began, timezone.utc):%Y-%m-%d %H:%M:%S} UTC"))
    if began is not None and ended is not None:
        found.append(("took", duration(ended - began)))
    options = {name: value for name, value in (run.get("options") or {}).items() if value}
    if options:
        found.append(("options", clean(json.dumps(options, ensure_ascii=False, default=str))))
    return found


def moment(text: object) -> float | None:
    """Seconds since the epoch of an ISO time stamp, or None where there is none."""
    try:
        return datetime.fromisoformat(str(text).replace("Z", "+00:00")).timestamp()
    except ValueError:
        return None
