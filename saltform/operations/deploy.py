"""deploy: bring components up in order; what is unchanged costs nothing, what changed is planned and that applied."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from saltform.errors import EXIT_CANCELLED, EXIT_FAILED, EXIT_LOCKED, SaltformError
from saltform.graph import Graph
from saltform.operations.environment.choosing import check_binaries, check_fleet, check_replaced, chosen, orphan_note
from saltform.operations.environment.known import Known
from saltform.operations.environment.opened import Opened
from saltform.operations.run.options import Options
from saltform.operations.run.result import mark_undone, shown_outputs
from saltform.operations.run.running import Foresee, Run
from saltform.operations.run.services import Services
from saltform.operations.states.index import after_run
from saltform.runlog import RunRecord, StepRecord
from saltform.status import Status


def deploy(services: Services, environment: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Deploy an environment, or the named components with what they need."""
    options = Options.parse(given)
    if options.dry_run:
        from saltform.operations import plan as planned  # another verb

        return planned.plan(services, environment, given, verb="deploy")
    with Opened(services, environment) as opened:
        return run_deploy(opened, options)


def run_deploy(
    opened: Opened,
    options: Options,
    resumed: RunRecord | None = None,
    verb: str = "deploy",
    said: Sequence[str] = (),
) -> dict[str, Any]:
    """`verb` is what the run is called, and `said` what is to be noted about it before anything happens."""
    opened.wait = options.wait
    names, notes = chosen(opened, options)
    check_fleet(opened, names)
    notes += _key_notes(opened, names)
    if resumed is None:  # what goes on may have been at it already
        check_replaced(opened, options)
    check_binaries(opened, map(opened.component, names))
    notes = [*resumed.notes, *notes] if resumed else [*said, *notes]
    run = Run(
        opened,
        verb,
        opened.graph.subset(names),
        dataclasses.asdict(options),
        options.on_error or opened.environment.on_error,
        options.parallelism or opened.environment.parallelism,
        notes,
        resumed=resumed,
        unchanged=lambda: _unchanged(opened, options, run.graph),
        foresee=lambda: _previews(run, options),
    )
    if opened.orphans:
        run.notes.append(orphan_note(opened))
    returned = run.execute(lambda name, step: _step(run, options, name, step))
    if run.stopped_by is not None:
        return returned  # what can't be written there can't be written here
    after_run(run)
    if run.on_error == "rollback":
        _roll_back(opened, run, returned)
    returned["orphans"] = sorted(opened.orphans)
    good = [name for name, step in run.steps.items() if Status(step.status).good]
    returned["outputs"] = _outputs(run, good)
    return returned


def _key_notes(opened: Opened, names: Sequence[str]) -> list[str]:
    if not any(opened.component(name).minions for name in names):
        return []
    from saltform.operations.fleet.key_tokens import check_tokens  # not for a component without minions

    return check_tokens(opened, names)


def _outputs(run: Run, names: Sequence[str]) -> dict[str, Any]:
    """A state that can't be read now doesn't undo what the run has done."""
    opened, found = run.opened, {}
    with opened.states.glance(names):
        for name in names:
            try:
                found[name] = shown_outputs(opened.outputs(name))
            except SaltformError as error:
                run.add_notes(f"{name}: its outputs can't be shown: {error.summary}")
    return found


def _roll_back(opened: Opened, run: Run, returned: dict[str, Any]) -> None:
    """After a failure, not after a cancel: whoever stops a run doesn't ask for more to be done."""
    if returned["retcode"] in (EXIT_FAILED, EXIT_LOCKED):
        from saltform.operations.run.undoing import undo  # hardly ever

        undone = undo(opened, returned["run"])
        returned["rollback"] = {name: undone[name] for name in ("run", "retcode", "summary", "steps", "notes")}
        mark_undone(
            returned["steps"], {name: step["status"] for name, step in undone["steps"].items()}, undone["run"]
        )
        returned["summary"] += f"; undone by run {undone['run']}"
        run.add_notes(f"rolled back by run {undone['run']}: {undone['summary']}", *undone["notes"][1:])
        opened.forget_records()
    elif returned["retcode"] == EXIT_CANCELLED:
        run.add_notes("cancelled, so nothing was rolled back")


def _unchanged(opened: Opened, options: Options, graph: Graph) -> Iterator[str]:
    """Components that are as pillar says, and all they need too, so that nothing in this run can change them."""
    if options.refresh or options.replace:
        return
    settled: set[str] = set()
    with opened.states.glance(graph.needs):
        for name in graph.order():
            if settled.issuperset(graph.needs[name]) and _is_unchanged(opened, name):
                settled.add(name)
                yield name


def _is_unchanged(opened: Opened, name: str) -> bool:
    component = opened.component(name)
    try:
        return Known(opened, component, opened.known_inputs(component)).unchanged()
    except SaltformError:
        return False  # its own step says what is wrong


def _previews(run: Run, options: Options) -> Foresee:
    from saltform.operations.approval.foreseeing import previews  # only when something awaits approval

    return previews(run, options)


def _step(run: Run, options: Options, name: str, step: StepRecord) -> Status:
    from saltform.operations.step.deploying import deploy_one  # only when something is to be done

    return deploy_one(run, options, name, step)
