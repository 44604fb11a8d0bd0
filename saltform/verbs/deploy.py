"""deploy: bring components up in order; what is unchanged costs nothing, what changed is planned and that applied."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from saltform.engine.context import EnvironmentContext
from saltform.engine.options import Options
from saltform.engine.resolved import ResolvedComponent
from saltform.engine.result import mark_undone, shown_outputs
from saltform.engine.run import PreviewDependents, Run
from saltform.engine.selection import check_binaries, check_minions_reachable, check_replaced, chosen, orphan_note
from saltform.engine.services import Services
from saltform.errors import EXIT_CANCELLED, EXIT_FAILED, EXIT_LOCKED, SaltformError
from saltform.features.states.pillar_index import after_run
from saltform.graph import Graph
from saltform.runlog import RunRecord, StepRecord
from saltform.status import Status


def deploy(services: Services, environment: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Deploy an environment, or the named components with what they need."""
    options = Options.parse(given)
    if options.dry_run:
        from saltform.verbs import plan as planned  # another verb

        return planned.plan(services, environment, given, verb="deploy")
    with EnvironmentContext(services, environment) as context:
        return run_deploy(context, options)


def run_deploy(
    context: EnvironmentContext,
    options: Options,
    resumed: RunRecord | None = None,
    verb: str = "deploy",
    said: Sequence[str] = (),
) -> dict[str, Any]:
    """`verb` is what the run is called, and `said` what is to be noted about it before anything happens."""
    context.wait = options.wait
    names, notes = chosen(context, options)
    check_minions_reachable(context, names)
    notes += _key_notes(context, names)
    if resumed is None:  # what goes on may have been at it already
        check_replaced(context, options)
    check_binaries(context, map(context.component, names))
    notes = [*resumed.notes, *notes] if resumed else [*said, *notes]
    run = Run(
        context,
        verb,
        context.graph.subset(names),
        dataclasses.asdict(options),
        options.on_error or context.environment.on_error,
        options.parallelism or context.environment.parallelism,
        notes,
        resumed=resumed,
        unchanged=lambda: _unchanged(context, options, run.graph),
        preview_dependents=lambda: _previews(run, options),
    )
    if context.orphans:
        run.notes.append(orphan_note(context))
    returned = run.execute(lambda name, step: _step(run, options, name, step))
    if run.stopped_by is not None:
        return returned  # what can't be written there can't be written here
    after_run(run)
    if run.on_error == "rollback":
        _roll_back(context, run, returned)
    returned["orphans"] = sorted(context.orphans)
    good = [name for name, step in run.steps.items() if Status(step.status).good]
    returned["outputs"] = _outputs(run, good)
    return returned


def _key_notes(context: EnvironmentContext, names: Sequence[str]) -> list[str]:
    if not any(context.component(name).minions for name in names):
        return []
    from saltform.features.minions.key_tokens import check_tokens  # not for a component without minions

    return check_tokens(context, names)


def _outputs(run: Run, names: Sequence[str]) -> dict[str, Any]:
    """A state that can't be read now doesn't undo what the run has done."""
    context, found = run.context, {}
    with context.states.prefetch(names):
        for name in names:
            try:
                found[name] = shown_outputs(context.outputs(name))
            except SaltformError as error:
                run.add_notes(f"{name}: its outputs can't be shown: {error.summary}")
    return found


def _roll_back(context: EnvironmentContext, run: Run, returned: dict[str, Any]) -> None:
    """After a failure, not after a cancel: whoever stops a run doesn't ask for more to be done."""
    if returned["retcode"] in (EXIT_FAILED, EXIT_LOCKED):
        from saltform.verbs.undo import undo  # hardly ever

        undone = undo(context, returned["run"])
        returned["rollback"] = {name: undone[name] for name in ("run", "retcode", "summary", "steps", "notes")}
        mark_undone(
            returned["steps"], {name: step["status"] for name, step in undone["steps"].items()}, undone["run"]
        )
        returned["summary"] += f"; undone by run {undone['run']}"
        run.add_notes(f"rolled back by run {undone['run']}: {undone['summary']}", *undone["notes"][1:])
        context.forget_records()
    elif returned["retcode"] == EXIT_CANCELLED:
        run.add_notes("cancelled, so nothing was rolled back")


def _unchanged(context: EnvironmentContext, options: Options, graph: Graph) -> Iterator[str]:
    """Components that are as pillar says, and all they need too, so that nothing in this run can change them."""
    if options.refresh or options.replace:
        return
    settled: set[str] = set()
    with context.states.prefetch(graph.needs):
        for name in graph.order():
            if settled.issuperset(graph.needs[name]) and _is_unchanged(context, name):
                settled.add(name)
                yield name


def _is_unchanged(context: EnvironmentContext, name: str) -> bool:
    component = context.component(name)
    try:
        return ResolvedComponent(context, component, context.known_inputs(component)).unchanged()
    except SaltformError:
        return False  # its own step says what is wrong


def _previews(run: Run, options: Options) -> PreviewDependents:
    from saltform.features.approval.preview_dependents import previews  # only when something awaits approval

    return previews(run, options)


def _step(run: Run, options: Options, name: str, step: StepRecord) -> Status:
    from saltform.verbs.deploying import deploy_one  # only when something is to be done

    return deploy_one(run, options, name, step)
