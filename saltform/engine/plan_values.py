"""A saved plan with its values: what it means, as the record and the return show it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from saltform.engine.work import ComponentWork
from saltform.plan import Plan, read
from saltform.runlog import StepRecord
from saltform.terraform import planning, show
from saltform.terraform.session import Session
from saltform.workspace.root import address_in_module


def read_plan(part: ComponentWork, session: Session, plan_file: Path) -> Plan:
    """The one `show -json` of a plan. Nothing sensitive is in what it gives."""
    return read(show.run(session, plan_file), part.context.digest_key, session.mask)


def note_values(step: StepRecord, plan: Plan) -> None:
    """Beside each change what becomes of its attributes."""
    known = {change.address: change for change in plan if not change.deposed}
    for shown in step.details["changes"]:
        change = known.get(shown["address"])
        if change is not None and change.attributes and change.action == shown["action"]:
            shown["attributes"] = [attribute.as_dict() for attribute in change.attributes]


def note_plan(step: StepRecord, stream: planning.PlanStream) -> None:
    """What the plan will do, as the record and the return show it."""
    step.details["counts"] = dict(stream.counts)
    step.details["changes"] = [_shown(change) for change in stream.changes]
    outputs = {name: item["action"] for name, item in stream.outputs.items() if item["action"] != "noop"}
    if outputs:
        step.details["outputs"] = outputs
    if stream.drift:
        step.details["drift"] = [_shown(change) for change in stream.drift]


def _shown(change: Mapping[str, str]) -> dict[str, str]:
    shown = {"address": address_in_module(change["address"]), "action": change["action"]}
    if change.get("reason"):
        shown["reason"] = change["reason"]
    return shown
