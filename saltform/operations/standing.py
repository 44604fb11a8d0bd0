"""Where a request stands: pure. Requests, decisions, the rule as pillar has it now and the clock in; a word out.

1. A decision counts if it is about this very plan and was made since the request was.
2. One person who says no is enough to reject.
3. An approval counts as long as whoever gave it may give it now: who has lost the right meanwhile doesn't count.
   Root at the master's shell always may; whoever asked for the run may not, where the rule says so. One person is one
   approval, however often and under whatever name (`sudo_alice` is alice).
4. A request expires, and with it the approvals that it got.
5. When the clock says that it is before the request or before a decision, nothing can be said about time, and so
   nothing is granted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from saltform.config.approval import Approval
from saltform.operations.services import MINION, SHELL
from saltform.runlog import seconds_between
from saltform.runlog.approvals import APPROVED, REJECTED, Decision, Request

WAITING, GRANTED, TURNED_DOWN, EXPIRED, CLOCK = "waiting", "granted", "rejected", "expired", "clock"
SKEW = 60.0  # seconds by which the clocks of two masters may differ
_NOBODY = ("Reactor", "UNKNOWN", "unknown", "")  # what Salt calls a caller that is no person


@dataclass(frozen=True)
class Standing:
    """How far a request has come."""

    word: str
    approved_by: tuple[str, ...] = ()
    why: str = ""  # not granted, or who no longer counts

    @property
    def granted(self) -> bool:
        return self.word == GRANTED


Allowed = Callable[[str, str], str]  # author and origin → why they may not approve here; '' when they may


def standing(request: Request, decisions: Iterable[Decision], rule: Approval, allowed: Allowed, now: str) -> Standing:
    counted = [each for each in decisions if _is_about(each, request)]
    if any(seconds_between(now, moment) > SKEW for moment in (request.asked, *(each.moment for each in counted))):
        newest = max(request.asked, *(each.moment for each in counted), "")
        return Standing(CLOCK, (), f"the clock went backwards: it is {now}, but something was on record at {newest}")
    no = [each for each in counted if each.decision == REJECTED]
    if no:
        said = f": {no[0].comment}" if no[0].comment else ""
        return Standing(TURNED_DOWN, (), f"rejected by {no[0].author}{said}")
    if now > request.expires:
        return Standing(EXPIRED, (), f"expired at {request.expires}")
    people, void = {}, []
    for each in counted:
        refused = allowed(each.author, each.origin)
        if refused:
            void.append(f"the approval by {each.author} no longer counts: {refused}")
        elif each.decision == APPROVED:
            people[person(each.author)] = each.author
    word = GRANTED if len(people) >= rule.count else WAITING
    return Standing(word, tuple(people.values()), "; ".join(void))


def refusal(rule: Approval, asked_by: str, author: str, origin: str) -> str:
    """Why somebody may not approve a run of `asked_by`; nothing when they may."""
    if is_root(author):
        return "" if origin == SHELL else "root approves at the master's own shell"
    if author in _NOBODY or origin.startswith(MINION):
        return "only a person can approve"
    if rule.by and author not in rule.users:
        return f"{author} is not among {', '.join(rule.by)}"
    if rule.not_author and person(author) == person(asked_by):
        return f"{author} asked for the run (not_author: true)"
    return ""


def is_root(author: str) -> bool:
    """Root, or somebody who became root with sudo: so Salt names whoever is at the master's shell."""
    return author == "root" or author.startswith("sudo_")


def person(author: str) -> str:
    return author.removeprefix("sudo_")


def _is_about(decision: Decision, request: Request) -> bool:
    return (decision.run, decision.component, decision.digest) == (
        request.run,
        request.component,
        request.digest,
    ) and seconds_between(decision.moment, request.asked) <= SKEW
