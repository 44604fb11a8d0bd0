"""acknowledge: drift that somebody knows about is no news until a date."""

from __future__ import annotations

import dataclasses
from datetime import date, datetime, time, timedelta, timezone
from typing import Any

from saltform.config import nearest
from saltform.config.reader import parse_duration, shown
from saltform.engine import audit
from saltform.engine.context import EnvironmentContext
from saltform.engine.options import bad, is_dry
from saltform.engine.result import finding_entry, result
from saltform.engine.selection import find
from saltform.engine.services import Services
from saltform.errors import UnknownName
from saltform.features.drift.differences import matching
from saltform.runlog import now

LONGEST = timedelta(days=366)


def acknowledge(
    services: Services,
    environment: str,
    component: str,
    finding: str,
    until: Any,
    reason: Any,
    dry_run: Any = None,
) -> dict[str, Any]:
    """Acknowledge the findings that an address, its attribute or a glob names, until then."""
    context = EnvironmentContext(services, environment)
    name = find(context, _text("component", component)).name
    end = _until(until)
    if not reason:
        raise bad("reason", "found nothing: say why it may stay as it is, for whoever reads it")
    known = services.runlog.drift.findings(environment, name)
    wanted = matching(known, _text("finding", finding))
    if not wanted:
        names = [each.name for each in known]
        raise UnknownName("finding", str(finding), names, nearest(str(finding), names))
    marks = {"known_until": end, "known_by": services.author, "known_reason": str(reason)}
    kept = [dataclasses.replace(each, **marks) for each in wanted]
    findings, dry = [each.name for each in kept], is_dry(dry_run)
    if not dry:
        services.runlog.drift.keep(kept)
        audit.note(
            services, environment, "acknowledge", component=name, findings=findings, until=end, reason=str(reason)
        )
    done = "would be acknowledged" if dry else "acknowledged"
    return result(
        "acknowledge",
        environment=environment,
        component=name,
        until=end,
        findings=[finding_entry(each, now()) for each in kept],
        summary=f"{environment}/{name}: {done} until {end[:16]}: {', '.join(findings)}",
    )


def _text(name: str, value: Any) -> str:
    if not value:
        raise bad(name, "found nothing")
    return str(value)


def _until(value: Any) -> str:
    """`2026-12-01` (the end of that day, UTC), or `7d` from now; in the run log's own form, so that it compares."""
    present = datetime.now(timezone.utc)
    seconds = parse_duration(value) if isinstance(value, str) else None
    if seconds is not None:
        end = present + timedelta(seconds=min(seconds, 2 * LONGEST.total_seconds()))
    else:
        try:
            end = datetime.combine(date.fromisoformat(str(value)[:10]), time.max, timezone.utc)
        except ValueError:
            raise bad(
                "until", f"found {shown(value)}, expected a date such as 2026-12-01 or a time such as 7d"
            ) from None
    if not present < end <= present + LONGEST:
        raise bad("until", f"found {value!r}, expected a date from now to a year from now")
    return end.isoformat(timespec="milliseconds").replace("+00:00", "Z")
