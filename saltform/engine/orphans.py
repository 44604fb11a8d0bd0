"""Components that left the pillar: they are what their last release says, so that they can still be destroyed.

So are those of an environment that left it as a whole, as soon as its name is back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from saltform.report.words import plural
from saltform.workspace.root import Inputs, Unknown

if TYPE_CHECKING:
    from saltform.engine.context import EnvironmentContext
    from saltform.engine.services import Services


def lost_secrets(context: EnvironmentContext, name: str) -> Inputs:
    """The secret variables of an orphan: where they came from has left the pillar with it, so they are unknown."""
    if name not in context.orphans:
        return {}
    return {variable: Unknown(name) for variable in context.releases[name].content["secret_variables"]}


def left_pillar(services: Services) -> list[str]:
    """What is to be said of environments that are no longer in pillar and still have something."""
    return [
        f"environment {name} left the pillar and still has {plural(held, 'component')}: write `{name}: {{}}` below"
        f" environments, then salt-run infrastructure.destroy {name} yes=True"
        for name, held in services.runlog.environments().items()
        if name not in services.environments
    ]
