"""A run that waits for a person: what needs the waiting ones is planned ahead, so that one approval covers both."""

from __future__ import annotations

from saltform.operations.approval import approving
from saltform.operations.run.options import Options
from saltform.operations.run.running import Foresee, Run
from saltform.operations.step.planner import Planner
from saltform.runlog import StepRecord
from saltform.status import Status


def previews(run: Run, options: Options, destroy: bool = False) -> Foresee:
    """What looks ahead for each component that needs one that awaits approval."""
    opened, planner = run.opened, Planner(run.opened, options, destroy)
    waiting = [name for name, step in run.steps.items() if step.status == Status.AWAITING_APPROVAL.value]
    for name in waiting:
        planner.leave_unknown(name, run.steps[name].details.get("outputs", ()))

    def look(name: str, step: StepRecord) -> None:
        needs = [need for need in waiting if need in run.graph.closure([name])]
        if name in opened.requests:  # shown before, and not decided or not expired
            found = approving.standing_of(opened, opened.requests[name])
            approving.show_request(opened, step, opened.requests[name], found)
        elif approving.may_need_somebody(opened, name):
            planner.step(name, step)
            if name not in planner.judged:
                return
            part, judged = planner.judged.pop(name)
            rule = opened.environment.approval_of(name)
            why = approving.reasons(rule, step.details["changes"], judged)
            if not why or judged.plan is None:
                return
            approving.ask(part, None, judged.plan, why)
        else:
            outputs = opened.module(opened.component(name)).interface.outputs
            planner.leave_unknown(name, outputs)
            return
        step.status = Status.DEFERRED.value
        step.reason = f"planned again once {', '.join(needs)} is applied: approving it as shown covers that plan"

    return look
