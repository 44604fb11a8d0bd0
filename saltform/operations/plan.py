"""plan: what a deploy would do, without doing it. No plan of this verb can be applied, and none is in a run's way."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from saltform.operations.environment.choosing import check_replaced, chosen, orphan_note
from saltform.operations.environment.opened import Opened
from saltform.operations.environment.renames import renames
from saltform.operations.run.options import Options
from saltform.operations.run.running import Run
from saltform.operations.run.services import Services
from saltform.operations.step.planner import Planner


def plan(services: Services, environment: str, given: Mapping[str, Any], verb: str = "plan") -> dict[str, Any]:
    """Plan an environment, or the named components with what they need."""
    options = Options.parse(given)
    with Opened(services, environment) as opened:
        return run_plan(opened, options, verb)


def run_plan(opened: Opened, options: Options, verb: str, said: Sequence[str] = ()) -> dict[str, Any]:
    names, notes = chosen(opened, options)
    check_replaced(opened, options)
    run = Run(
        opened,
        verb,
        opened.graph.subset(names),
        dataclasses.asdict(options),
        "continue",  # a plan that can't be made must not hide the others
        options.parallelism or opened.environment.parallelism,
        [*said, *notes],
    )
    run.notes += [f"{old} would become {new}: its state would be moved" for old, new in renames(opened, names)]
    if opened.orphans:
        run.notes.append(orphan_note(opened))
    returned = run.execute(Planner(opened, options).step)
    returned["orphans"] = sorted(opened.orphans)
    return returned
