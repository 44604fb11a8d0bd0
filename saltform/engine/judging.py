"""A plan before the judge: what the environment's policies say about it, between plan and apply."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from saltform.config.approval import NEVER
from saltform.engine.plan_values import read_plan
from saltform.engine.work import ComponentWork
from saltform.errors import PolicyDenied
from saltform.plan import Change, Plan
from saltform.policy import Verdict
from saltform.policy.verdicts import APPROVE, DENY
from saltform.terraform import planning
from saltform.terraform.session import Session
from saltform.workspace.fingerprint import digest
from saltform.workspace.root import address_in_module


@dataclass(frozen=True)
class Judged:
    """What the rules say about a plan, and the plan itself if its values had to be read for that."""

    verdicts: tuple[Verdict, ...] = ()
    plan: Plan | None = None

    def of_level(self, *levels: str) -> list[Verdict]:
        return [verdict for verdict in self.verdicts if verdict.level in levels]


def judge_before_apply(
    part: ComponentWork, session: Session, plan_file: Path, stream: planning.PlanStream, destroy: bool = False
) -> Judged:
    """Verdicts on record; raises PolicyDenied if the plan must not be applied, whoever agrees."""
    judge, plan = part.context.judge, None
    if judge.needs_values:
        part.tell("judging")
        plan = read_plan(part, session, plan_file)
        found = judge.judge(plan, about(part, destroy))
    else:
        found = judge.judge_actions([_change(each) for each in stream.changes], about(part, destroy))
    note_verdicts(part, found)
    judged = Judged(tuple(found), plan)
    refused = judged.of_level(*_stopping(part))
    if refused:
        raise PolicyDenied(part.component.name, [verdict.as_dict() for verdict in refused])
    return judged


def _stopping(part: ComponentWork) -> tuple[str, ...]:
    """Where nobody is ever asked, a rule that wants a person denies; undoing a run needs no person."""
    never = part.context.environment.approval_of(part.component.name).when == NEVER
    return (DENY, APPROVE) if never and not part.context.undoing else (DENY,)


def _change(item: Mapping[str, str]) -> Change:
    address = address_in_module(item["address"])
    return Change(address, item["resource_type"], item["action"], reason=item.get("reason", ""))


def judge_preview(part: ComponentWork, plan: Plan, destroy: bool = False) -> Judged:
    """The same verdicts, for whoever only wants to know."""
    found = part.context.judge.judge(plan, about(part, destroy))
    note_verdicts(part, found)
    return Judged(tuple(found), plan)


def note_verdicts(part: ComponentWork, found: list[Verdict]) -> None:
    """Those of this plan, and none of one that was made before it."""
    part.step.details["verdicts"] = [verdict.as_dict() for verdict in found]


def about(part: ComponentWork, destroy: bool) -> dict[str, Any]:
    """What a rule is told besides the changes."""
    component = part.component
    return {
        "environment": component.environment,
        "component": component.name,
        "module": component.module,
        "stateful": component.stateful,
        "author": part.services.author,
        "untouched": "" if destroy else untouched(part),
    }


def untouched(part: ComponentWork) -> str:
    """Why a plan of this component changes something that whoever wrote pillar and modules did not touch, if so."""
    record = part.record
    edited = record is None or not record.fingerprint or record.fingerprint.startswith("after ")
    if record is None or edited or digest(part.release) != record.release:
        return ""
    said = "changes, although its own pillar and module are as they were:"
    if record.fingerprint == part.fingerprint:
        return f"{said} reality is not"
    upstream = sorted({item.component for item in part.component.inputs})
    return f"{said} {'what it gets from ' + ', '.join(upstream) if upstream else 'its provider or a secret'} is not"
