"""Can the one-time token of a new minion get through to this master, and what if not?

1. A token reaches `accept_key` by an event that Salt has from 3008 on, and only where the master's configuration says
   `auth_events_autosign_grains`. Elsewhere a new minion's key waits for a person.
2. `preflight` warns of it for each component that has `minions`.
3. One that would wait for such minions (`converge`) is refused before anything is created, unless
   `saltform: {keys: manual}` says that a person accepts keys in time. For others `deploy` notes what is to be done.

There is no fall-back to Salt's `autosign_grains_dir`: it binds no token to an id.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from saltform.config import Component
from saltform.config.settings import MANUAL
from saltform.engine.context import EnvironmentContext
from saltform.errors import SaltformError
from saltform.minions import ACCEPTED, SaltMaster

FIRST = 3008  # the line of Salt that brought the setting
SETTING = "auth_events_autosign_grains"
WAITING = "pend"  # the event of a key that waits


@dataclass(frozen=True)
class Obstacle:
    """What keeps tokens from getting through."""

    why: str
    fix: str


def obstacle(master: SaltMaster | None) -> Obstacle | None:
    """None where tokens get through, and where there is no master to ask."""
    if master is None or (master.line >= FIRST and WAITING in master.token_events):
        return None
    if master.line < FIRST:
        why = f"Salt {master.version} is older than {FIRST}, and has no {SETTING}"
        return Obstacle(why, f"Salt {FIRST} or newer on the master, with examples/master.d/saltform-keys.conf")
    said = ", ".join(master.token_events) or "nothing"
    why = f"the master's configuration has {said} as {SETTING}, which has to have {WAITING}"
    return Obstacle(why, "add examples/master.d/saltform-keys.conf to the master's configuration, and restart it")


def not_accepted(keys: Mapping[str, str], component: Component) -> list[str]:
    """The component's minions whose keys nobody has accepted yet."""
    return [minion for minion in component.minions if keys.get(minion) != ACCEPTED]


def would_wait_in_vain(context: EnvironmentContext, component: Component, waiting: list[str]) -> bool:
    """Whether it would wait for minions whose keys nobody accepts, until its time is up."""
    return bool(waiting) and component.converge is not None and context.services.settings.keys != MANUAL


def by_hand(minions: Iterable[str]) -> str:
    return "; ".join(f"salt-key -a {minion}" for minion in minions)


def check_tokens(context: EnvironmentContext, names: Iterable[str]) -> list[str]:
    """Before anything runs: what is to be noted about keys that a person has to accept."""
    found = obstacle(context.services.master)
    with_minions = [component for component in map(context.component, names) if component.minions]
    if found is None or not with_minions:
        return []
    notes, keys = [], context.services.minions.keys()
    for component in with_minions:
        waiting = not_accepted(keys, component)
        if would_wait_in_vain(context, component, waiting):
            raise SaltformError(
                f"{component.id} would wait for minions that nobody lets in",
                f"{found.why}, so accept_key never sees the tokens of {', '.join(waiting)}, and `converge` would "
                "wait until its time is up. Nothing was created",
                f"{found.fix}. Or, where a person accepts the keys in time ({by_hand(waiting)}), in the master's "
                "configuration: saltform: {keys: manual}",
                component=component.id,
                minions=waiting,
            )
        if waiting:
            notes.append(
                f"{component.name}: {found.why}, so accept_key never sees the tokens of new minions: accept their "
                f"keys by hand when they come ({by_hand(waiting)})"
            )
    return notes
