"""Who a caller is, and whether that is somebody who may approve."""

from __future__ import annotations

from collections.abc import Callable

from saltform.config.approval import Approval, person
from saltform.engine.roles import roles_of
from saltform.engine.services import MINION, SHELL, Services

_NOBODY = ("Reactor", "UNKNOWN", "unknown", "")  # what Salt calls a caller that is no person
Allowed = Callable[[str, str], str]  # author and origin → why they may not approve here; '' when they may


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


def who_may_approve(services: Services, rule: Approval, asked_by: str, environment: str) -> Allowed:
    """By the rule of a component and by the roles, both as pillar has them now."""
    roles = roles_of(services)

    def allowed(author: str, origin: str) -> str:
        why = refusal(rule, asked_by, author, origin)
        if why or roles is None or (is_root(author) and origin == SHELL):
            return why
        return "" if roles.allow(author, "approve", environment) else f"{author} is no approver of {environment}"

    return allowed


def is_root(author: str) -> bool:
    """Root, or somebody who became root with sudo: so Salt names whoever is at the master's shell."""
    return author == "root" or author.startswith("sudo_")
