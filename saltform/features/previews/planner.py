"""Plans that can't be applied: made in a folder of their own that is deleted, in the order of the graph.

A component whose inputs will only be known once another one is applied is planned with unknowns: shown as deferred,
never saved.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from typing import TYPE_CHECKING

from saltform.engine.context import EnvironmentContext
from saltform.engine.options import Options
from saltform.engine.orphans import lost_secrets
from saltform.engine.plan_values import note_plan
from saltform.engine.work import ComponentWork
from saltform.errors import TerraformError
from saltform.features.states.foreign import refuse_foreign
from saltform.features.states.renames import as_stored, planned_from, read_under
from saltform.runlog import StepRecord
from saltform.status import Status
from saltform.terraform import planning
from saltform.terraform.session import Session
from saltform.workspace.root import PENDING, Unknown, address_in_root

if TYPE_CHECKING:
    from saltform.engine.judging import Judged

_NOT_KNOWN_YET = ("Invalid count argument", "Invalid for_each argument")


class Planner:
    """Remembers which outputs each plan leaves unknown, for the plans of those that need them."""

    def __init__(self, context: EnvironmentContext, options: Options, destroy: bool = False) -> None:
        self._context = context
        self._options = options
        self._destroy = destroy
        self._unknown: dict[str, set[tuple[str, str]]] = {}
        self.judged: dict[str, tuple[ComponentWork, Judged]] = {}  # those that change something

    def leave_unknown(self, name: str, outputs: Iterable[str]) -> None:
        """What a component's outputs will be is not known, though it isn't planned here."""
        self._unknown[name] = {(name, output) for output in outputs}

    def step(self, name: str, step: StepRecord) -> Status:
        component = as_stored(self._context, self._context.component(name))
        unknown = {pair for need in component.needs for pair in self._unknown.get(need, ())}
        inputs = self._context.inputs(component, unknown)
        if self._destroy:
            inputs = {**inputs, **lost_secrets(self._context, name)}
        part = ComponentWork(self._context, component, inputs, step)
        waits_for = sorted({item.component for item in inputs.values() if isinstance(item, Unknown)})
        replace = [address_in_root(address) for address in self._options.replace]
        looks = self._destroy or self._options.refresh or replace
        if not waits_for and not looks and part.unchanged():
            return Status.UNCHANGED
        step.details["waits_for"] = waits_for
        stream = self._plan(part, replace, bool(waits_for))
        self._remember(part, stream)
        if waits_for:
            step.reason = f"planned again once {', '.join(waits_for)} is applied"
            return Status.DEFERRED
        assert stream is not None  # noqa: S101 (only a deferred plan may fail to be made)
        return Status.PLANNED if stream.changed else Status.UNCHANGED

    def _plan(self, part: ComponentWork, replace: list[str], deferred: bool) -> planning.PlanStream | None:
        with part.at_work(lock=False) as session:
            try:
                refuse_foreign(self._context, read_under(self._context, part.component))
                part.prepare(session, states=planned_from(self._context, part.component))
                part.tell("planning")
                return self._look(part, session, replace)
            except TerraformError as error:
                if deferred and any(item.get("summary") in _NOT_KNOWN_YET for item in error.diagnostics):
                    part.step.details["no_preview"] = "how many there will be depends on a value not known yet"
                    return None
                raise
            finally:
                shutil.rmtree(session.workspace, ignore_errors=True)

    def _look(self, part: ComponentWork, session: Session, replace: list[str]) -> planning.PlanStream:
        """The plan's file is there only for its values to be read, and only if there is something to read."""
        from saltform.engine.judging import judge_preview
        from saltform.engine.plan_values import (  # a run without changes doesn't pay for it
            note_values,
            read_plan,
        )

        plan_file = session.workspace / ".preview"
        try:
            stream = planning.run(session, plan_file, replace=replace, lock=False, destroy=self._destroy)
            _leave_out_placeholders(stream)
            note_plan(part.step, stream)
            if stream.changes:
                part.tell("reading the plan")
                plan = read_plan(part, session, plan_file)
                note_values(part.step, plan)
                self.judged[part.component.name] = part, judge_preview(part, plan, self._destroy)
            return stream
        finally:
            plan_file.unlink(missing_ok=True)

    def _remember(self, part: ComponentWork, stream: planning.PlanStream | None) -> None:
        """An output that the plan keeps as it is stays known; every other one is unknown until the apply."""
        outputs = part.module.interface.outputs
        if stream is not None:
            kept = {name for name, item in stream.outputs.items() if item["action"] == "noop"}
            outputs = {name: item for name, item in outputs.items() if stream.changed and name not in kept}
        self._unknown[part.component.name] = {(part.component.name, name) for name in outputs}


def _leave_out_placeholders(stream: planning.PlanStream) -> None:
    """The resources that stand in for unknown values are ours, not the module's."""
    ours = [change for change in stream.changes if change["address"].startswith(f"terraform_data.{PENDING}")]
    stream.changes = [change for change in stream.changes if change not in ours]
    stream.counts["add"] -= len(ours)
