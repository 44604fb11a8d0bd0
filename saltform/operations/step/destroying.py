"""One component destroyed, as it was applied last; and which are not, because they hold data."""

from __future__ import annotations

from collections.abc import Iterable

from saltform.graph import Graph
from saltform.operations.approval.approving import still_waiting
from saltform.operations.environment.opened import Opened
from saltform.operations.environment.orphans import lost_secrets
from saltform.operations.environment.renames import follow_rename
from saltform.operations.fleet.minion_keys import forget_minions
from saltform.operations.run.options import Options
from saltform.operations.states import errored
from saltform.operations.step.applying import plan_and_apply
from saltform.operations.step.part import Part
from saltform.operations.step.retrying import retrying
from saltform.runlog import StepRecord
from saltform.status import Status


def kept_with_data(opened: Opened, graph: Graph, doomed: Iterable[str]) -> dict[str, str]:
    """Of what would be destroyed: what holds data and all that it needs, each with the reason why it stays."""
    holding = [name for name in doomed if _stateful(opened, name) and opened.resources(name)]
    kept = dict.fromkeys(holding, "kept with its data, because it is stateful")
    for name in sorted(graph.closure(holding) - set(holding)):
        needed_by = ", ".join(item for item in holding if name in graph.closure([item]))
        kept[name] = f"kept as it is, because {needed_by} needs it"
    return kept


def _stateful(opened: Opened, name: str) -> bool:
    """By what pillar says of it now, or by what it was made of."""
    record = opened.records.get(opened.stored_as(name))
    made_of = opened.services.runlog.release(record.release) if record else {"stateful": False}
    return bool(opened.component(name).stateful or made_of["stateful"])


def destroy_step(opened: Opened, options: Options, name: str, step: StepRecord) -> Status:
    """Destroy one component, as it was applied last."""
    if still_waiting(opened, name, step):
        return Status.AWAITING_APPROVAL
    follow_rename(opened, name)
    component = opened.component(name)
    empty = not opened.resources(name) and not errored.left(opened.services.layout, opened.name, name)
    if empty and _nothing_there(opened, name, step):
        step.reason = "nothing there"
        return Status.UNCHANGED
    part = Part(opened, component, {**opened.inputs(component), **lost_secrets(opened, name)}, step)
    with part.at_work() as session:

        def work() -> Status:
            part.prepare(session)
            return plan_and_apply(part, session, options.preserve_data, destroy=True)

        status = retrying(part, session, work)
        if status is not Status.AWAITING_APPROVAL:
            forget_minions(part)
            part.record_destroyed()
    return status if status is Status.AWAITING_APPROVAL else Status.DESTROYED


def _nothing_there(opened: Opened, name: str, step: StepRecord) -> bool:
    """Forget a component that has nothing, under its lock: a first apply that is under way has no state yet."""
    if name in opened.records:
        part = Part(opened, opened.component(name), {}, step)
        with part.locked():
            if opened.resources(name):
                return False
            forget_minions(part)
            part.record_destroyed()
    return True
