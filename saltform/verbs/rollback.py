"""rollback: earlier releases applied again, through plan, policy and approval like any other change.

1. Where to: how a run left the environment (`to=RUN`), an earlier release of one component (`to=RELEASE`), or,
   without `to`, how everything was before the last run that changed something.
2. What was there then goes back, what it needs first. What was not there then is destroyed: after everything that
   needs it by now went back, and before what it needs itself goes back, as long as that makes no circle.
3. It goes in stages, the layers of that order. After each, the outputs must be readable and the environment's
   `health:` must hold; otherwise nothing more starts.
4. A stateful component that would be destroyed is kept with all it needs; one that would lose something by going back
   is kept as it is. Both are named, and those beside it go back.
5. Where the older provider can't read the state that a newer one has written, the newer lock is kept and that is
   said.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from saltform.config import select
from saltform.engine.context import EnvironmentContext
from saltform.engine.options import Options
from saltform.engine.released import check_secrets, check_within_reach, needs_of, released
from saltform.engine.result import result
from saltform.engine.run import Run, Work
from saltform.engine.selection import check_binaries
from saltform.engine.services import Services
from saltform.engine.work import ComponentWork
from saltform.errors import DataAtRisk, TerraformError
from saltform.features.approval.approving import recall_tokens, still_waiting
from saltform.features.minions.health import unwell
from saltform.features.previews.planner import Planner
from saltform.features.releases.earlier import DESTROY, Back, Goal, back_to
from saltform.features.releases.pillar_file import keep_in_pillar, refuse_edited
from saltform.features.releases.stale_inputs import stale_inputs
from saltform.features.states.foreign import refuse_foreign
from saltform.features.states.pillar_index import after_run
from saltform.graph import Graph
from saltform.runlog import RunRecord, StepRecord
from saltform.status import Status
from saltform.verbs.deploying import apply_part
from saltform.verbs.destroying import kept_with_data
from saltform.verbs.undo import remove_component
from saltform.workspace.root import address_in_module

_NEWER_STATE = "Resource instance managed by newer provider version"


class _Staged(Run):
    """A run in stages, each followed by a check."""

    def _pump(self, work: Work, names: list[str] | None = None) -> None:
        layers = self.graph.layers()
        for number, layer in enumerate(layers, start=1):
            super()._pump(work, [name for name in layer if name not in self.steps])
            health = self.context.environment.health
            trouble = unwell(self.context.services, health) if health and self._well(layer) else ""
            if trouble:
                self.trouble = f"after stage {number} of {len(layers)}: {trouble}"
            if not self._well(layer) or trouble:
                waits = any(self.steps[name].status == Status.AWAITING_APPROVAL.value for name in layer)
                rest = [name for later in layers[number:] for name in later if name not in self.steps]
                if waits:
                    self.leave_pending([StepRecord(name, reason=f"comes after stage {number}") for name in rest])
                else:
                    self.leave_out(rest, self.trouble or f"stage {number} of {len(layers)} did not end well")
                return

    def _well(self, layer: list[str]) -> bool:
        return not self.context.services.cancel.is_set() and all(
            name in self.steps and Status(self.steps[name].status).good for name in layer
        )


def rollback(services: Services, environment: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Bring an environment, or the named components, back to what they were."""
    options = Options.parse(given)
    with EnvironmentContext(services, environment, look_at_files=False) as context:
        goal = back_to(context, options.to, options.components)
        back = {name: goal.then[name] for name in _chosen(context, options, goal)}
        if not back:
            said = f"rollback {environment}: nothing to do, it is {goal.said}"
            return result("rollback", environment=environment, summary=said, steps={}, notes=[])
        if not options.dry_run:
            refuse_edited(context)
        return execute(context, options, back, [f"back to {goal.said}"])


def _chosen(context: EnvironmentContext, options: Options, goal: Goal) -> list[str]:
    """The named ones; or all that differ, and those that need one of them: what they get from it may differ, too."""
    if options.components:
        return select(list(options.components), goal.then)
    needs = {name: needs_of(context, release) for name, (release, _) in goal.then.items() if release != DESTROY}
    above = Graph.within(needs).dependents([name for name in goal.differing if name in needs])
    return [name for name in goal.then if name in goal.differing or name in above]


def go_on(context: EnvironmentContext, record: RunRecord) -> dict[str, Any]:
    """A rollback that stopped: with the goal that it had."""
    given = dict(record.options)
    back = given.pop("back")
    return execute(context, Options.parse(given), back, [], record)


