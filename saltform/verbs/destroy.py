"""destroy: the exact reverse of a deploy. Without `yes=True` it only shows what it would destroy."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from saltform.config import select
from saltform.engine.context import EnvironmentContext
from saltform.engine.options import Options, bad
from saltform.engine.released import check_within_reach
from saltform.engine.result import result
from saltform.engine.run import Run
from saltform.engine.selection import check_binaries, check_minions_reachable
from saltform.engine.services import Services
from saltform.errors import EXIT_CHANGES, EXIT_DONE
from saltform.features.approval.preview_dependents import previews
from saltform.features.states.foreign import refuse_foreign
from saltform.features.states.pillar_index import after_run
from saltform.graph import Graph
from saltform.report.words import plural
from saltform.runlog import RunRecord
from saltform.status import Status
from saltform.verbs.destroying import destroy_step, kept_with_data
from saltform.workspace.root import address_in_module


def destroy(services: Services, environment: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Destroy an environment, or the named components with everything that needs them; orphans too, by name."""
    options = Options.parse(given)
    if options.on_error == "rollback":
        raise bad("on_error", "what was destroyed can't be brought back: expected stop or continue")
    with EnvironmentContext(services, environment) as context:
        return run_destroy(context, options)


def run_destroy(context: EnvironmentContext, options: Options, resumed: RunRecord | None = None) -> dict[str, Any]:
    context.wait = options.wait
    graph = _whole_graph(context)
    names, notes = _chosen(context, graph, options) if resumed is None else _still_there(graph, resumed)
    kept = kept_with_data(context, graph, names) if options.preserve_data else {}
    names = [name for name in names if name not in kept]
    notes += [f"{name}: {reason}" for name, reason in kept.items()]
    notes += ["preserve_data=False destroys what is kept, too"] if kept else []
    order = graph.reversed_().subset(names)
    if options.dry_run or not options.yes:
        return _preview(context, order, notes)
    check_minions_reachable(context, names)
    for name in names:
        if name in context.orphans:
            check_within_reach(context.releases[name])
    # What has never been applied has nothing to destroy, and needs no terraform for that.
    check_binaries(context, [context.component(name) for name in names if context.stored_as(name) in context.records])
    run = Run(
        context,
        "destroy",
        order,
        dataclasses.asdict(options),
        options.on_error or _error_mode(context.environment.on_error),
        options.parallelism or context.environment.parallelism,
        notes,
        resumed=resumed,
        preview_dependents=lambda: previews(run, options, destroy=True),
    )
    returned = run.execute(lambda name, step: destroy_step(context, options, name, step))
    if run.stopped_by is not None:
        return returned  # what can't be written there can't be written here
    after_run(run)
    return returned


def _error_mode(of_pillar: str) -> str:
    """Pillar's `rollback` is meant for deploys: a destroy stops instead."""
    return "stop" if of_pillar == "rollback" else of_pillar


def _whole_graph(context: EnvironmentContext) -> Graph:
    """Pillar's components and the orphans, each orphan with what its last release needed."""
    edges = {name: component.needs for name, component in context.environment.components.items()}
    for name, orphan in context.orphans.items():
        edges[name] = orphan.needs
    return Graph.within(edges)


def _chosen(context: EnvironmentContext, graph: Graph, options: Options) -> tuple[list[str], list[str]]:
    wanted = select(list(options.components), context.everything)
    if options.only or not options.components:
        return wanted, []
    above = graph.dependents(wanted)
    there = sorted(name for name in above if context.states.head(context.name, name) is not None)
    notes = [f"also destroying what needs that: {', '.join(there)} (only=True leaves it)"] if there else []
    return [*wanted, *sorted(above)], notes


def _still_there(graph: Graph, resumed: RunRecord) -> tuple[list[str], list[str]]:
    """What a destroy that goes on is about: an orphan that it has destroyed is not known any more."""
    return [name for name in resumed.graph if name in graph], list(resumed.notes)


def _preview(context: EnvironmentContext, order: Graph, notes: list[str]) -> dict[str, Any]:
    steps = {}
    for name in order.order():
        refuse_foreign(context, context.stored_as(name))
        there = [address_in_module(item) for item in context.resources(name)]
        steps[name] = {
            "status": (Status.PLANNED if there else Status.UNCHANGED).value,
            "reason": "" if there else "nothing there",
            "seconds": 0.0,
            "add": 0,
            "change": 0,
            "destroy": len(there),
            "changes": [{"address": address, "action": "delete"} for address in there],
        }
    total = sum(step["destroy"] for step in steps.values())
    counted = f"{plural(total, 'resource')} of {plural(len(steps), 'component')}"
    notes.append("nothing was destroyed: add yes=True to do it")
    return result(
        "destroy",
        EXIT_CHANGES if total else EXIT_DONE,
        environment=context.name,
        summary=f"destroy {context.name}: would destroy {counted}",
        steps=steps,
        notes=notes,
    )
