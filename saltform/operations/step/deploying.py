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
    if unchanged and not options.refresh and not replace:
        return Status.UNCHANGED
    with part.locked() as held:
        if part.waited and not options.refresh and not replace and part.unchanged():
            return Status.UNCHANGED  # the run that it waited for has done it
        return apply_part(run, part, held, options.preserve_data, unchanged, replace)


def apply_part(
    run: Run,
    part: Part,
    held: Held,
    preserve_data: bool,
    unchanged: bool = False,
    replace: list[str] | None = None,
) -> Status:
    """Plan and apply under the component's lock, and wait for its fleet where it has one."""
    converge = part.component.converge
    with part.equipped(held.descriptors) as session:

        def work() -> Status:
            part.prepare(session)
            settle = unchanged or converge is None
            return plan_and_apply(part, session, preserve_data, replace=replace, settle=settle)

        status = retrying(part, session, work)
    as_it_was = unchanged and status is Status.UNCHANGED
    if converge is not None and status.terminal and not as_it_was:
        _converge(run, part, converge)
    return status


def _converge(run: Run, part: Part, wanted: Converge) -> None:
    """The lock is kept until the fleet is as it should be; only then is the component as pillar says."""
    from saltform.operations.fleet.converging import converge  # only for who has the key

    write_index(run.opened, [part.component.name])
    tell_minions(run.opened, {part.step.component: dataclasses.replace(part.step, status=Status.APPLIED.value)})
    converge(part, wanted, lambda missing: run.converging(part.step, missing))
    part.step.reason = ""
    part.record_applied()
