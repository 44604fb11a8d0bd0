"""Plan, judge, apply the same plan: the one way in which anything is changed."""

from __future__ import annotations

import dataclasses
import hashlib
from pathlib import Path

from saltform.engine import audit
from saltform.engine.plan_values import note_plan
from saltform.engine.work import ComponentWork
from saltform.errors import DataAtRisk, SaltformError
from saltform.features.minions.keys import follow_instances, instances, issue_tokens, propose_tokens
from saltform.features.recovery.errored import mend, say_what_was_left
from saltform.features.states.foreign import refuse_foreign
from saltform.report.activity import Doing
from saltform.status import Status
from saltform.terraform import apply, planning
from saltform.terraform.session import Session
from saltform.workspace.root import Unknown, address_in_module


def plan_and_apply(
    part: ComponentWork,
    session: Session,
    preserve_data: bool,
    *,
    destroy: bool = False,
    replace: list[str] | None = None,
    settle: bool = True,
) -> Status:
    """Plan into a file, judge it, and apply exactly that file. The file is gone afterwards, whatever happened.

    Unless it is to `settle`, it stays on record as half done: the caller says when it is as it should be.
    """
    from saltform.features.approval import approving  # a run without changes doesn't pay for it

    plan_file = session.workspace / ".plan"
    mend(part, session)
    refuse_foreign(part.context, part.component.name)
    try:
        if not approving.restored(part, plan_file):
            ended = _plan(part, session, plan_file, preserve_data, destroy, replace, settle)
            if ended is not None:
                return ended
        refuse_foreign(part.context, part.component.name, fetch=False)
        before = part.head
        hosts = instances(part.context, part.component.name)
        tokens = [] if destroy else issue_tokens(part)
        part.record_before_destroy(before) if destroy else part.record_before_apply(before)
        part.keep_state_version()
        audit_before_apply(part, plan_file)
        part.tell("applying")
        deletes = any(change["action"] in ("delete", "replace") for change in part.step.details["changes"])
        at_work = dataclasses.replace(part.renewed(session), deletes=deletes)
        try:
            applied = apply.run(at_work, plan_file, on_event=Doing(part.tell, address_in_module))
        except SaltformError as error:
            say_what_was_left(part, session, before, error)
            raise
    finally:
        plan_file.unlink(missing_ok=True)
    part.step.details["counts"] = applied.counts
    part.step.exit_code = 0
    approving.forget(part.context, part.component.name)
    if not destroy:
        follow_instances(part, hosts, tokens)
    if settle and not destroy:
        part.record_applied()
    return Status.DESTROYED if destroy else Status.APPLIED


def _plan(
    part: ComponentWork,
    session: Session,
    plan_file: Path,
    preserve_data: bool,
    destroy: bool,
    replace: list[str] | None,
    settle: bool,
) -> Status | None:
    """Plan and judge. How the step ends if there is nothing to apply, or nothing to apply yet."""
    from saltform.engine.judging import judge_before_apply
    from saltform.features.approval import approving

    part.tell("planning")
    # A value that is gone with its upstream can't be evaluated, and a destroy without a refresh doesn't have to.
    refresh = not any(isinstance(item, Unknown) for item in part.inputs.values())
    stream = planning.run(session, plan_file, refresh=refresh, destroy=destroy, replace=replace or ())
    note_plan(part.step, stream)
    if not stream.changed:
        if settle and not destroy:
            part.record_applied()
        return Status.UNCHANGED
    if preserve_data:
        guard_data(part, stream)
    judged = judge_before_apply(part, session, plan_file, stream, destroy)
    if part.tokens and not destroy:
        propose_tokens(part)
    waits = approving.must_wait(part, session, plan_file, stream, judged)
    return Status.AWAITING_APPROVAL if waits else None


def audit_before_apply(part: ComponentWork, plan_file: Path) -> None:
    """Before it happens: what is about to be applied is in the audit, whatever becomes of this process."""
    step = part.step
    audit.note(
        part.services,
        part.component.environment,
        "apply",
        component=part.component.name,
        plan=hashlib.sha256(plan_file.read_bytes()).hexdigest(),
        counts=step.details["counts"],
        release=step.release,
        **{name: step.details[name] for name in ("approved_by",) if step.details.get(name)},
    )


def guard_data(part: ComponentWork, stream: planning.PlanStream) -> None:
    """`stateful` wins over everything: what such a component holds is never deleted or replaced by itself."""
    doomed = [change for change in stream.changes if change["action"] in ("delete", "replace")]
    if part.component.stateful and doomed:
        listed = ", ".join(f"{change['action']} {address_in_module(change['address'])}" for change in doomed)
        raise DataAtRisk(
            f"{part.component.name} is stateful: refused to delete what it holds",
            f"the plan would {listed}",
            "if the data may go: the same command with preserve_data=False",
        )
