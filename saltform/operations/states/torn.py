"""A local state that was being written when its terraform was killed: half of one, or nothing.

Terraform writes a local state in place, so `kill -9` at the wrong moment tears it. Before every apply the state is
kept as it was (`versions/`): that is put back, what is left of the torn one stays beside it, and both are said. What
that apply made is then in no state: `strays` finds it where the provider has tags.
"""

from __future__ import annotations

from pathlib import Path

from saltform.config import Component
from saltform.errors import StateError
from saltform.files import cannot_write, write_atomic
from saltform.layout import STATE_FILE
from saltform.operations.environment.opened import Opened
from saltform.operations.run import auditing
from saltform.runlog import now
from saltform.tfstate import read
from saltform.tfstate.versions import newest_version


def mend_torn(opened: Opened, component: Component) -> None:
    """After an apply of ours that did not end, and under the component's lock: put the state from before it back."""
    services, name = opened.services, component.name
    path = services.layout.states(opened.name, name) / STATE_FILE
    if component.backend.type != "local" or not _torn(path):
        return
    aside = path.with_name(f"{path.name}.torn-{now().replace(':', '')}")
    before = newest_version(path)
    try:
        path.rename(aside)
        if before is not None:
            write_atomic(path, before.read_bytes())
    except OSError as error:
        raise cannot_write(path, error) from None
    said = f"serial {read(before).serial}" if before is not None else "nothing"
    opened.note(
        f"{name}: its state was torn when terraform was killed. Put back: {said}, from before that"
        f" apply; what it made is in no state, and what was left of the torn one is in {aside.name} beside it"
    )
    auditing.note(services, opened.name, "state_put_back", component=name, state=said)


def _torn(path: Path) -> bool:
    if not path.exists():
        return False
    try:
        content = path.read_bytes()
        # Without an earlier version, an empty one is what terraform makes to lock it.
        return bool(content or newest_version(path)) and read(content, str(path)) is None
    except StateError:
        return True
