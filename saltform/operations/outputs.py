"""outputs: what came out, read from the states."""

from __future__ import annotations

from typing import Any

from saltform.operations.opened import Opened
from saltform.operations.result import result, shown_outputs
from saltform.operations.services import Services


def outputs(services: Services, environment: str, component: str | None) -> dict[str, Any]:
    """The outputs as the states have them; sensitive ones are only named."""
    with Opened(services, environment) as opened:
        names = opened.select(component)
        found = {name: shown_outputs(opened.outputs(name)) for name in names}
    count = sum(len(item) for item in found.values())
    return result(
        "outputs",
        environment=environment,
        summary=f"{environment}: {count} outputs of {len(names)} components",
        outputs=found,
    )
