"""The index that the ext_pillar reads: where each component's state is, and which minions see its outputs.

Runs write it; the ext_pillar, which doesn't see the `infrastructure` pillar, reads nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from saltform.config import Component
from saltform.config.types import NOTHING
from saltform.engine.context import EnvironmentContext
from saltform.engine.run import DONE, Run
from saltform.errors import SaltformError
from saltform.files import write_atomic
from saltform.layout import STATE_FILE
from saltform.runlog import StepRecord
from saltform.status import Status


def write_index(
    context: EnvironmentContext, read: Iterable[str], troubles: Mapping[str, Mapping[str, str]] = NOTHING
) -> None:
    """Say for every component of the environment where its outputs are and who may see them.

    `read` are those whose state was looked at, and `troubles` those among them that can't be read: what the minions
    get is as old as it says. Of all others the index says what it said.
    """
    tree: dict[str, dict[str, Any]] = {}
    path = context.services.layout.index / f"{context.name}.json"
    before = path.read_bytes() if path.exists() else b""
    looked_at = set(read)
    troubles = {name: said for name, said in _troubles(before).items() if name not in looked_at} | dict(troubles)
    applied = context.services.runlog.applied(context.name)
    for name, component in context.environment.components.items():
        tree[name] = {
            "state": str(_read_from(context, component)),
            "targets": component.targets if isinstance(component.targets, str) else list(component.targets),
            "outputs": {
                output: who if isinstance(who, str) else list(who) for output, who in component.output_targets.items()
            },
            "applied": name in applied,
        }
        if name in troubles:
            tree[name]["trouble"] = dict(troubles[name])
    content = json.dumps(tree, sort_keys=True).encode()
    if content != before:
        write_atomic(path, content)
    _forget_others(context)


def _troubles(index: bytes) -> dict[str, Mapping[str, str]]:
    """What an index says of states that can't be read; nothing when it can't be read itself."""
    try:
        return {name: entry["trouble"] for name, entry in json.loads(index or "{}").items() if "trouble" in entry}
    except (ValueError, AttributeError, TypeError):
        return {}


def _forget_others(context: EnvironmentContext) -> None:
    """What an environment gave to minions goes with it when it leaves the pillar."""
    known = context.services.environments
    for path in context.services.layout.index.glob("*.json"):
        if path.stem not in known:
            path.unlink(missing_ok=True)


def _read_from(context: EnvironmentContext, component: Component) -> Path:
    """The state itself, or, of one on a server, its copy on this disk: a pillar never waits for a server."""
    layout, where = context.services.layout, (component.environment, component.name)
    return layout.states(*where) / STATE_FILE if component.backend.type == "local" else layout.state_copy(*where)


def after_run(run: Run) -> None:
    """What a run leaves for others. The run is over: what fails here is said, and `sync_states` does it again."""
    context = run.context
    try:
        write_index(context, [name for name, step in run.steps.items() if Status(step.status) in DONE])
        tell_minions(context, run.steps)
    except SaltformError as error:
        again = f"salt-run infrastructure.sync_states {context.name}"
        run.add_notes(f"minions may see outputs from before this run: {error.summary}; afterwards: {again}")


def tell_minions(context: EnvironmentContext, steps: Mapping[str, StepRecord]) -> None:
    """After a run: the copies of what it changed, and a fresh pillar for the minions that see an output of that."""
    changed = (Status.APPLIED.value, Status.DESTROYED.value, Status.ROLLED_BACK.value)
    touched = [name for name, step in steps.items() if step.status in changed]
    keep_copies(context, touched)
    refresh_targets(context, touched)


def keep_copies(context: EnvironmentContext, touched: list[str]) -> None:
    """What these components' states say now, and those on servers whose sensitive outputs may have other readers."""
    named = [
        name
        for name, component in context.environment.components.items()
        if component.output_targets and component.backend.type != "local" and name not in touched
    ]
    if touched or named:
        from saltform.features.states.copies import copy_states  # most runs change nothing

        copy_states(context, touched, named)


def refresh_targets(context: EnvironmentContext, names: Iterable[str]) -> None:
    components = [context.environment.components[name] for name in names if name in context.environment.components]
    targets = {item.targets for item in components} | {
        ids for item in components for ids in item.output_targets.values()
    }
    wanted = sorted(targets - {"", ()}, key=str)
    if wanted:
        context.services.refresh_pillar(wanted)
