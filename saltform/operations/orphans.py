"""Components that left the pillar: they are what their last release says, so that they can still be destroyed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from saltform.workspace.root import Inputs, Unknown

if TYPE_CHECKING:
    from saltform.operations.opened import Opened


def lost_secrets(opened: Opened, name: str) -> Inputs:
    """The secret variables of an orphan: where they came from has left the pillar with it, so they are unknown."""
    if name not in opened.orphans:
        return {}
    return {variable: Unknown(name) for variable in opened.releases[name].content["secret_variables"]}
