"""One component of a deploy that may not be as pillar says: locked, planned, applied, its minions waited for."""

from __future__ import annotations

import dataclasses

from saltform.config.types import Converge
from saltform.engine.options import Options
from saltform.engine.retry import retrying
from saltform.engine.run import Run
from saltform.engine.work import ComponentWork
from saltform.features.approval.approving import recall_tokens, still_waiting
from saltform.features.states.pillar_index import tell_minions, write_index
from saltform.features.states.renames import follow_rename
from saltform.runlog import StepRecord
from saltform.runlog.locks import LockLease
from saltform.status import Status
from saltform.verbs.applying import plan_and_apply
from saltform.workspace.root import address_in_root


def deploy_one(run: Run, options: Options, name: str, step: StepRecord) -> Status:
    context = run.context
    if still_waiting(context, name, step):
        return Status.AWAITING_APPROVAL
    follow_rename(context, name)
    component = context.component(name)
    part = ComponentWork(context, component, context.known_inputs(component), step)
    recall_tokens(part)
    replace = [
        address_in_root(address) for address in options.replace if name in context.select(list(options.components))
    ]
    unchanged = part.unchanged()
    looks = options.refresh or replace or options.minions
    if unchanged and not looks:
        return Status.UNCHANGED
    with part.locked() as held:
        if part.waited and not looks and part.unchanged():
            return Status.UNCHANGED  # the run that it waited for has done it
        return apply_part(run, part, held, options, unchanged, replace)


def apply_part(
    run: Run,
    part: ComponentWork,
    held: LockLease,
    options: Options,
    unchanged: bool = False,
    replace: list[str] | None = None,
) -> Status:
    """Plan and apply under the component's lock, and wait for its minions where it has one."""
    from saltform.features.minions import converging  # not for a run with nothing to do

    converge = converging.wanted_of(part.component, options)
    if options.heal and converge is not None:
        converging.note_hosts(part)
    with part.equipped(held.descriptors) as session:

        def work() -> Status:
            part.prepare(session)
            settle = part.component.converge is None
            return plan_and_apply(part, session, options.preserve_data, replace=replace, settle=settle)

        status = retrying(part, session, work)
    as_it_was = unchanged and status is Status.UNCHANGED and not options.minions
    if converge is not None and status.terminal and not as_it_was:
        if part.component.converge is not None and status is Status.UNCHANGED:
            part.record_before_apply(part.head)  # half done until it has converged, as after an apply
        _converge(run, part, converge, options)
    return status


def _converge(run: Run, part: ComponentWork, wanted: Converge, options: Options) -> None:
    """The lock is kept until the minions are as they should be; only then is the component as pillar says."""
    from saltform.features.minions import converging

    write_index(run.context, [part.component.name])
    tell_minions(run.context, {part.step.component: dataclasses.replace(part.step, status=Status.APPLIED.value)})
    only = converging.created(part) if options.heal and not options.minions else None
    converging.converge(part, wanted, lambda missing: run.converging(part.step, missing), only)
    part.step.reason = ""
    part.record_applied()
