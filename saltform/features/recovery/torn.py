"""A local state that was being written when its terraform was killed: half of one, or nothing.

Terraform writes a local state in place, so `kill -9` at the wrong moment tears it. Before every apply the state is
kept as it was (`versions/`): the newest of its own lineage is put back, what is left of the torn one stays beside it,
and both are said. What that apply made is then in no state: `strays` finds it where the provider has tags.
"""

from __future__ import annotations

import json
from pathlib import Path

from saltform.config import Component
from saltform.engine import audit
from saltform.engine.context import EnvironmentContext
from saltform.files import cannot_write, sync_folder, write_atomic
from saltform.layout import STATE_FILE
from saltform.runlog import now
from saltform.tfstate import read
from saltform.tfstate.local import head_of, was_stored
from saltform.tfstate.versions import newest_version


def mend_torn(context: EnvironmentContext, component: Component) -> None:
    """After an apply of ours that did not end, and under the component's lock: put the state from before it back."""
    services, name = context.services, component.name
    path = services.layout.states(context.name, name) / STATE_FILE
    if component.backend.type != "local" or not path.exists():
        return
    content = path.read_bytes()
    if not _torn(path, content):
        return
    record = services.runlog.component(context.name, name)
    began_on = record.lineage if record else ""
    head = head_of(content)
    before = newest_version(path, began_on or (head.lineage if head else ""))
    if before is None and began_on:
        return  # there was a state, and no copy of it is left: a person decides
    aside = path.with_name(f"{path.name}.torn-{now().replace(':', '')}")
    _replace(path, content, aside, before)
    said = f"serial {read(before).serial}" if before is not None else "nothing"
    context.note(
        f"{name}: its state was torn when terraform was killed. Put back: {said}, from before that"
        f" apply; what it made is in no state, and what was left of the torn one is in {aside.name} beside it"
    )
    audit.note(services, context.name, "state_put_back", component=name, state=said)


def _replace(path: Path, content: bytes, aside: Path, before: Path | None) -> None:
    """Whoever is killed in between leaves the torn state in its place: never none, which would look like new."""
    try:
        write_atomic(aside, content)
        if before is not None:
            write_atomic(path, before.read_bytes())
        else:
            path.unlink()
            sync_folder(path.parent)
    except OSError as error:
        raise cannot_write(path, error) from None


def _torn(path: Path, content: bytes) -> bool:
    if not content:
        return was_stored(path)  # otherwise it is what terraform makes to lock it
    try:
        json.loads(content)
    except ValueError:
        return True
    return False
