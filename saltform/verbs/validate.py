"""validate: the pillar of one environment, or of all, checked with its modules. Nothing is started."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from saltform.config import load
from saltform.config.backends import lacks_lock
from saltform.config.load import ROOT
from saltform.config.runlog import dead_after, runlog_address
from saltform.engine.context import EnvironmentContext
from saltform.engine.result import result
from saltform.engine.services import Services
from saltform.errors import ConfigError, NotPromoted, Problem
from saltform.report.words import plural


def validate(services: Services, environment: str | None) -> dict[str, Any]:
    """Check the pillar of one environment, or of all, modules included."""
    # Each environment is opened on its own, so that what is wrong in one doesn't hide what is wrong in another.
    names = [environment] if environment else services.environments or list(load(services.pillar).environments)
    context: list[EnvironmentContext] = []
    problems: list[Problem] = []
    notes: list[str] = []
    for name in names:
        try:
            context.append(EnvironmentContext(services, name))
        except NotPromoted as error:
            if environment:
                raise
            notes.append(f"{error.summary}: {error.fix}")
            problems += _in_pillar_alone(services.pillar, name)
        except ConfigError as error:
            problems += error.problems
    if problems:
        raise ConfigError(problems)
    for item in context:
        notes += _without_lock(item)
    total = sum(len(item.environment.components) for item in context)
    counted = f"{plural(total, 'component')} in {', '.join(names)}"
    order = context[0].graph.order() if environment else []
    return result(
        "validate",
        environment=environment or "",
        summary=f"valid: {counted if names else 'no environment yet'}",
        components=total,
        order=order,
        problems=[],
        notes=notes,
    )


def _without_lock(context: EnvironmentContext) -> list[str]:
    """Several masters, and a backend without a lock of its own: ours can't hold where a master is cut off."""
    tree = context.services.pillar.get(ROOT) or {}
    if not runlog_address(tree):
        return []
    lacking: dict[str, list[str]] = {}
    for component in context.environment.components.values():
        if missing := lacks_lock(component.backend):
            lacking.setdefault(f"{component.backend.type} without {missing}", []).append(component.name)
    return [
        f"{context.name}: {', '.join(names)}: the backend ({why}) has no lock of its own. If a master is cut off from"
        f" the run log for more than {dead_after(tree):g} s while its terraform runs, nothing else keeps another"
        " master from applying at the same time"
        for why, names in lacking.items()
    ]


def _in_pillar_alone(pillar: Mapping[str, Any], environment: str) -> list[Problem]:
    """What can be seen of an environment whose releases are not there yet."""
    try:
        load(pillar, environment, has_orphans=lambda _: True)
    except ConfigError as error:
        return error.problems
    return []
