"""diff: how two environments differ as releases. From the run log alone; nothing is started."""

from __future__ import annotations

from typing import Any

from saltform.config import load
from saltform.config.types import Origin
from saltform.engine.result import result
from saltform.engine.services import Services
from saltform.errors import EXIT_CHANGES, EXIT_DONE
from saltform.features.releases.differences import SAME, compared
from saltform.report.words import tally
from saltform.sources.promoted import load_on_record


def diff(services: Services, environment: str, other: str) -> dict[str, Any]:
    """What the components of the two are made of, side by side."""
    load(services.pillar, environment or "", has_orphans=lambda _: True)
    origins = _origins(services, other or "")
    records = [services.runlog.components(name) for name in (environment, other)]
    names = sorted({*records[0], *records[1]})
    components = {
        name: compared(
            services, (environment, records[0].get(name)), (other, records[1].get(name)), origins.get(name)
        )
        for name in names
    }
    counted = tally(entry["status"] for entry in components.values())
    return result(
        "diff",
        EXIT_DONE if all(entry["status"] == SAME for entry in components.values()) else EXIT_CHANGES,
        environment=environment,
        other=other,
        summary=f"{environment} and {other}: {counted or 'nothing was applied in either'}",
        components=components,
        notes=[],
    )


def _origins(services: Services, environment: str) -> dict[str, Origin | None]:
    """What an environment that is promoted to says is its own."""
    components = load_on_record(services.pillar, services.runlog, environment).environment(environment).components
    return {name: component.origin for name, component in components.items()}
