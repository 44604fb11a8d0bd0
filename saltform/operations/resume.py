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
from saltform.errors import Cancelled, ModuleError, SaltformError, UnknownName
from saltform.operations import promote, rollback
from saltform.operations.deploy import run_deploy
from saltform.operations.destroy import run_destroy
from saltform.operations.environment.opened import Opened
from saltform.operations.fleet.minion_keys import HOSTS
from saltform.operations.run import auditing, undoing
from saltform.operations.run.options import Options, is_dry
from saltform.operations.run.result import result
from saltform.operations.run.resumable import STOPPED, check_resumable, last_seen, unfinished
from saltform.operations.run.running import DONE
from saltform.operations.run.services import Services
from saltform.operations.run.snapshot import RESUMABLE, Snapshot, gone_on_with, kept_part, read_snapshot, same
from saltform.runlog import ALL, RunRecord, now
from saltform.status import Status
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
    with Opened(mine, record.environment, snapshot.modules, snapshot.promoted, look_at_files=files) as opened:
        opened.requests = services.runlog.approvals.of_run(record.id)
        opened.decisions = services.runlog.approvals.decisions(record.id) if opened.requests else []
        steps = services.runlog.steps(record.id)
        opened.earlier = {
            step.component: (record.host, step.started, step.ended or max(record.heartbeat, step.started))
            for step in steps
        }
        opened.hosts_before = {step.component: step.details[HOSTS] for step in steps if HOSTS in step.details}
        _wait_for_what_is_left(opened, record)
        record.notes += _looked_at(opened, record)
        auditing.note(services, record.environment, "resume", record.id)
        return _VERBS[record.verb](opened, record)


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
        return Opened.modules_of(services).resolve(reference).digest
    except ModuleError:
        return ""


def _wait_for_what_is_left(opened: Opened, record: RunRecord) -> None:
    """Terraform that outlived its run has the component's lock: it was interrupted, and ends in good order."""
    locks = opened.services.locks
    with cancelling(opened.services.cancel):
        for name in record.graph:
            while (locks.holder(record.environment, name) or {}).get("run") == record.id:
                if opened.services.cancel.is_set():
                    raise Cancelled(f"run {record.id} was not resumed", f"a terraform of {name} is still finishing")
                time.sleep(LOOK_EVERY)


def _looked_at(opened: Opened, record: RunRecord) -> list[str]:
    """Each half-done component before the run goes on: a torn state is mended, and strays are named.

    What was created without being recorded will be created once more.
    """
    from saltform.operations.states.strays import named  # what asks providers is not needed to go on with most runs
    from saltform.operations.states.torn import mend_torn

    steps = [step for step in opened.services.runlog.steps(record.id) if Status(step.status) in _HALF_DONE]
    steps = [step for step in steps if step.component in opened.everything]
    for step in steps:
        component, before = opened.component(step.component), opened.records.get(step.component)
        if before is not None and not before.fingerprint:  # an apply of it did not end
            with opened.services.locks.hold(opened.name, component.name, record.id, record.author):
                mend_torn(opened, component)
    return named(opened, [step.component for step in steps])


def _deploy(opened: Opened, record: RunRecord) -> dict[str, Any]:
    return run_deploy(opened, Options.parse(record.options), record)


def _destroy(opened: Opened, record: RunRecord) -> dict[str, Any]:
    return run_destroy(opened, Options.parse(record.options), record)


def _promote(opened: Opened, record: RunRecord) -> dict[str, Any]:
    return promote.go_on(opened, Options.parse(record.options), record)


def _rollback(opened: Opened, record: RunRecord) -> dict[str, Any]:
    if "run" in record.options:  # that it undoes
        return undoing.execute(opened, record.options, [], record)
    return rollback.go_on(opened, record)


_VERBS: Mapping[str, Callable[[Opened, RunRecord], dict[str, Any]]] = {
    "deploy": _deploy,
    "destroy": _destroy,
    "promote": _promote,
    "rollback": _rollback,
}
