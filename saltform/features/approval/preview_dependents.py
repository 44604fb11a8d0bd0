"""A run that waits for a person: what needs the waiting ones is planned ahead, so that one approval covers both."""

from __future__ import annotations

from saltform.engine.options import Options
from saltform.engine.run import PreviewDependents, Run
from saltform.features.approval import approving
from saltform.features.previews.planner import Planner
from saltform.runlog import StepRecord
from saltform.status import Status


def previews(run: Run, options: Options, destroy: bool = False) -> PreviewDependents:
    """What looks ahead for each component that needs one that awaits approval."""
    context, planner = run.context, Planner(run.context, options, destroy)
    waiting = [name for name, step in run.steps.items() if step.status == Status.AWAITING_APPROVAL.value]
    for name in waiting:
        planner.leave_unknown(name, run.steps[name].details.get("outputs", ()))

    def look(name: str, step: StepRecord) -> None:
        needs = [need for need in waiting if need in run.graph.closure([name])]
        if name in context.requests:  # shown before, and not decided or not expired
            found = approving.status_of_request(context, context.requests[name])
            approving.show_request(context, step, context.requests[name], found)
        elif approving.may_need_somebody(context, name):
            planner.step(name, step)
            if name not in planner.judged:
                return
            part, judged = planner.judged.pop(name)
            rule = context.environment.approval_of(name)
            why = approving.reasons(rule, step.details["changes"], judged)
            if not why or judged.plan is None:
                return
            approving.ask(part, None, judged.plan, why)
        else:
            outputs = context.module(context.component(name)).interface.outputs
            planner.leave_unknown(name, outputs)
            return
        step.status = Status.DEFERRED.value
        step.reason = f"planned again once {', '.join(needs)} is applied: approving it as shown covers that plan"

    return look
