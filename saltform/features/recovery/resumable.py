"""Whether a run that stopped can go on: `resume` asks before it does, and others before they offer it."""

from __future__ import annotations

from saltform.engine.services import Services
from saltform.engine.snapshot import RESUMABLE
from saltform.errors import Locked, SaltformError
from saltform.features.states.renames import renamed_since
from saltform.runlog import ALL, RunRecord, StepRecord
from saltform.status import Status

STOPPED = ("failed", "cancelled", "waiting")
_CHANGED = (Status.APPLIED, Status.DESTROYED, Status.ROLLED_BACK, Status.CONVERGING)


def check_resumable(services: Services, record: RunRecord) -> None:
    """Say why a run can't be resumed or abandoned, if it can't."""
    if services.locks.run_alive(record.id):
        raise Locked(
            f"run {record.id} is still running",
            f"{record.verb} {record.environment} by {record.author}, process {record.pid} on {record.host}",
            f"wait for it, or: salt-run infrastructure.cancel {record.id}",
        )
    if record.verb not in RESUMABLE:
        raise _refused(record, f"a run of {record.verb} has nothing to go on with", f"run {record.verb} again")
    if record.status in ("done", "abandoned"):
        raise _refused(record, f"it is {record.status}", "")
    if record.rolled_back_by:
        fix = f"deploy again; or, if the rollback did not end: salt-run infrastructure.resume {record.rolled_back_by}"
        raise _refused(record, f"it was rolled back by run {record.rolled_back_by}", fix)
    check_not_overtaken(services, record)


def check_not_overtaken(services: Services, record: RunRecord) -> None:
    """Say why a run that stopped is history by now, if it is."""
    if services.locks.run_alive(record.id):
        return
    again = f"deploy again; salt-run infrastructure.abandon {record.id} puts it away"
    later = [
        item
        for item in services.runlog.runs(record.environment, ALL, verbs=RESUMABLE, after=record.started)
        if meant_to_change(item) and _in_the_way(services, record, item)
    ]
    if later:
        found = f"run {later[-1].id} ({later[-1].verb} by {later[-1].author}) came after it"
        raise _refused(record, found, again)
    became = renamed_since(services, record.environment, record.started)
    gone = [f"{old} became {became[old]} since" for old in record.graph if old in became]
    if gone:  # it would be built a second time
        raise _refused(record, ", ".join(gone), again)


def unfinished(services: Services, record: RunRecord) -> bool:
    """Whether a run stopped before it was through."""
    stopped = record.status in STOPPED or (record.status == "running" and not services.locks.run_alive(record.id))
    return stopped and record.verb in RESUMABLE and not record.rolled_back_by


def last_seen(services: Services, record: RunRecord) -> str:
    """The last moment of which there is a record."""
    steps = services.runlog.steps(record.id)
    return max([record.started, record.heartbeat, *(step.ended or step.started for step in steps)])


def meant_to_change(item: RunRecord) -> bool:
    """Whether a run that can be resumed was about changing something, and counts."""
    return item.status != "abandoned" and not item.options.get("dry_run")


def changed_components(services: Services, record: RunRecord) -> set[str]:
    """The components that a run has changed, or had begun to change when it stopped.

    One that was refused a lock, cancelled while it waited for one, or failed in its plan has changed nothing.
    """
    known = services.runlog.components(record.environment)

    def has_changed(step: StepRecord) -> bool:
        if Status(step.status) in _CHANGED or step.release and Status(step.status) is not Status.UNCHANGED:
            return True  # a step is given its release when its apply or destroy begins
        if step.status != Status.RUNNING.value:
            return False
        # What a killed step has not written down, its component's record has; a destroy takes that away.
        began = known.get(step.component)
        return record.verb in ("destroy", "rollback") if began is None else began.run == record.id

    return {step.component for step in services.runlog.steps(record.id) if has_changed(step)}


def _in_the_way(services: Services, record: RunRecord, later: RunRecord) -> bool:
    """Whether a later run changed something; of a run that waited for approval, one of the same components."""
    touched = changed_components(services, later)
    if services.locks.run_alive(later.id):
        touched |= {step.component for step in services.runlog.steps(later.id) if step.status == Status.RUNNING.value}
    return bool(touched & set(record.graph) if record.status == "waiting" else touched)


def _refused(record: RunRecord, detail: str, fix: str) -> SaltformError:
    return SaltformError(f"run {record.id} can't be resumed", detail, fix, run=record.id)
