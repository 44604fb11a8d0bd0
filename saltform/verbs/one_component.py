"""Work on one component, for the execution and state modules: a question, or a change on record.

A question is answered in a folder of its own that is deleted: no lock, no record. A change is a run with one step: it
takes the component's lock, and whoever reads the history finds it there.
"""

from __future__ import annotations

import contextlib
import dataclasses
import shutil
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from saltform.config import Component, nearest
from saltform.config.load import ROOT
from saltform.config.names import NAME
from saltform.engine.context import EnvironmentContext
from saltform.engine.run import Run
from saltform.engine.selection import find
from saltform.engine.services import Services
from saltform.engine.work import ComponentWork
from saltform.errors import SaltformError
from saltform.features.states.foreign import refuse_foreign
from saltform.features.states.pillar_index import write_index
from saltform.graph import Graph
from saltform.runlog import StepRecord
from saltform.status import Status
from saltform.terraform.session import Session
from saltform.workspace.root import Inputs, Unknown, Value

Work = Callable[[ComponentWork, Session], Status]


def split(services: Services, name: str) -> tuple[str, str]:
    """`staging/networking` → environment and component. No globs: this is about one component."""
    parts = str(name).split("/")
    if len(parts) != 2 or not all(NAME.fullmatch(part) for part in parts):
        known = list(_components(services.pillar))
        meant = nearest(str(name), known) or next(iter(known), "")
        raise SaltformError(f"{name!r} is not the name of a component", "expected environment/component", meant)
    return parts[0], parts[1]


def _components(pillar: Mapping[str, Any]) -> Iterator[str]:
    """As far as pillar can be read: it has not been checked yet."""
    environments = (pillar.get(ROOT) or {}).get("environments")
    for environment, tree in environments.items() if isinstance(environments, Mapping) else ():
        components = tree.get("components") if isinstance(tree, Mapping) else None
        yield from (f"{environment}/{name}" for name in components or () if isinstance(components, Mapping))


@contextlib.contextmanager
def asking(services: Services, name: str) -> Iterator[tuple[ComponentWork, Session]]:
    """A workspace to ask terraform in. What is not known yet is unknown there, so it is never applied from."""
    environment, component_name = split(services, name)
    with EnvironmentContext(services, environment) as context:
        component = find(context, component_name)
        part = ComponentWork(context, component, context.inputs(component), StepRecord(component_name))
        try:
            with part.at_work(lock=False) as session:
                try:
                    part.prepare(session)
                    yield part, session
                finally:
                    shutil.rmtree(session.workspace, ignore_errors=True)
        finally:
            # The log of a question that is on no record; what failed is in the error.
            shutil.rmtree(services.layout.run(services.run_id), ignore_errors=True)


def changing(services: Services, name: str, verb: str, work: Work, options: Mapping[str, Any]) -> dict[str, Any]:
    """Do `work` under the component's lock, as a run with one step; the run's return."""
    environment, component_name = split(services, name)
    with EnvironmentContext(services, environment) as context:
        component = find(context, component_name)
        run = Run(context, verb, Graph({component_name: ()}), dict(options), "stop", 1)

        def step(_name: str, record: StepRecord) -> Status:
            part = ComponentWork(context, component, inputs_or_null(context, component), record)
            with part.at_work() as session:
                refuse_foreign(context, component_name)
                part.prepare(session)
                return work(part, session)

        returned = run.execute(step)
        if run.stopped_by is None:
            write_index(context, [component_name] if returned["success"] else [])
        return returned


def inputs_or_null(context: EnvironmentContext, component: Component) -> Inputs:
    """The inputs for work on what is there already: where the upstream is gone, null is as good as any."""
    return {
        name: Value(None) if isinstance(item, Unknown) else item for name, item in context.inputs(component).items()
    }


def record_state_edited(part: ComponentWork, verb: str) -> None:
    """The state was changed by hand: it is ours, but not what was applied, so the next deploy plans."""
    if part.record is None:
        part.record_before_apply(None)
        part.context.forget_records()
    part.context.states.invalidate(part.component.environment, part.component.name)
    head = part.head
    if part.record is not None and head is not None:
        part.keep_record(
            dataclasses.replace(part.record, fingerprint=f"after {verb}", serial=head.serial, lineage=head.lineage)
        )
