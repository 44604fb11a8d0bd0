"""status: where every component stands, from pillar, records and states alone. Nothing is started."""

from __future__ import annotations

from typing import Any

from saltform.engine.context import EnvironmentContext
from saltform.engine.resolved import ResolvedComponent
from saltform.engine.result import result
from saltform.engine.services import Services
from saltform.engine.states import CANNOT_READ
from saltform.errors import BinaryError, SaltformError
from saltform.features.recovery import errored
from saltform.features.recovery.resumable import check_not_overtaken, check_resumable, last_seen
from saltform.report.words import plural, tally
from saltform.runlog import RunRecord
from saltform.workspace.root import Unknown

WORDS = {"failed": "failed", "cancelled": "was cancelled"}


def status(services: Services, environment: str) -> dict[str, Any]:
    """Where every component stands: from pillar, records and states alone."""
    with EnvironmentContext(
        services, environment
    ) as context:  # the versions of secret variables are asked for with a login
        order = context.graph.order()
        with context.states.prefetch([*order, *context.orphans]):
            components = {name: _standing(context, name) for name in order}
            orphans = {name: _standing(context, name) | {"status": "orphan"} for name in context.orphans}
    return result(
        "status",
        environment=environment,
        summary=_count(components, len(orphans), environment),
        components=components | orphans,
        orphans=sorted(orphans),
        notes=[
            *_dead_runs(services, environment),
            *_stopped_runs(services, environment, components),
            *_waiting_runs(services, environment),
            *_errored(services, environment, [*components, *orphans]),
        ],
    )


def _standing(context: EnvironmentContext, name: str) -> dict[str, Any]:
    record = context.records.get(context.stored_as(name))
    component = context.component(name)
    holder = context.services.locks.holder(context.name, name)
    standing = _by_state(context, name) | {
        "module": component.module,
        "needs": list(component.needs),
        "release": record.release[:12] if record else "",
        "applied_at": record.applied if record and record.fingerprint else "",
        "run": record.run if record else "",
        "stateful": component.stateful,
    }
    return standing | ({"locked_by": holder} if holder is not None else {})


def _by_state(context: EnvironmentContext, name: str) -> dict[str, Any]:
    """What its state has, and how that stands to pillar; where it can't be told, that must not hide the others."""
    seen: dict[str, Any] = {"resources": 0, "serial": None}
    try:
        head = context.states.head(context.name, context.stored_as(name))
        seen = {"resources": len(context.resources(name)), "serial": head.serial if head else None}
        return {"status": _word(context, name), **seen}
    except CANNOT_READ as error:
        # A release names its binary: without it nobody can tell whether something has changed.
        word = "no usable binary" if isinstance(error, BinaryError) else "unreadable"
        return {"status": word, **seen, "error": error.as_dict()}


def _word(context: EnvironmentContext, name: str) -> str:
    """applied, never applied, pending change, changed outside, or half done."""
    record, head = context.records.get(name), context.states.head(context.name, name)
    if context.stored_as(name) != name:
        return "pending change"
    if record is None:
        return "changed outside" if context.resources(name) else "never applied"
    if not record.fingerprint:
        return "half done"
    if head is None or (record.serial, record.lineage) != (head.serial, head.lineage):
        return "changed outside"
    component = context.component(name)
    inputs = context.inputs(component)
    if any(isinstance(item, Unknown) for item in inputs.values()):
        return "pending change"
    return "applied" if ResolvedComponent(context, component, inputs).unchanged() else "pending change"


def _count(components: dict[str, Any], orphans: int, environment: str) -> str:
    counted = [tally(item["status"] for item in components.values()), plural(orphans, "orphan") if orphans else ""]
    return f"{environment}: {', '.join(filter(None, counted))}"


def _errored(services: Services, environment: str, names: list[str]) -> list[str]:
    """States that could not be stored: what they say is known to nobody else."""
    found = {name: errored.left(services.layout, environment, name) for name in names}
    return [
        f"{name}: a state that could not be stored is in {path}: deploy or resume pushes it back first"
        for name, path in found.items()
        if path is not None
    ]


def _dead_runs(services: Services, environment: str) -> list[str]:
    """Runs that never ended and whose process is gone."""
    return [
        f"run {run.id} ({run.verb} by {run.author}) is dead since {last_seen(services, run)}: {_go_on(services, run)}"
        for run in services.runlog.runs(environment, statuses=("running",))
        if not services.locks.run_alive(run.id)
    ]


def _stopped_runs(services: Services, environment: str, components: dict[str, Any]) -> list[str]:
    """Failed and cancelled runs that left components half done."""
    left: dict[str, list[str]] = {}
    for name, item in components.items():
        if item["status"] == "half done":
            left.setdefault(item["run"], []).append(name)
    return [
        f"run {run.id} ({run.verb} by {run.author}) {WORDS[run.status]}, with {', '.join(left[run.id])} half done: "
        + _go_on(services, run)
        for run in services.runlog.runs(environment, statuses=("failed", "cancelled"))
        if run.id in left
    ]


def _go_on(services: Services, run: RunRecord) -> str:
    """What can be done about a run that stopped: nothing is offered that would be refused."""
    try:
        check_resumable(services, run)
    except SaltformError as error:
        return f"it can't be resumed, {error.detail} (salt-run infrastructure.abandon {run.id})"
    return f"resume or abandon (salt-run infrastructure.resume {run.id})"


def _waiting_runs(services: Services, environment: str) -> list[str]:
    return [_waits(services, run) for run in services.runlog.runs(environment, statuses=("waiting",))]


def _waits(services: Services, run: RunRecord) -> str:
    try:
        check_not_overtaken(services, run)
    except SaltformError as error:
        return f"{error.summary}, though it waits for approval: {error.detail}: {error.fix}"
    return f"run {run.id} ({run.verb} by {run.author}) waits for approval: salt-run infrastructure.approve {run.id}"