def execute(
    context: EnvironmentContext, options: Options, back: Back, notes: list[str], resumed: RunRecord | None = None
) -> dict[str, Any]:
    """Bring each component to the release named in `back`, or destroy it."""
    context.wait = options.wait
    doomed = [name for name, (release, _) in back.items() if release == DESTROY and name in context.records]
    staying = [name for name, (release, _) in back.items() if release != DESTROY]
    now = {name: needs_of(context, context.records[name].release) for name in context.records}
    kept = kept_with_data(context, Graph.within(now), doomed) if options.preserve_data else {}
    doomed = [name for name in doomed if name not in kept]
    then = {name: needs_of(context, back[name][0]) for name in staying if name not in kept}
    run = (Run if options.dry_run else _Staged)(
        context,
        "rollback",
        _order(then, now, doomed),
        {**dataclasses.asdict(options), "back": back},
        "continue" if options.dry_run else "stop",
        options.parallelism or context.environment.parallelism,
        [*(resumed.notes if resumed else notes), *(f"{name}: {reason}" for name, reason in kept.items())],
        resumed=resumed,
    )
    planner = Planner(context, Options())

    def made_of(name: str) -> tuple[str, str]:
        (release, binary), record = back[name], context.records.get(name)
        return release or (record.release if record else ""), binary or (record.binary_path if record else "auto")

    def work(name: str, step: StepRecord) -> Status:
        release, _ = back[name]
        context.as_released(name, *made_of(name))
        if options.dry_run:
            return _would_go(context, name, step) if release == DESTROY else planner.step(name, step)
        return (
            remove_component(context, options, name, step)
            if release == DESTROY
            else _go_back(run, options, name, step)
        )

    if not options.dry_run:
        check_binaries(context, [released(context, name, *made_of(name)).component for name in run.graph.needs])
    returned = run.execute(work)
    if not options.dry_run and run.stopped_by is None:
        run.add_notes(*_afterwards(context, run))
        after_run(run)
        keep_in_pillar(context, returned)
        run.add_notes(*stale_inputs(context, run.steps))
    return returned


def _order(then: Mapping[str, list[str]], now: Mapping[str, list[str]], doomed: list[str]) -> Graph:
    """What goes back after what it needs then; what goes away after what needs it now."""
    edges = {name: list(needs) for name, needs in Graph.within(then).needs.items()}
    for name in doomed:
        edges[name] = [other for other in (*then, *doomed) if name in now.get(other, ())]
    for name in doomed:
        for need in now[name]:
            # It should be gone before what it needs goes back, unless somebody in between can't do without both.
            if need in then and not Graph({**edges, need: [*edges[need], name]}).find_cycle():
                edges[need].append(name)
    return Graph(edges)


def _go_back(run: Run, options: Options, name: str, step: StepRecord) -> Status:
    context = run.context
    if still_waiting(context, name, step):
        return Status.AWAITING_APPROVAL
    check_within_reach(context.releases[name])
    check_secrets(context.releases[name])
    if _part(context, name, step).unchanged():
        return Status.UNCHANGED
    try:
        try:
            status = _apply(run, options, name, step)
        except TerraformError as error:
            if not (_newer_state(error) and _keep_newer_lock(context, name)):
                raise
            step.reason = "with the newer provider lock: the older provider can't read the state"
            status = _apply(run, options, name, step)
    except DataAtRisk as error:
        # Good enough for those that need it: it is there, and as it was.
        step.reason = f"kept with its data, because it is stateful: {error.detail}"
        return Status.UNCHANGED
    context.outputs(name)  # the check of this component: they can be read
    return Status.ROLLED_BACK if status in (Status.APPLIED, Status.UNCHANGED) else status


def _apply(run: Run, options: Options, name: str, step: StepRecord) -> Status:
    part = _part(run.context, name, step)
    recall_tokens(part)
    with part.locked() as held:
        return apply_part(run, part, held, options)


def _part(context: EnvironmentContext, name: str, step: StepRecord) -> ComponentWork:
    component = context.component(name)
    return ComponentWork(context, component, context.known_inputs(component), step)


def _newer_state(error: TerraformError) -> bool:
    return any(item.get("summary") == _NEWER_STATE for item in error.diagnostics)


def _keep_newer_lock(context: EnvironmentContext, name: str) -> bool:
    """From now on the component has the lock that it has today; False when that is the one it has already."""
    record, item = context.records.get(name), context.releases[name]
    if record is None:
        return False
    today = context.services.runlog.release(record.release)["provider_lock"]
    if today == item.content["provider_lock"]:
        return False
    content = {**item.content, "provider_lock": today}
    context.releases[name] = dataclasses.replace(item, content=content)
    return True


def _would_go(context: EnvironmentContext, name: str, step: StepRecord) -> Status:
    refuse_foreign(context, context.stored_as(name))
    there = [address_in_module(item) for item in context.resources(name)]
    step.details["counts"] = {"remove": len(there)}
    step.details["changes"] = [{"address": address, "action": "delete"} for address in there]
    step.reason = "" if there else "nothing there"
    return Status.PLANNED if there else Status.UNCHANGED


def _afterwards(context: EnvironmentContext, run: Run) -> list[str]:
    unchanged = {name: step for name, step in run.steps.items() if step.status == Status.UNCHANGED.value}
    notes = [f"{name}: {step.reason}" for name, step in unchanged.items() if step.reason]
    if not context.environment.promoted_from and any(
        step.status == Status.ROLLED_BACK.value for step in run.steps.values()
    ):
        notes.append("pillar and modules still say what they said: the next deploy brings that back")
    return notes
