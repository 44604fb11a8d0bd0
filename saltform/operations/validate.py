"""validate: the pillar of one environment, or of all, checked with its modules. Nothing is started."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from saltform.config import load
from saltform.errors import ConfigError, NotPromoted, Problem
from saltform.operations.environment.opened import Opened
from saltform.operations.run.result import result
from saltform.operations.run.services import Services
from saltform.report.words import plural


def validate(services: Services, environment: str | None) -> dict[str, Any]:
    """Check the pillar of one environment, or of all, modules included."""
    # Each environment is opened on its own, so that what is wrong in one doesn't hide what is wrong in another.
    names = [environment] if environment else services.environments or list(load(services.pillar).environments)
    opened: list[Opened] = []
    problems: list[Problem] = []
    notes: list[str] = []
    for name in names:
        try:
            opened.append(Opened(services, name))
        except NotPromoted as error:
            if environment:
                raise
            notes.append(f"{error.summary}: {error.fix}")
            problems += _in_pillar_alone(services.pillar, name)
        except ConfigError as error:
            problems += error.problems
    if problems:
        raise ConfigError(problems)
    total = sum(len(item.environment.components) for item in opened)
    counted = f"{plural(total, 'component')} in {', '.join(names)}"
    order = opened[0].graph.order() if environment else []
    return result(
        "validate",
        environment=environment or "",
        summary=f"valid: {counted if names else 'no environment yet'}",
        components=total,
        order=order,
        problems=[],
        notes=notes,
    )


def _in_pillar_alone(pillar: Mapping[str, Any], environment: str) -> list[Problem]:
    """What can be seen of an environment whose releases are not there yet."""
    try:
        load(pillar, environment, has_orphans=lambda _: True)
    except ConfigError as error:
        return error.problems
    return []
