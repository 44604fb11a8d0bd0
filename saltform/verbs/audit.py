"""audit: who asked, approved and changed what, when and from where; and whether the record of it is whole."""

from __future__ import annotations

import csv
import io
import json
import socket
from dataclasses import asdict
from datetime import datetime, timezone
from typing import Any

from saltform.config.names import nearest
from saltform.config.reader import parse_duration
from saltform.engine.audit import anchored, read_anchor
from saltform.engine.options import bad, flag
from saltform.engine.result import result
from saltform.engine.services import Services
from saltform.errors import EXIT_DONE, EXIT_FAILED, UnknownName
from saltform.report.words import plural
from saltform.runlog import now
from saltform.runlog.audit import Entry, broken

_LONGEST = 100 * 366 * 86400.0  # seconds
FORMATS = ("", "csv")
_COLUMNS = "environment number moment action author origin host run content hash".split()


def audit(
    services: Services, environment: str | None = None, since: Any = None, verify: Any = None, format: Any = None
) -> dict[str, Any]:
    """The entries since then, of one environment or of all; with `verify` also what is wrong with their chains."""
    if str(format or "") not in FORMATS:
        raise bad("format", f"found {format!r}, expected csv, or nothing for a table")
    log, begin = services.runlog.audit, _since(since)
    touched = {*log.environments(), *anchored(services)}  # one that was wiped out has an anchor still
    known = sorted({*touched, *services.environments})
    if environment and environment not in known:
        raise UnknownName("environment", environment, known, nearest(environment, known))
    names = [environment] if environment else sorted(touched)
    entries = [entry for name in names for entry in log.entries(name, begin)]
    returned = result(
        "audit",
        environment=environment or "",
        summary=plural(len(entries), "entry"),
        entries=[_shown(entry) for entry in entries],
    )
    if format:
        returned["text"] = _csv(entries)
    if flag("verify", False if verify is None else verify):
        _verify(services, names, returned)
    return returned


def _verify(services: Services, names: list[str], returned: dict[str, Any]) -> None:
    """Every chain as a whole: an entry is proven by those after it."""
    log, found = services.runlog.audit, []
    for name in names:
        anchor = read_anchor(services, name)
        problems = broken(log.entries(name), log.head(name), anchor, socket.gethostname())
        found += [{"environment": name, "problem": problem} for problem in problems]
    returned["problems"] = found
    returned["retcode"] = EXIT_FAILED if found else EXIT_DONE
    returned["success"] = not found
    said = f"{plural(len(found), 'problem')} found" if found else "nothing was changed and nothing is missing"
    returned["summary"] += f": {said}"
    returned.pop("text", None)


def _shown(entry: Entry) -> dict[str, Any]:
    return {name: value for name, value in asdict(entry).items() if name != "previous"}


def _csv(entries: list[Entry]) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, _COLUMNS, lineterminator="\n")
    writer.writeheader()
    for entry in entries:
        row = _shown(entry) | {"content": json.dumps(entry.content, sort_keys=True, ensure_ascii=False)}
        writer.writerow({name: _harmless(value) for name, value in row.items()})
    return out.getvalue().rstrip("\n")


def _harmless(value: Any) -> Any:
    """A spreadsheet would run what begins like a formula."""
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@") else value


def _since(value: Any) -> str:
    """`2026-11-16`, `2026-11-16T08:00` (UTC), or a time before now such as `7d`; in the run log's own form."""
    if value is None or value == "":
        return ""
    seconds = parse_duration(value) if isinstance(value, str) else None
    if seconds is not None:
        return now(-min(seconds, _LONGEST))
    try:
        moment = datetime.fromisoformat(str(value).replace("Z", "+00:00"))
    except ValueError:
        raise bad("since", f"found {value!r}, expected a date such as 2026-11-16 or a time such as 7d") from None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)
    return aware.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
