"""After something went back: who still uses an output of it that is another one now.

What is replaced when it goes back has a new id, not the one from before. A component that the run had not touched was
applied with that earlier id, and nothing has told it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from saltform.engine.context import EnvironmentContext
from saltform.engine.resolved import ResolvedComponent
from saltform.errors import SaltformError
from saltform.runlog import StepRecord
from saltform.status import Status


def stale_inputs(context: EnvironmentContext, steps: Mapping[str, StepRecord]) -> Iterator[str]:
    """A note for each component that was applied with an output which has changed by going back."""
    changed = {
        (name, output)
        for name, step in steps.items()
        if step.status == Status.ROLLED_BACK.value
        for output in step.details.get("outputs", {})
    }
    context.forget_records()
    for name, record in context.records.items() if changed else ():
        component = context.as_released(name, record.release, record.binary_path)
        uses = [item for item in component.inputs if (item.component, item.output) in changed]
        if uses and record.fingerprint and not _as_applied(context, name):
            listed = ", ".join(f"{item.component}.{item.output}" for item in uses)
            command = f"salt-run infrastructure.deploy {context.name} components={name} only=True"
            yield f"{name} still uses {listed} from before: going back made a new one. To give it that: {command}"


def _as_applied(context: EnvironmentContext, name: str) -> bool:
    """Whether its inputs are those that it was applied with."""
    component = context.component(name)
    try:
        return ResolvedComponent(context, component, context.inputs(component)).unchanged()
    except SaltformError:  # a secret that can't be asked for, say: then nobody can tell
        return True
