"""diff: how two environments differ as releases. From the run log alone; nothing is started."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from saltform.config import load
from saltform.config.types import Origin
from saltform.errors import EXIT_CHANGES, EXIT_DONE
from saltform.operations.environment.opened import Opened
from saltform.operations.environment.promoted import on_record
from saltform.operations.release.differences import differ, differences
from saltform.operations.run.result import result
from saltform.operations.run.services import Services
from saltform.runlog import ComponentRecord

SAME, DIFFERS = "same", "differs"


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
    return result(
        "diff",
        EXIT_DONE if all(entry["status"] == SAME for entry in components.values()) else EXIT_CHANGES,
        environment=environment,
        other=other,
        summary=f"{environment} and {other}: {counted(components.values()) or 'nothing was applied in either'}",
        components=components,
        notes=[],
    )


def compared(
    services: Services,
    one: tuple[str, ComponentRecord | None],
    other: tuple[str, ComponentRecord | None],
    origin: Origin | None,
) -> dict[str, Any]:
    """A component of two environments, each with its record there; `origin` says what of the other is its own."""
    here, there = one[1], other[1]
    if here is None or there is None:
        where = one[0] if there is None else other[0]
        return {"status": f"only in {where}", "releases": [_digest(here), _digest(there)], "differences": []}
    contents = (services.runlog.release(here.release), services.runlog.release(there.release))
    found = differences(*contents, Opened.modules_of(services), origin)
    return {
        "status": DIFFERS if differ(found) else SAME,
        "releases": [here.release, there.release],
        "differences": found,
    }


def counted(components: Iterable[Mapping[str, Any]]) -> str:
    words = [entry["status"] for entry in components]
    return ", ".join(f"{words.count(word)} {word}" for word in dict.fromkeys(words))


def _digest(record: ComponentRecord | None) -> str:
    return record.release if record is not None else ""


def _origins(services: Services, environment: str) -> dict[str, Origin | None]:
    """What an environment that is promoted to says is its own."""
    tree = load(
        services.pillar,
        environment,
        has_orphans=lambda _: True,
        promoted=lambda name, _source, _pins: on_record(services, name),
    )
    return {name: component.origin for name, component in tree.environment(environment).components.items()}
