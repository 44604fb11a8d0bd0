"""Where a request stands: pure. Requests, decisions, the rule as pillar has it now and the clock in; a word out.

1. A decision counts if it is about this very plan and was made since the request was.
2. One person who says no is enough to reject.
3. An approval counts as long as whoever gave it may give it now: who has lost the right meanwhile doesn't count.
   Root at the master's shell always may; whoever asked for the run may not, where the rule says so. One person is one
   approval, however often and however spelt (`sudo_alice`, `Alice` and `alice ` are alice).
4. A request expires, and with it the approvals that it got.
5. When the clock says that it is before the request or before a decision, nothing can be said about time, and so
   nothing is granted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from saltform.config.approval import Approval, person
from saltform.features.approval.approvers import Allowed
from saltform.runlog import seconds_between
from saltform.runlog.approvals import APPROVED, REJECTED, Decision, Request

WAITING, GRANTED, TURNED_DOWN, EXPIRED, CLOCK = "waiting", "granted", "rejected", "expired", "clock"
SKEW = 60.0  # seconds by which the clocks of two masters may differ


@dataclass(frozen=True)
class RequestStatus:
    """How far a request has come."""

    word: str
    approved_by: tuple[str, ...] = ()
    why: str = ""  # not granted, or who no longer counts

    @property
    def granted(self) -> bool:
        return self.word == GRANTED


def standing(
    request: Request, decisions: Iterable[Decision], rule: Approval, allowed: Allowed, now: str
) -> RequestStatus:
    counted = [each for each in decisions if _is_about(each, request)]
    if any(seconds_between(now, moment) > SKEW for moment in (request.asked, *(each.moment for each in counted))):
        newest = max(request.asked, *(each.moment for each in counted), "")
        return RequestStatus(
            CLOCK, (), f"the clock went backwards: it is {now}, but something was on record at {newest}"
        )
    no = [each for each in counted if each.decision == REJECTED]
    if no:
        said = f": {no[0].comment}" if no[0].comment else ""
        return RequestStatus(TURNED_DOWN, (), f"rejected by {no[0].author}{said}")
    if now > request.expires:
        return RequestStatus(EXPIRED, (), f"expired at {request.expires}")
    approvers, void = {}, []
    for each in counted:
        refused = allowed(each.author, each.origin)
        if refused:
            void.append(f"the approval by {each.author} no longer counts: {refused}")
        elif each.decision == APPROVED:
            approvers[person(each.author)] = each.author
    word = GRANTED if len(approvers) >= rule.count else WAITING
    return RequestStatus(word, tuple(approvers.values()), "; ".join(void))


def _is_about(decision: Decision, request: Request) -> bool:
    return (decision.run, decision.component, decision.digest) == (
        request.run,
        request.component,
        request.digest,
    ) and seconds_between(decision.moment, request.asked) <= SKEW
