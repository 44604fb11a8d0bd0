"""A saved plan with its values: what it means, as the record and the return show it."""

from __future__ import annotations

from pathlib import Path

from saltform.operations.step.part import Part
from saltform.plan import Plan, read
from saltform.runlog import StepRecord
from saltform.terraform import show
from saltform.terraform.session import Session


def read_plan(part: Part, session: Session, plan_file: Path) -> Plan:
    """The one `show -json` of a plan. Nothing sensitive is in what it gives."""
    return read(show.run(session, plan_file), part.opened.digest_key, session.mask)


def note_values(step: StepRecord, plan: Plan) -> None:
    """Beside each change what becomes of its attributes."""
    known = {change.address: change for change in plan if not change.deposed}
    for shown in step.details["changes"]:
        change = known.get(shown["address"])
        if change is not None and change.attributes and change.action == shown["action"]:
            shown["attributes"] = [attribute.as_dict() for attribute in change.attributes]
