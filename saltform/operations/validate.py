"""validate: the pillar of one environment, or of all, checked with its modules. Nothing is started."""

from __future__ import annotations

from typing import Any

from saltform.config import load
from saltform.errors import ConfigError, NotPromoted, Problem
from saltform.operations.opened import Opened
from saltform.operations.result import result
from saltform.operations.services import Services


def validate(services: Services, environment: str | None) -> dict[str, Any]:
    """Check the pillar of one environment, or of all, modules included."""
    names = [environment] if environment else list(load(services.pillar, has_orphans=lambda _: True).environments)
    opened: list[Opened] = []
    problems: dict[Problem, None] = {}
    notes: list[str] = []
    for name in names:
        try:
            opened.append(Opened(services, name))
        except NotPromoted as error:
            if environment:
                raise
            notes.append(f"{error.summary}: {error.fix}")
        except ConfigError as error:
            problems.update(dict.fromkeys(error.problems))  # what all environments share is said once
    if problems:
        raise ConfigError(problems)
    total = sum(len(item.environment.components) for item in opened)
    order = opened[0].graph.order() if environment else []
    return result(
        "validate",
        environment=environment or "",
        summary=f"valid: {total} components in {', '.join(names)}",
        components=total,
        order=order,
        problems=[],
        notes=notes,
    )
