"""plan: what a deploy would do, without doing it. No plan of this verb can be applied, and none is in a run's way."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from saltform.engine.context import EnvironmentContext
from saltform.engine.options import Options
from saltform.engine.run import Run
from saltform.engine.selection import check_replaced, chosen, orphan_note
from saltform.engine.services import Services
from saltform.features.previews.planner import Planner
from saltform.features.states.renames import renames


def plan(services: Services, environment: str, given: Mapping[str, Any], verb: str = "plan") -> dict[str, Any]:
    """Plan an environment, or the named components with what they need."""
    options = Options.parse(given)
    with EnvironmentContext(services, environment) as context:
        return run_plan(context, options, verb)


def run_plan(context: EnvironmentContext, options: Options, verb: str, said: Sequence[str] = ()) -> dict[str, Any]:
    names, notes = chosen(context, options)
    check_replaced(context, options)
    run = Run(
        context,
        verb,
        context.graph.subset(names),
        dataclasses.asdict(options),
        "continue",  # a plan that can't be made must not hide the others
        options.parallelism or context.environment.parallelism,
        [*said, *notes],
    )
    run.notes += [f"{old} would become {new}: its state would be moved" for old, new in renames(context, names)]
    if context.orphans:
        run.notes.append(orphan_note(context))
    returned = run.execute(Planner(context, options).step)
    returned["orphans"] = sorted(context.orphans)
    return returned
