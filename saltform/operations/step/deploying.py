"""One component of a deploy that may not be as pillar says: locked, planned, applied, its fleet waited for."""

from __future__ import annotations

import dataclasses

from saltform.config.types import Converge
from saltform.operations.approval.approving import still_waiting
from saltform.operations.environment.renames import follow_rename
from saltform.operations.run.options import Options
from saltform.operations.run.running import Run
from saltform.operations.states.index import tell_minions, write_index
from saltform.operations.step.applying import plan_and_apply
from saltform.operations.step.part import Part
from saltform.operations.step.retrying import retrying
from saltform.runlog import StepRecord
from saltform.runlog.holding import Held
from saltform.status import Status
from saltform.workspace.root import address_in_root


def deploy_one(run: Run, options: Options, name: str, step: StepRecord) -> Status:
    opened = run.opened
    if still_waiting(opened, name, step):
        return Status.AWAITING_APPROVAL
    follow_rename(opened, name)
    component = opened.component(name)
    part = Part(opened, component, opened.known_inputs(component), step)
    replace = [
        address_in_root(address) for address in options.replace if name in opened.select(list(options.components))
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
    part: Part,
    held: Held,
    options: Options,
    unchanged: bool = False,
    replace: list[str] | None = None,
) -> Status:
    """Plan and apply under the component's lock, and wait for its fleet where it has one."""
    from saltform.operations.fleet import converging  # not for a run with nothing to do

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


def _converge(run: Run, part: Part, wanted: Converge, options: Options) -> None:
    """The lock is kept until the fleet is as it should be; only then is the component as pillar says."""
    from saltform.operations.fleet import converging

    write_index(run.opened, [part.component.name])
    tell_minions(run.opened, {part.step.component: dataclasses.replace(part.step, status=Status.APPLIED.value)})
    only = converging.created(part) if options.heal and not options.minions else None
    converging.converge(part, wanted, lambda missing: run.converging(part.step, missing), only)
    part.step.reason = ""
    part.record_applied()
