"""A state that Saltform didn't write is neither planned over nor destroyed.

A component's resources are all below `module.main`. Planned over the state of an ordinary root, every resource in it
would be destroyed and built anew under another address. So before every plan, and again before every apply:

1. A state without managed resources has nothing to lose.
2. A state of the lineage on record is the one that our last apply left, or began on.
3. Of any other lineage, all managed resources must be below `module.main`: a first apply of ours that was killed
   before its end was on record leaves such a state, and so does a run log that was lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from saltform.config.backends import place
from saltform.errors import StateError
from saltform.report.words import plural
from saltform.workspace.root import PREFIX

if TYPE_CHECKING:
    from saltform.engine.context import EnvironmentContext
    from saltform.tfstate import State

SHOWN = 3  # addresses in the message


def refuse_foreign(context: EnvironmentContext, name: str, fetch: bool = True) -> None:
    """Raise if the state under that name is another root's.

    Without `fetch`, what only terraform can read is not pulled once more.
    """
    if fetch:
        context.states.invalidate(context.name, name)
    record, head = context.records.get(name), context.states.head(context.name, name)
    if head is None or (record is not None and record.lineage == head.lineage):
        return
    state = context.states.read(context.name, name)
    outside = [address for address in state.managed if not address.startswith(PREFIX)] if state else []
    if state is not None and outside:
        raise _foreign(context, name, state, outside)


def _foreign(context: EnvironmentContext, name: str, state: State, outside: list[str]) -> StateError:
    record = context.records.get(name)
    known = f"on record is lineage {record.lineage}" if record and record.lineage else "no apply of ours is on record"
    listed = ", ".join(outside[:SHOWN]) + (", …" if len(outside) > SHOWN else "")
    return StateError(
        f"the state of {context.name}/{name} is not one that Saltform wrote",
        f"{_where(context, name)} has serial {state.serial} of lineage {state.lineage}, and {known}. "
        f"{plural(len(outside), 'resource')} in it not below {PREFIX[:-1]}: {listed}. "
        "A deploy would destroy what they stand for and build it anew.",
        _fix(context, name),
    )


def _where(context: EnvironmentContext, name: str) -> str:
    backend = context.states.backend(name)
    return str(context.states.local_path(name)) if backend.type == "local" else place(backend)


def _fix(context: EnvironmentContext, name: str) -> str:
    record = context.records.get(name)
    if record is not None and record.lineage:
        return context.states.way_back(name)
    component, path = context.component(name), context.states.local_path(name)
    if context.states.backend(name).type == "local":
        leave = f"leave it to the root that made it: mv {path} {path}.foreign"
    else:
        leave = f"leave it to the root that made it, and name a place of its own at {component.path}:backend"
    return f"{leave}; or move all it has there first: terraform state mv ADDRESS {PREFIX}ADDRESS"
