"""One component destroyed, as it was applied last; and which are not, because they hold data."""

from __future__ import annotations

from collections.abc import Iterable

from saltform.engine.context import EnvironmentContext
from saltform.engine.options import Options
from saltform.engine.orphans import lost_secrets
from saltform.engine.retry import retrying
from saltform.engine.work import ComponentWork
from saltform.features.approval.approving import recall_tokens, still_waiting
from saltform.features.minions.keys import forget_minions
from saltform.features.recovery import errored
from saltform.features.states.renames import follow_rename
from saltform.graph import Graph
from saltform.runlog import StepRecord
from saltform.status import Status
from saltform.verbs.applying import plan_and_apply


def kept_with_data(context: EnvironmentContext, graph: Graph, doomed: Iterable[str]) -> dict[str, str]:
    """Of what would be destroyed: what holds data and all that it needs, each with the reason why it stays."""
    holding = [name for name in doomed if _stateful(context, name) and context.resources(name)]
    kept = dict.fromkeys(holding, "kept with its data, because it is stateful")
    for name in sorted(graph.closure(holding) - set(holding)):
        needed_by = ", ".join(item for item in holding if name in graph.closure([item]))
        kept[name] = f"kept as it is, because {needed_by} needs it"
    return kept


def _stateful(context: EnvironmentContext, name: str) -> bool:
    """By what pillar says of it now, or by what it was made of."""
    record = context.records.get(context.stored_as(name))
    made_of = context.services.runlog.release(record.release) if record else {"stateful": False}
    return bool(context.component(name).stateful or made_of["stateful"])


def destroy_step(context: EnvironmentContext, options: Options, name: str, step: StepRecord) -> Status:
    """Destroy one component, as it was applied last."""
    if still_waiting(context, name, step):
        return Status.AWAITING_APPROVAL
    follow_rename(context, name)
    component = context.component(name)
    empty = not context.resources(name) and not errored.left(context.services.layout, context.name, name)
    if empty and _nothing_there(context, name, step):
        step.reason = "nothing there"
        return Status.UNCHANGED
    part = ComponentWork(context, component, {**context.inputs(component), **lost_secrets(context, name)}, step)
    recall_tokens(part)
    with part.at_work() as session:

        def work() -> Status:
            part.prepare(session)
            return plan_and_apply(part, session, options.preserve_data, destroy=True)

        status = retrying(part, session, work)
        if status is not Status.AWAITING_APPROVAL:
            forget_minions(part)
            part.record_destroyed()
    return status if status is Status.AWAITING_APPROVAL else Status.DESTROYED


def _nothing_there(context: EnvironmentContext, name: str, step: StepRecord) -> bool:
    """Forget a component that has nothing, under its lock: a first apply that is under way has no state yet."""
    if name in context.records:
        part = ComponentWork(context, context.component(name), {}, step)
        with part.locked():
            if context.resources(name):
                return False
            forget_minions(part)
            part.record_destroyed()
    return True
