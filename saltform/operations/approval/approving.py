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
from saltform.errors import ApprovalRefused, Cancelled
from saltform.operations.approval.people import who_may_approve
from saltform.operations.approval.standing import CLOCK, EXPIRED, TURNED_DOWN, WAITING, Standing, standing
from saltform.operations.environment.opened import Opened
from saltform.operations.fleet.minion_keys import digest as token_digest
from saltform.operations.step.explaining import note_values, read_plan
from saltform.operations.step.judging import Judged
from saltform.operations.step.part import Part
from saltform.plan import Plan, digest, refines
from saltform.policy.verdicts import APPROVE
from saltform.runlog import StepRecord, now, seconds_between
from saltform.runlog.approvals import Request
from saltform.terraform import planning
from saltform.terraform.session import Session

if TYPE_CHECKING:
    from saltform.operations.approval.kept_plans import KeptPlans

_DESTRUCTIVE = ("delete", "replace", "forget")


def still_waiting(opened: Opened, name: str, step: StepRecord) -> bool:
    """In a run that goes on: whether a component is not decided yet, so that nothing is started for it."""
    request = opened.requests.get(name)
    if request is None:
        return False
    found = standing_of(opened, request)
    if found.word == TURNED_DOWN:
        # Not a failure: what was approved goes on, and nothing is rolled back.
        raise Cancelled(f"the plan of {name} was rejected", found.why, "deploy again to ask for something else")
    if found.word == CLOCK:
        fix = f"set this host's clock, then: salt-run infrastructure.resume {request.run}"
        raise ApprovalRefused(f"nobody can say whether the approval of {name} counts", found.why, fix)
    if found.word == EXPIRED:
        del opened.requests[name]  # planned and asked anew
    if found.word == WAITING and request.plan:
        show_request(opened, step, request, found)
        return True
    return False


def restored(part: Part, plan_file: Path) -> bool:
    """Whether the very plan that was approved can be applied; it is where it has to be then."""
    request = part.opened.requests.get(part.component.name)
    if request is None or not request.plan or not _fits(part, request):
        return False
    found = standing_of(part.opened, request)
    if not found.granted:
        return False
    _kept(part.opened).restore(request, plan_file)
    part.step.details.update(request.details)
    part.step.details["approved_by"] = list(found.approved_by)
    return True


def must_wait(part: Part, session: Session, plan_file: Path, stream: planning.PlanStream, judged: Judged) -> bool:
    """Whether a person has to agree first. If so, they are asked."""
    opened = part.opened
    why = reasons(_rule(opened, part.component.name), stream.changes, judged)
    if opened.undoing or not why:
        return False
    plan = judged.plan or read_plan(part, session, plan_file)
    request = opened.requests.get(part.component.name)
    found = standing_of(opened, request) if request is not None else None
    if request is not None and found is not None and found.granted:
        if covers(request, _kept(opened).meaning(request, opened.digest_key), plan, judged):
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


def may_need_somebody(opened: Opened, name: str) -> bool:
    """Whether a plan of this component could need a person at all: a preview is only made then."""
    when = _rule(opened, name).when
    return when in (DESTRUCTIVE, CHANGES, ALWAYS) or (when != NEVER and opened.judge.can_ask)


def covers(request: Request, approved: Plan, later: Plan, judged: Judged) -> bool:
    """Whether the approval of one plan is an approval of the later one, too."""
    known = {(each["rule"], each["address"]) for each in request.details.get("verdicts", ())}
    new = [each for each in judged.of_level(APPROVE) if (each.rule, each.address) not in known]
    return not new and refines(approved, later)


def ask(part: Part, plan_file: Path | None, plan: Plan, why: list[str]) -> None:
    """Put the plan away and on record as something that a person has to agree to. Without a file it is a preview."""
    opened, name, head = part.opened, part.component.name, part.head
    note_values(part.step, plan)
    part.step.details["why"] = why
    request = Request(
        run=opened.services.run_id,
        component=name,
        environment=opened.name,
        plan=_kept(opened).keep(name, plan_file, plan, part.tokens),
        digest=digest(plan, opened.digest_key),
        fingerprint=part.fingerprint if plan_file else "",
        serial=head.serial if head else 0,
        lineage=head.lineage if head else "",
        details=dict(part.step.details),
        asked=now(),
        expires=now(_rule(opened, name).expires),
    )
    opened.services.runlog.approvals.ask(request)
    show_request(opened, part.step, request, Standing(WAITING))


def show_request(opened: Opened, step: StepRecord, request: Request, found: Standing) -> None:
    """What waits, for whom and until when, in the step."""
    rule = _rule(opened, request.component)
    step.details.update(request.details)
    step.details["approval"] = request_entry(request, rule, found)
    command = f"salt-run infrastructure.approve {request.run}"
    step.reason = f"{'; '.join(request.details['why'])}: {whom(rule)}: {command}"


def request_entry(request: Request, rule: Approval, found: Standing) -> dict[str, Any]:
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
    people = f"{rule.count} of {', '.join(rule.by)}" if rule.count > 1 else " or ".join(rule.by)
    return f"{people or ('anybody' if rule.count == 1 else f'{rule.count} people')} can approve"


def forget(opened: Opened, name: str) -> None:
    """Applied: the plan file is gone, and nobody has to decide any more."""
    if name in opened.requests:
        opened.services.runlog.approvals.withdraw(opened.services.run_id, name)
        _kept(opened).forget(name)


def kept_tokens(part: Part) -> dict[str, str]:
    """Minion → the token in the plan that was shown, unless it was good once: then an instance may have it."""
    request, log = part.opened.requests[part.component.name], part.services.runlog.minions
    tokens = _kept(part.opened).tokens(request)
    was_good = {
        minion for minion, token in tokens.items() if (known := log.token(token_digest(token))) and known.expires
    }
    return {minion: token for minion, token in tokens.items() if minion not in was_good}


def standing_of(opened: Opened, request: Request) -> Standing:
    """By pillar as it is now, of which a run that goes on reads who may approve anew."""
    rule, services = _rule(opened, request.component), opened.services
    allowed = who_may_approve(services, rule, services.author, opened.name)
    return standing(request, opened.decisions, rule, allowed, now())


def _rule(opened: Opened, name: str) -> Approval:
    return opened.environment.approval_of(name)


def _kept(opened: Opened) -> KeptPlans:
    from saltform.operations.approval.kept_plans import KeptPlans  # cryptography: only when a person is asked

    return KeptPlans(opened.services.layout, opened.services.run_id)


def _fits(part: Part, request: Request) -> bool:
    """State and release are where they were, and the plan is not too old."""
    head = part.head
    where = (head.serial, head.lineage) if head else (0, "")
    fresh = seconds_between(request.asked, now()) <= _rule(part.opened, request.component).fresh_for
    return fresh and where == (request.serial, request.lineage) and part.fingerprint == request.fingerprint
