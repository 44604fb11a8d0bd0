"""A plan before the judge: what the environment's policies say about it, between plan and apply."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from saltform.errors import PolicyDenied
from saltform.operations.explaining import read_plan
from saltform.operations.part import Part
from saltform.plan import Change, Plan
from saltform.policy import Verdict
from saltform.policy.verdicts import APPROVE, DENY
from saltform.terraform import planning
from saltform.terraform.session import Session
from saltform.workspace.root import address_in_module


def judge_before_apply(part: Part, session: Session, plan_file: Path, stream: planning.PlanStream) -> None:
    """Verdicts on record; raises PolicyDenied if the plan must not be applied."""
    judge = part.opened.judge
    if judge.needs_values:
        part.tell("judging")
        found = judge.judge(read_plan(part, session, plan_file), about(part))
    else:
        found = judge.judge_actions(
            Change(address_in_module(each["address"]), each["resource_type"], each["action"])
            for each in stream.changes
        )
    note_verdicts(part, found)
    stopping = (DENY,) if part.opened.undoing else (DENY, APPROVE)
    refused = [verdict for verdict in found if verdict.level in stopping]
    if refused:
        raise PolicyDenied(part.component.name, [verdict.as_dict() for verdict in refused])


def judge_preview(part: Part, plan: Plan) -> None:
    """The same verdicts, for whoever only wants to know."""
    note_verdicts(part, part.opened.judge.judge(plan, about(part)))


def note_verdicts(part: Part, found: list[Verdict]) -> None:
    """Those of this plan, and none of one that was made before it."""
    part.step.details["verdicts"] = [verdict.as_dict() for verdict in found]


def about(part: Part) -> dict[str, Any]:
    """What a rule is told besides the changes."""
    component = part.component
    return {
        "environment": component.environment,
        "component": component.name,
        "module": component.module,
        "stateful": component.stateful,
        "author": part.services.author,
    }
