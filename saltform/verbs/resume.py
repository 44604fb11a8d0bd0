"""resume: go on with a run that died, was cancelled or failed, as if it had never stopped.

1. It stays the same run: its id, author and options, and the configuration that it began with. What it had done is
   not done again; the component that it was at is planned anew, which looks at its state.
2. Terraform processes that a dead run left behind finish what they had begun: they are waited for.
3. A run that another one came after is history: going on with it would undo what came after.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping
from typing import Any

from saltform.config.load import ROOT
from saltform.engine import audit
from saltform.engine.context import EnvironmentContext
from saltform.engine.options import Options, is_dry
from saltform.engine.result import result
from saltform.engine.run import DONE
from saltform.engine.services import Services
from saltform.engine.snapshot import RESUMABLE, Snapshot, gone_on_with, kept_part, read_snapshot, same
from saltform.errors import Cancelled, ModuleError, SaltformError, UnknownName
from saltform.features.minions.keys import HOSTS
from saltform.features.recovery.resumable import STOPPED, check_resumable, last_seen, unfinished
from saltform.runlog import ALL, RunRecord, now
from saltform.status import Status
from saltform.verbs import promote, rollback, undo
from saltform.verbs.deploy import run_deploy
from saltform.verbs.destroy import run_destroy
from saltform.workers import cancelling

LOOK_EVERY = 0.1
_HALF_DONE = (Status.RUNNING, Status.FAILED, Status.CANCELLED)


def resume(services: Services, run: str | None = None, dry_run: Any = None) -> dict[str, Any]:
    """Continue the run, or the newest one that can be continued; the return of its own verb."""
    record = _wanted(services, run)
    check_resumable(services, record)
    snapshot = read_snapshot(services.layout.run(record.id), record.host)
    if is_dry(dry_run):
        return _preview(services, record, snapshot)
    record.notes.append(f"resumed by {services.author} at {now()}, after it {_ended(services, record)}")
    record.notes += _differences(services, record.environment, snapshot)
    today = services.pillar.get(ROOT) or {}
    pillar = {**services.pillar, ROOT: gone_on_with(snapshot.pillar, today, record.environment)}
    mine = dataclasses.replace(services, run_id=record.id, author=record.author, pillar=pillar)
    files = record.verb != "rollback"
    with EnvironmentContext(
        mine, record.environment, snapshot.modules, snapshot.promoted, look_at_files=files
    ) as context:
        context.requests = services.runlog.approvals.of_run(record.id)
        context.decisions = services.runlog.approvals.decisions(record.id) if context.requests else []
        steps = services.runlog.steps(record.id)
        context.earlier = {
            step.component: (record.host, step.started, step.ended or max(record.heartbeat, step.started))
            for step in steps
        }
        context.hosts_before = {step.component: step.details[HOSTS] for step in steps if HOSTS in step.details}
        _wait_for_what_is_left(context, record)
        record.notes += _looked_at(context, record)
        audit.note(services, record.environment, "resume", record.id)
        return _VERBS[record.verb](context, record)


def _preview(services: Services, record: RunRecord, snapshot: Snapshot) -> dict[str, Any]:
    """What is done, and what it would go on with."""
    steps = {step.component: Status(step.status) for step in services.runlog.steps(record.id)}
    left = [name for name in record.graph if name not in steps or steps[name] not in DONE]
    said = f"would go on with {', '.join(left) or 'nothing'}"
    return result(
        "resume",
        environment=record.environment,
        run=record.id,
        summary=f"run {record.id} ({record.verb} {record.environment}) {said}",
        components={name: str(steps.get(name, Status.PENDING)) for name in record.graph},
        notes=_differences(services, record.environment, snapshot),
    )


def _wanted(services: Services, run: str | None) -> RunRecord:
    if run and run != "last":
        return services.runlog.run(run)
    refused: SaltformError | None = None
    for record in services.runlog.runs(limit=ALL, verbs=RESUMABLE, statuses=("running", *STOPPED)):
        if unfinished(services, record):
            try:
                check_resumable(services, record)
                read_snapshot(services.layout.run(record.id), record.host)
            except SaltformError as error:
                refused = refused or error  # the newest one's says most
            else:
                return record
    raise refused or UnknownName("run to resume", "", [])


def _ended(services: Services, record: RunRecord) -> str:
    words = {"failed": "had failed", "cancelled": "was cancelled", "waiting": "had waited for approval"}
    return words.get(record.status, f"died (last seen {last_seen(services, record)})")


def _differences(services: Services, environment: str, snapshot: Snapshot) -> list[str]:
    """What the run doesn't know: what changed since it began."""
    notes = []
    if not same(_relevant(kept_part(services.pillar), environment), _relevant(snapshot.pillar, environment)):
        notes.append("pillar differs by now: this run goes on with what it began with; deploy afterwards")
    changed = sorted(name for name, (digest, _) in snapshot.modules.items() if _digest(services, name) != digest)
    if changed:
        notes.append(f"modules differ by now: {', '.join(changed)}: this run goes on with what it began with")
    return notes


def _relevant(tree: Mapping[str, Any], environment: str) -> dict[str, Any]:
    environments = tree.get("environments") or {}
    return {**tree, "environments": environments.get(environment)}


def _digest(services: Services, reference: str) -> str:
    try:
        return EnvironmentContext.modules_of(services).resolve(reference).digest
    except ModuleError:
        return ""


def _wait_for_what_is_left(context: EnvironmentContext, record: RunRecord) -> None:
    """Terraform that outlived its run has the component's lock: it was interrupted, and ends in good order."""
    locks = context.services.locks
    with cancelling(context.services.cancel):
        for name in record.graph:
            while (locks.holder(record.environment, name) or {}).get("run") == record.id:
                if context.services.cancel.is_set():
                    raise Cancelled(f"run {record.id} was not resumed", f"a terraform of {name} is still finishing")
                time.sleep(LOOK_EVERY)


def _looked_at(context: EnvironmentContext, record: RunRecord) -> list[str]:
    """Each half-done component before the run goes on: a torn state is mended, and strays are named.

    What was created without being recorded will be created once more.
    """
    from saltform.features.recovery.strays import named  # what asks providers is not needed to go on with most runs
    from saltform.features.recovery.torn import mend_torn

    steps = [step for step in context.services.runlog.steps(record.id) if Status(step.status) in _HALF_DONE]
    steps = [step for step in steps if step.component in context.everything]
    for step in steps:
        component, before = context.component(step.component), context.records.get(step.component)
        if before is not None and not before.fingerprint:  # an apply of it did not end
            with context.services.locks.hold(context.name, component.name, record.id, record.author):
                mend_torn(context, component)
    return named(context, [step.component for step in steps])


def _deploy(context: EnvironmentContext, record: RunRecord) -> dict[str, Any]:
    return run_deploy(context, Options.parse(record.options), record)


def _destroy(context: EnvironmentContext, record: RunRecord) -> dict[str, Any]:
    return run_destroy(context, Options.parse(record.options), record)


def _promote(context: EnvironmentContext, record: RunRecord) -> dict[str, Any]:
    return promote.go_on(context, Options.parse(record.options), record)


def _rollback(context: EnvironmentContext, record: RunRecord) -> dict[str, Any]:
    if "run" in record.options:  # that it undoes
        return undo.execute(context, record.options, [], record)
    return rollback.go_on(context, record)


_VERBS: Mapping[str, Callable[[EnvironmentContext, RunRecord], dict[str, Any]]] = {
    "deploy": _deploy,
    "destroy": _destroy,
    "promote": _promote,
    "rollback": _rollback,
}
