"""After something went back: who still uses an output of it that is another one now.

What is replaced when it goes back has a new id, not the one from before. A component that the run had not touched was
applied with that earlier id, and nothing has told it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from saltform.errors import SaltformError
from saltform.operations.environment.known import Known
from saltform.operations.environment.opened import Opened
from saltform.runlog import StepRecord
from saltform.status import Status


def stale_inputs(opened: Opened, steps: Mapping[str, StepRecord]) -> Iterator[str]:
    """A note for each component that was applied with an output which has changed by going back."""
    changed = {
        (name, output)
        for name, step in steps.items()
        if step.status == Status.ROLLED_BACK.value
        for output in step.details.get("outputs", {})
    }
    opened.forget_records()
    for name, record in opened.records.items() if changed else ():
        component = opened.as_released(name, record.release, record.binary_path)
        uses = [item for item in component.inputs if (item.component, item.output) in changed]
        if uses and record.fingerprint and not _as_applied(opened, name):
            listed = ", ".join(f"{item.component}.{item.output}" for item in uses)
            command = f"salt-run infrastructure.deploy {opened.name} components={name} only=True"
            yield f"{name} still uses {listed} from before: going back made a new one. To give it that: {command}"


def _as_applied(opened: Opened, name: str) -> bool:
    """Whether its inputs are those that it was applied with."""
    component = opened.component(name)
    try:
        return Known(opened, component, opened.inputs(component)).unchanged()
    except SaltformError:  # a secret that can't be asked for, say: then nobody can tell
        return True
