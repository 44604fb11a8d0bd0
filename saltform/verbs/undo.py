"""Undoing what one run did: a run of its own, on record like any other, and resumable.

1. Only what the run has touched is looked at: components whose record names it. What it found unchanged is left
   alone.
2. What the run created is destroyed, a half-made component included. What it changed goes back to the last good
   release from before: module content, variables, provider lock and binary, planned and applied like any
   other change.
3. That is done in reverse order: nothing loses what it needs while it is still there as the run made it.
4. Then, in the order of a deploy, what went back is looked at once more: the outputs of what it needs went back after
   it did. Usually nothing is left to do.
5. A stateful component is kept with its data, and so is all it needs. Both are said.
6. What the run did not touch and what uses an output that is another one now is named, with what to do.
7. One that fails doesn't keep the others back, except for those that it still needs.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from saltform.engine.context import EnvironmentContext
from saltform.engine.options import Options
from saltform.engine.released import check_secrets, check_within_reach, needs_of
from saltform.engine.retry import retrying
from saltform.engine.run import Run, Work
from saltform.engine.services import Services
from saltform.engine.snapshot import forget_kept_plans
from saltform.engine.work import ComponentWork
from saltform.errors import EXIT_DONE, DataAtRisk
from saltform.features.releases.earlier import DESTROY
from saltform.features.releases.pillar_file import keep_in_pillar
from saltform.features.releases.stale_inputs import stale_inputs
from saltform.features.states.pillar_index import after_run
from saltform.graph import Graph
from saltform.runlog import RunRecord, StepRecord
from saltform.status import Status
from saltform.verbs.applying import plan_and_apply
from saltform.verbs.destroying import destroy_step, kept_with_data
from saltform.workspace.root import Unknown

_KEPT = (Status.SKIPPED.value, Status.UNCHANGED.value)


class _Undoing(Run):
    """A run over the reversed graph, and a second look at what went back."""

    def _pump(self, work: Work, names: list[str] | None = None) -> None:
        # Now that this run is on record: from here on this one can be resumed, and the other can't.
        services, undone = self.context.services, str(self.options["run"])
        services.runlog.set_rolled_back_by(undone, services.run_id)
        services.runlog.approvals.withdraw(undone)  # nobody has to decide what will not be done
        forget_kept_plans(services.layout.run(undone))
        super()._pump(work)
        self.context.forget_records()
        for name in self.graph.reversed_().order():
            step = self.steps.get(name)
            if step is not None and step.status in (Status.ROLLED_BACK.value, Status.DEFERRED.value):
                self.work_on(step, work)


def undo(done: EnvironmentContext, run: str) -> dict[str, Any]:
    """Roll back what the run has done to what it had opened; the rollback's own return."""
    services = done.services
    of = services.runlog.run(run)
    back, notes = _targets(services, of)
    # Sorted right behind the run it undoes, whatever clock that one's id came from: a run is undone once.
    mine = dataclasses.replace(services, run_id=f"{of.id}-rollback")
    with EnvironmentContext(mine, of.environment, promoted=done.promoted.wanted, look_at_files=False) as context:
        context.wait = done.wait
        return execute(context, {"run": of.id, "back": back}, notes)


def execute(
    context: EnvironmentContext, options: Mapping[str, Any], notes: list[str], resumed: RunRecord | None = None
) -> dict[str, Any]:
    """Bring each component of `options["back"]` to the release named there, or destroy it."""
    of, back = str(options["run"]), dict(options["back"])
    context.undoing = True
    records = context.records
    there = [name for name in back if name in records]
    graph = Graph.within({name: needs_of(context, records[name].release) for name in there})
    kept = kept_with_data(context, graph, [name for name in graph.needs if back[name][0] == DESTROY])
    notes = [
        *(resumed.notes if resumed else [f"undoes run {of}"]),
        *notes,
        *(f"{name}: {reason}" for name, reason in kept.items()),
    ]
    graph = graph.subset([name for name in graph.needs if name not in kept])
    mode, parallelism = "continue", context.environment.parallelism
    run = _Undoing(context, "rollback", graph.reversed_(), options, mode, parallelism, notes, resumed=resumed)
    touchable = {of, context.services.run_id}

    def work(name: str, step: StepRecord) -> Status:
        if context.records[name].run not in touchable:
            step.reason = f"left as it is: run {context.records[name].run} has changed it since"
            return Status.UNCHANGED
        release, binary = back[name]
        context.as_released(name, release or records[name].release, binary or records[name].binary_path)
        return _back(context, name, step) if release != DESTROY else remove_component(context, Options(), name, step)

    returned = run.execute(work)
    if run.stopped_by is not None:
        return returned  # what can't be written there can't be written here
    run.add_notes(*(f"{name}: {step.reason}" for name, step in run.steps.items() if step.status in _KEPT))
    if returned["retcode"] != EXIT_DONE:
        run.add_notes(_what_is_left(context, run))
    after_run(run)
    keep_in_pillar(context, returned)
    run.add_notes(*stale_inputs(context, run.steps))
    return returned


def remove_component(context: EnvironmentContext, options: Options, name: str, step: StepRecord) -> Status:
    """Destroy what was not there before; if it came by a promotion, that is undone, too."""
    status = destroy_step(context, options, name, step)
    if status is Status.AWAITING_APPROVAL:
        return status
    context.services.runlog.releases.forget_promoted(context.name, name)
    return status


def _targets(services: Services, of: RunRecord) -> tuple[dict[str, list[str]], list[str]]:
    """What each touched component goes back to, as [release, binary], and what can't go anywhere."""
    unchanged = {step.component for step in services.runlog.steps(of.id) if step.status == Status.UNCHANGED.value}
    back, notes = {}, []
    for name, record in services.runlog.components(of.environment).items():
        if record.run != of.id or name in unchanged:
            continue
        if record.born == of.id:
            back[name] = [DESTROY, ""]
        elif record.previous_release:
            back[name] = [record.previous_release, record.previous_binary]
        else:
            notes.append(f"{name}: left as it is: it was half made before, so there is no release to go back to")
    return back, notes


def _back(context: EnvironmentContext, name: str, step: StepRecord) -> Status:
    check_within_reach(context.releases[name])
    check_secrets(context.releases[name])
    component = context.component(name)
    inputs = context.inputs(component)
    if any(isinstance(item, Unknown) for item in inputs.values()):
        if step.status == Status.RUNNING.value:
            return Status.DEFERRED  # what it needs is still as the run made it, without that output
        inputs = context.known_inputs(component)  # which says what is missing
    part = ComponentWork(context, component, inputs, step)
    if part.unchanged():
        return Status.ROLLED_BACK
    with part.at_work() as session:

        def work() -> Status:
            part.prepare(session)
            # One that waits for minions is not settled here: the next deploy waits for it.
            return plan_and_apply(part, session, preserve_data=True, settle=component.converge is None)

        try:
            retrying(part, session, work)
        except DataAtRisk as error:
            step.reason = f"kept with its data, because it is stateful: {error.detail}"
            return Status.SKIPPED
    return Status.ROLLED_BACK


def _what_is_left(context: EnvironmentContext, run: Run) -> str:
    left = [
        f"{name} ({step.reason or step.status})" for name, step in run.steps.items() if not Status(step.status).good
    ]
    command = f"salt-run infrastructure.resume {context.services.run_id}"
    return f"not rolled back: {', '.join(left) or 'nothing'}; when the cause is gone: {command}"
