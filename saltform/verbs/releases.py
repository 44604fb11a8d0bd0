"""releases: what every component of an environment is made of, what it was made of before, and what was promoted."""

from __future__ import annotations

from typing import Any

from saltform.config import load
from saltform.config.load import ROOT
from saltform.engine.result import result
from saltform.engine.services import Services
from saltform.features.releases.differences import module_name, providers
from saltform.report.words import plural
from saltform.runlog import ComponentRecord
from saltform.runlog.releases import Had, Promoted


def releases(services: Services, environment: str) -> dict[str, Any]:
    """From the run log alone: whatever pillar and files say by now."""
    source = load(services.pillar, environment, has_orphans=lambda _: True).environment(environment).promoted_from
    records = services.runlog.components(environment)
    promoted = services.runlog.releases.promoted(environment) if source else {}
    earlier: dict[str, list[Had]] = {}
    for had in services.runlog.releases.history(environment):
        earlier.setdefault(had.component, []).append(had)
    components = {
        name: _entry(services, records.get(name), promoted.get(name), earlier.get(name, []))
        for name in sorted({*records, *promoted})
    }
    told = result(
        "releases",
        environment=environment,
        summary=f"{environment}: releases of {plural(len(records), 'component')}",
        components=components,
        notes=[],
    )
    if source:
        told["promoted_from"] = source
        told["pillar"] = as_pillar(environment, promoted)
        told["summary"] += f", {len(promoted)} promoted from {source}"
        if not promoted:
            told["notes"].append(f"promote something: salt-run infrastructure.promote {source} {environment}")
    return told


def as_pillar(environment: str, promoted: dict[str, Promoted]) -> dict[str, Any]:
    """The promoted set in the form in which pillar pins it."""
    return {ROOT: {"releases": {environment: {name: row.release for name, row in promoted.items()}}}}


def _entry(
    services: Services, record: ComponentRecord | None, promoted: Promoted | None, earlier: list[Had]
) -> dict[str, Any]:
    entry: dict[str, Any] = {"release": "", "earlier": _before(record, earlier)}
    if record is not None:
        content = services.runlog.release(record.release)
        entry |= {
            "release": record.release,
            "good": bool(record.fingerprint),
            "module": module_name(content),
            "providers": providers(content),
            "binary": content["binary"],
            "applied_at": record.applied,
            "run": record.run,
        }
    if promoted is not None:
        made_of = services.runlog.release(record.release).get("promoted", "") if record else ""
        entry |= {"promoted": promoted.release, "promoted_by": promoted.run, "deployed": made_of == promoted.release}
    return entry


def _before(record: ComponentRecord | None, earlier: list[Had]) -> list[dict[str, str]]:
    """The newest first, each release once for every time that it came."""
    told: list[dict[str, str]] = []
    last = ""
    for had in earlier:
        if had.release != last and not had.gone:
            told.append({"release": had.release, "run": had.run, "since": had.ended})
        last = had.release
    if told and record is not None and told[-1]["release"] == record.release:
        told.pop()
    return told[::-1]
