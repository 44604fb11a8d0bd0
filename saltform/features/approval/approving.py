"""Between judging a plan and applying it: does it need a person, has one agreed, and is it still what they agreed to?

1. A plan that needs nobody is applied at once.
2. One that does is kept, encrypted, with a digest of its file and of what it means; its step awaits approval, and
   nothing waits for it: the run ends, and goes on when somebody resumes it.
3. In a run that goes on, one that is not decided still awaits, one that was rejected fails, and one that was approved
   is applied: that very file, as long as state and release are where they were and it is fresh enough.
4. Otherwise it is planned again. The approval stands if the new plan only refines the approved one and no policy
   wants a person for something new; if not, the new plan awaits approval.
5. What needs a component that awaits is planned with what is known, where it would need a person too: approving such
   a preview covers the plan that is made later, if that only refines it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from saltform.config.approval import ALWAYS, CHANGES, DESTRUCTIVE, NEVER, Approval
from saltform.engine.context import EnvironmentContext
from saltform.engine.judging import Judged
from saltform.engine.plan_values import note_values, read_plan
from saltform.engine.work import ComponentWork
from saltform.errors import ApprovalRefused, Cancelled
from saltform.features.approval.approvers import who_may_approve
from saltform.features.approval.request_status import CLOCK, EXPIRED, TURNED_DOWN, WAITING, RequestStatus, standing
from saltform.features.minions.keys import digest as token_digest
from saltform.plan import Plan, digest, refines
from saltform.policy.verdicts import APPROVE
from saltform.runlog import StepRecord, now, seconds_between
from saltform.runlog.approvals import Request
from saltform.terraform import planning
from saltform.terraform.session import Session

if TYPE_CHECKING:
    from saltform.features.approval.kept_plans import KeptPlans

_DESTRUCTIVE = ("delete", "replace", "forget")


def still_waiting(context: EnvironmentContext, name: str, step: StepRecord) -> bool:
    """In a run that goes on: whether a component is not decided yet, so that nothing is started for it."""
    request = context.requests.get(name)
    if request is None:
        return False
    found = status_of_request(context, request)
    if found.word == TURNED_DOWN:
        # Not a failure: what was approved goes on, and nothing is rolled back.
        raise Cancelled(f"the plan of {name} was rejected", found.why, "deploy again to ask for something else")
    if found.word == CLOCK:
        fix = f"set this host's clock, then: salt-run infrastructure.resume {request.run}"
        raise ApprovalRefused(f"nobody can say whether the approval of {name} counts", found.why, fix)
    if found.word == EXPIRED:
        del context.requests[name]  # planned and asked anew
    if found.word == WAITING and request.plan:
        show_request(context, step, request, found)
        return True
    return False


def restored(part: ComponentWork, plan_file: Path) -> bool:
    """Whether the very plan that was approved can be applied; it is where it has to be then."""
    request = part.context.requests.get(part.component.name)
    if request is None or not request.plan or not _fits(part, request):
        return False
    found = status_of_request(part.context, request)
    if not found.granted:
        return False
    _kept(part.context).restore(request, plan_file)
    part.step.details.update(request.details)
    part.step.details["approved_by"] = list(found.approved_by)
    return True


def must_wait(
    part: ComponentWork, session: Session, plan_file: Path, stream: planning.PlanStream, judged: Judged
) -> bool:
    """Whether a person has to agree first. If so, they are asked."""
    context = part.context
    why = reasons(_rule(context, part.component.name), stream.changes, judged)
    if context.undoing or not why:
        return False
    plan = judged.plan or read_plan(part, session, plan_file)
    request = context.requests.get(part.component.name)
    found = status_of_request(context, request) if request is not None else None
    if request is not None and found is not None and found.granted:
        if covers(request, _kept(context).meaning(request, context.digest_key), plan, judged):
            part.step.details["approved_by"] = list(found.approved_by)
            return False
        why = ["what would be done now is not what was approved", *why]
    ask(part, plan_file, plan, why)
    return True


def reasons(rule: Approval, changes: list[dict[str, Any]], judged: Judged) -> list[str]:
    """Why a person has to agree to a plan that changes something; nothing when nobody has to."""
    actions = [change["action"] for change in changes]
    found = [f"{verdict.address} {verdict.why} ({verdict.rule})".strip() for verdict in judged.of_level(APPROVE)]
    if rule.when == ALWAYS:
        found.append("everything is approved here")
    elif rule.when == CHANGES and actions:
        found.append("changes are approved here")
    elif rule.when == DESTRUCTIVE and set(actions) & set(_DESTRUCTIVE):
        found.append("what destroys something is approved here")
    return found if rule.when != NEVER else []


def may_need_somebody(context: EnvironmentContext, name: str) -> bool:
    """Whether a plan of this component could need a person at all: a preview is only made then."""
    when = _rule(context, name).when
    return when in (DESTRUCTIVE, CHANGES, ALWAYS) or (when != NEVER and context.judge.can_ask)


def covers(request: Request, approved: Plan, later: Plan, judged: Judged) -> bool:
    """Whether the approval of one plan is an approval of the later one, too."""
    known = {(each["rule"], each["address"]) for each in request.details.get("verdicts", ())}
    new = [each for each in judged.of_level(APPROVE) if (each.rule, each.address) not in known]
    return not new and refines(approved, later)


def ask(part: ComponentWork, plan_file: Path | None, plan: Plan, why: list[str]) -> None:
    """Put the plan away and on record as something that a person has to agree to. Without a file it is a preview."""
    context, name, head = part.context, part.component.name, part.head
    note_values(part.step, plan)
    part.step.details["why"] = why
    request = Request(
        run=context.services.run_id,
        component=name,
        environment=context.name,
        plan=_kept(context).keep(name, plan_file, plan, part.tokens),
        digest=digest(plan, context.digest_key),
        fingerprint=part.fingerprint if plan_file else "",
        serial=head.serial if head else 0,
        lineage=head.lineage if head else "",
        details=dict(part.step.details),
        asked=now(),
        expires=now(_rule(context, name).expires),
    )
    context.services.runlog.approvals.ask(request)
    show_request(context, part.step, request, RequestStatus(WAITING))


def show_request(context: EnvironmentContext, step: StepRecord, request: Request, found: RequestStatus) -> None:
    """What waits, for whom and until when, in the step."""
    rule = _rule(context, request.component)
    step.details.update(request.details)
    step.details["approval"] = request_entry(request, rule, found)
    command = f"salt-run infrastructure.approve {request.run}"
    step.reason = f"{'; '.join(request.details['why'])}: {whom(rule)}: {command}"


def request_entry(request: Request, rule: Approval, found: RequestStatus) -> dict[str, Any]:
    """A request as it stands in returns and events."""
    entry = {
        "why": request.details["why"],
        "by": list(rule.by),
        "count": rule.count,
        "approved_by": list(found.approved_by),
        "asked": request.asked,
        "expires": request.expires,
        "preview": not request.plan,
        "digest": request.digest,
    }
    return entry | ({"note": found.why} if found.why else {})


def whom(rule: Approval) -> str:
    """Who has to act, in words."""
    approvers = f"{rule.count} of {', '.join(rule.by)}" if rule.count > 1 else " or ".join(rule.by)
    return f"{approvers or ('anybody' if rule.count == 1 else f'{rule.count} approvers')} can approve"


def forget(context: EnvironmentContext, name: str) -> None:
    """Applied: the plan file is gone, and nobody has to decide any more."""
    if name in context.requests:
        context.services.runlog.approvals.withdraw(context.services.run_id, name)
        _kept(context).forget(name)


def recall_tokens(part: ComponentWork) -> None:
    """Minion → the token in the plan that was shown, unless it was good once: then an instance may have it."""
    request, log = part.context.requests.get(part.component.name), part.services.runlog.minions
    if request is None or not part.component.minions:
        return
    tokens = _kept(part.context).tokens(request)
    was_good = {
        minion for minion, token in tokens.items() if (known := log.token(token_digest(token))) and known.expires
    }
    part.kept_tokens = {minion: token for minion, token in tokens.items() if minion not in was_good}


def status_of_request(context: EnvironmentContext, request: Request) -> RequestStatus:
    """By pillar as it is now, of which a run that goes on reads who may approve anew."""
    rule, services = _rule(context, request.component), context.services
    allowed = who_may_approve(services, rule, services.author, context.name)
    return standing(request, context.decisions, rule, allowed, now())


def _rule(context: EnvironmentContext, name: str) -> Approval:
    return context.environment.approval_of(name)


def _kept(context: EnvironmentContext) -> KeptPlans:
    from saltform.features.approval.kept_plans import KeptPlans  # cryptography: only when a person is asked

    return KeptPlans(context.services.layout, context.services.run_id)


def _fits(part: ComponentWork, request: Request) -> bool:
    """State and release are where they were, and the plan is not too old."""
    head = part.head
    where = (head.serial, head.lineage) if head else (0, "")
    fresh = seconds_between(request.asked, now()) <= _rule(part.context, request.component).fresh_for
    return fresh and where == (request.serial, request.lineage) and part.fingerprint == request.fingerprint
