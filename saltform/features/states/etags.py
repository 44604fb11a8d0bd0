"""Which version of each state on a server was copied last: `sync_states` reads only what has another mark since.

The marks (S3: ETag; PostgreSQL: the row's version) are on disk beside the copies, and count as long as the copies
on this disk and in the run log are of that very version.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from saltform.engine.context import EnvironmentContext
from saltform.features.states.copies import is_copied
from saltform.files import write_atomic
from saltform.runlog.copies import StateCopy
from saltform.tfstate import Output, State


def recall(context: EnvironmentContext, last: Mapping[str, StateCopy]) -> dict[str, tuple[str, State]]:
    """What was copied of the states, and the mark that each had.

    Sensitive outputs are missing there: good enough for whoever only asks what has changed.
    """
    known = {}
    for name, (mark, serial, lineage) in _load(context).items():
        copy = last.get(name)
        if copy is not None and (copy.serial, copy.lineage) == (serial, lineage) and is_copied(context, name, copy):
            outputs = {key: Output(value) for key, value in copy.ordinary.items()}
            known[name] = (mark, State(serial, lineage, "", outputs, copy.resources))
    return known


def keep(context: EnvironmentContext, names: Iterable[str]) -> None:
    """After these were copied."""
    marks = {}
    for name in names:
        kept = context.states.last(name)
        if kept is not None:
            marks[name] = [kept.mark, kept.state.serial, kept.state.lineage]
    if marks != _load(context):
        write_atomic(context.services.layout.state_marks(context.name), json.dumps(marks).encode(), durable=False)


def _load(context: EnvironmentContext) -> dict[str, list[Any]]:
    """Nothing when there are none, or none that can be read: then every state is read once more."""
    try:
        tree = json.loads(context.services.layout.state_marks(context.name).read_bytes())
        return {str(name): [str(mark), int(serial), str(lineage)] for name, (mark, serial, lineage) in tree.items()}
    except (OSError, ValueError, AttributeError, TypeError):
        return {}
