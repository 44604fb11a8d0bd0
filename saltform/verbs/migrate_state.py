"""migrate_state: bring components' states to the backend that pillar says now, with a backup and a check."""

from __future__ import annotations

import contextlib
import dataclasses
from typing import Any

from saltform.config.backends import decode, encode, place
from saltform.engine.context import EnvironmentContext
from saltform.engine.options import Options, bad
from saltform.engine.run import Run
from saltform.engine.services import Services
from saltform.engine.work import ComponentWork
from saltform.errors import SaltformError, StateError
from saltform.features.states.moving import move
from saltform.features.states.pillar_index import keep_copies, write_index
from saltform.files import move_folder
from saltform.graph import Graph
from saltform.layout import STATE_FILE
from saltform.runlog import ALL, StepRecord
from saltform.status import Status


def migrate_state(services: Services, environment: str | None, component: Any, dry_run: Any) -> dict[str, Any]:
    """Move what is not where pillar says; on record, each component under its lock."""
    if not component:
        raise bad("component", "found nothing, expected a component, or '*' for all of them")
    options = Options.parse({"components": component, "dry_run": dry_run})
    with EnvironmentContext(services, environment) as context:
        names = context.select(list(options.components))
        _refuse_unfinished(services, context.name, names)
        told = {"components": names, "dry_run": options.dry_run}
        run = Run(context, "migrate_state", Graph(dict.fromkeys(names, ())), told, "continue", 1)
        returned = run.execute(lambda name, step: _step(context, name, step, options.dry_run))
        context.forget_records()
        moved = [name for name, step in run.steps.items() if step.status == Status.APPLIED.value]
        if moved:
            write_index(context, moved)
            keep_copies(context, moved)
        return returned


def _refuse_unfinished(services: Services, environment: str, names: list[str]) -> None:
    """A run that can still be resumed would go on with the place that it began with."""
    for run in services.runlog.runs(environment, ALL, statuses=("running", "waiting")):
        if not services.locks.run_alive(run.id) and set(names) & run.graph.keys():
            found = "waits for approval" if run.status == "waiting" else "is dead and not over"
            raise SaltformError(
                "a run has to be finished first",
                f"run {run.id} ({run.verb} by {run.author}) {found}",
                f"salt-run infrastructure.resume {run.id}   # or abandon",
            )


def _step(context: EnvironmentContext, name: str, step: StepRecord, dry_run: bool) -> Status:
    component = context.component(name)
    part = ComponentWork(context, component, {}, step)
    with contextlib.nullcontext() if dry_run else part.locked():
        record = context.services.runlog.components(context.name).get(name)
        if record is None:
            step.reason = "never applied: there is no state to move"
            return Status.UNCHANGED
        old, new = decode(record.backend), component.backend
        if place(old) == place(new):
            step.reason = f"already in: {place(new)}"
            return Status.UNCHANGED
        if not record.fingerprint:
            raise StateError(
                f"{name} is half done",
                f"run {record.run} did not end well, so its state may still change",
                f"salt-run infrastructure.resume {record.run}   # or deploy it as it was, then move it",
            )
        moved = move(context, record, old, new, dry_run)
        step.serial = moved.state.serial
        step.details["changes"] = [{"address": place(new), "action": "move", "reason": f"from: {place(old)}"}]
        if dry_run:
            step.reason = f"would move serial {moved.state.serial} to: {place(new)}"
            return Status.PLANNED
        fingerprint = _fingerprint(part, record.fingerprint, dataclasses.replace(component, backend=old))
        part.keep_record(
            dataclasses.replace(record, backend=encode(new), fingerprint=fingerprint, serial=moved.state.serial)
        )
        if old.type == "local":  # only now: whoever is killed before this finds it where the record says it is
            _clear(context, name)
        step.reason = f"moved serial {moved.state.serial} to: {place(new)}; backup: {moved.backup}"
        if old.type != "local":
            context.note(f"{name}: its old state is still in: {place(old)}; remove it when nobody needs it any more")
        return Status.APPLIED


def _clear(context: EnvironmentContext, name: str) -> None:
    """Its versions go with a local state: another one that is made there some day has none of them."""
    layout = context.services.layout
    home = layout.states(context.name, name)
    (home / STATE_FILE).unlink(missing_ok=True)
    move_folder(home, layout.earlier_states(context.name, name, context.services.run_id))


def _fingerprint(part: ComponentWork, last: str, before: Any) -> str:
    """What was unchanged stays so; of anything else the next deploy makes a plan."""
    context, component = part.context, part.component
    with contextlib.suppress(SaltformError):  # an input whose own state has not been moved yet, say
        inputs = context.inputs(component)
        if ComponentWork(context, before, inputs, part.step).fingerprint == last:
            return ComponentWork(context, component, inputs, part.step).fingerprint
    return "after migrate_state"
