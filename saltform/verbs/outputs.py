"""outputs: what came out, read from the states."""

from __future__ import annotations

from typing import Any

from saltform.engine.context import EnvironmentContext
from saltform.engine.result import result, shown_outputs
from saltform.engine.services import Services
from saltform.engine.states import CANNOT_READ
from saltform.errors import EXIT_DONE, EXIT_FAILED
from saltform.report.words import plural


def outputs(services: Services, environment: str, component: str | None) -> dict[str, Any]:
    """The outputs as the states have them; sensitive ones are only named. One that can't be read hides no other."""
    found: dict[str, Any] = {}
    notes: list[str] = []
    with EnvironmentContext(services, environment) as context:
        for name in context.select(component):
            try:
                found[name] = shown_outputs(context.outputs(name))
            except CANNOT_READ as error:
                notes.append(f"{name}: {error}")
    count = plural(sum(len(item) for item in found.values()), "output")
    unreadable = f", {len(notes)} unreadable" if notes else ""
    return result(
        "outputs",
        EXIT_FAILED if notes else EXIT_DONE,
        environment=environment,
        summary=f"{environment}: {count} of {plural(len(found), 'component')}{unreadable}",
        outputs=found,
        notes=notes,
    )
