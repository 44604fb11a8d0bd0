"""Which version of each state on a server was copied last: `sync_states` reads only what has another mark since.

The marks (S3: ETag; PostgreSQL: the row's version) are on disk beside the copies, and count as long as the copies
on this disk and in the run log are of that very version.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from saltform.files import write_atomic
from saltform.operations.environment.opened import Opened
from saltform.operations.states.copying import is_copied
from saltform.runlog.copies import StateCopy
from saltform.tfstate import Output, State


def recall(opened: Opened, last: Mapping[str, StateCopy]) -> dict[str, tuple[str, State]]:
    """What was copied of the states, and the mark that each had.

    Sensitive outputs are missing there: good enough for whoever only asks what has changed.
    """
    known = {}
    for name, (mark, serial, lineage) in _load(opened).items():
        copy = last.get(name)
        if copy is not None and (copy.serial, copy.lineage) == (serial, lineage) and is_copied(opened, name, copy):
            outputs = {key: Output(value) for key, value in copy.ordinary.items()}
            known[name] = (mark, State(serial, lineage, "", outputs, copy.resources))
    return known


def keep(opened: Opened, names: Iterable[str]) -> None:
    """After these were copied."""
    marks = {}
    for name in names:
        kept = opened.states.last(name)
        if kept is not None:
            marks[name] = [kept.mark, kept.state.serial, kept.state.lineage]
    if marks != _load(opened):
        write_atomic(opened.services.layout.state_marks(opened.name), json.dumps(marks).encode(), durable=False)


def _load(opened: Opened) -> dict[str, list[Any]]:
    """Nothing when there are none, or none that can be read: then every state is read once more."""
    try:
        tree = json.loads(opened.services.layout.state_marks(opened.name).read_bytes())
        return {str(name): [str(mark), int(serial), str(lineage)] for name, (mark, serial, lineage) in tree.items()}
    except (OSError, ValueError, AttributeError, TypeError):
        return {}
