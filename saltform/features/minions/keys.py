"""Keys follow instances: a token goes with each new instance, and its minion's key goes when the instance goes.

1. A component names the ids of its minions. Its module gets them, and a token for each, made anew for every plan
   (one that was approved and is made again has those that were in it, unless they were good already).
   Terraform hands a token to an instance that it creates, and leaves the user data of the others alone.
2. Tokens are on record when a plan is to be applied, and good from the moment at which it is, each for its one id,
   once, and not for long: a plan may wait for approval. Only digests are on record.
3. Whose key is accepted is decided by `accept_key`, by token and id.
4. After an apply, a key whose instance is gone or was replaced is deleted; after a destroy, all of the component's.
   Which instances there are is the module's word; which ids are the component's own is on record, and no other key is
   touched, whatever the module says.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from saltform.config.names import MINION
from saltform.engine import audit
from saltform.errors import SaltformError
from saltform.minions import ACCEPTED
from saltform.runlog import now
from saltform.runlog.minions import MinionToken
from saltform.workspace.root import MINIONS

if TYPE_CHECKING:
    from saltform.engine.context import EnvironmentContext
    from saltform.engine.work import ComponentWork

HOSTS = "hosts_before"  # of a step that heals: minion → instance, as it was before its run changed anything
LIFE = 1800.0  # seconds that a minion has to come after the apply that made its instance


def digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def instances(context: EnvironmentContext, name: str) -> dict[str, str]:
    """Minion id → instance, as the module's output says. What can't be an id is none."""
    output = context.outputs(name).get(MINIONS)
    value: Any = output.value if output is not None else {}
    said = {str(minion): str(instance) for minion, instance in value.items()} if isinstance(value, Mapping) else {}
    return {minion: instance for minion, instance in said.items() if MINION.fullmatch(minion)}


def propose_tokens(part: ComponentWork) -> None:
    """A plan with these tokens in it may be applied, now or by whoever goes on with this run: not good yet."""
    component = part.component
    _check_ids(part)
    part.services.runlog.minions.propose(
        component.environment,
        component.name,
        part.services.run_id,
        [
            MinionToken(digest(token), component.environment, component.name, minion, part.services.run_id)
            for minion, token in part.tokens.items()
        ],
    )


def issue_tokens(part: ComponentWork) -> list[str]:
    """Right before an apply: the tokens that are in its plan are good from now on. Their digests."""
    component = part.component
    # As long as the apply may take: an instance may be made in its last minute.
    expires = now(component.timeouts.apply + LIFE)
    return part.services.runlog.minions.issue(component.environment, component.name, part.services.run_id, expires)


def follow_instances(part: ComponentWork, before: Mapping[str, str], issued: list[str]) -> None:
    """After an apply: keys whose instances are gone or were replaced are deleted."""
    log, where = part.services.runlog.minions, (part.component.environment, part.component.name)
    known = log.of_component(*where)
    if not known:
        return
    log.limit(issued, now(LIFE))
    there = instances(part.context, part.component.name)
    here = {token.minion for token in known if token.used and token.digest in issued}
    replaced = {minion for minion, instance in there.items() if before.get(minion, instance) != instance}
    gone = ({token.minion for token in known} - set(part.component.minions) | set(before)) - set(there)
    _delete_own(part, known, gone | (replaced - here))
    log.forget(*where, gone)


def forget_minions(part: ComponentWork) -> None:
    """After a destroy: the keys of exactly this component's minions are deleted."""
    log, where = part.services.runlog.minions, (part.component.environment, part.component.name)
    known = log.of_component(*where)
    _delete_own(part, known, {token.minion for token in known})
    log.forget(*where, {token.minion for token in known})


def _own(part: ComponentWork, known: Iterable[MinionToken]) -> set[str]:
    """The ids that this component, and no other, was given a token for. A plan that was never applied gave none."""
    own = {token.minion for token in known if token.expires}
    here = (part.component.environment, part.component.name)
    issued = [token for token in part.services.runlog.minions.of_minions(own) if token.expires]
    return own - {token.minion for token in issued if (token.environment, token.component) != here}


def _delete_own(part: ComponentWork, known: Iterable[MinionToken], minions: set[str]) -> None:
    doomed = tuple(sorted(minions & _own(part, known)))
    if doomed:
        part.tell(f"deleting the keys of {', '.join(doomed)}")
        part.services.minions.delete(doomed)
        part.step.details["keys_deleted"] = list(doomed)
        component = part.component
        about = (part.services, component.environment, "delete_keys")
        audit.note(*about, component=component.name, minions=list(doomed))


def _check_ids(part: ComponentWork) -> None:
    """An id that somebody else has: the new minion would be refused, and a destroy would delete a stranger's key."""
    component = part.component
    keys = part.services.minions.keys()
    owners: dict[str, set[str]] = {minion: set() for minion in component.minions}
    for token in part.services.runlog.minions.of_minions(component.minions):
        if token.expires:  # a plan that was never applied owns nothing
            owners[token.minion].add(f"{token.environment}/{token.component}")
    for minion, owned_by in owners.items():
        others = sorted(owned_by - {component.id})
        if others:
            raise SaltformError(
                f"the minion id {minion} is taken",
                f"it belongs to {', '.join(others)}",
                f"another id under {component.path}:minions, or destroy {others[0]} first",
            )
        if not owned_by and keys.get(minion) == ACCEPTED:
            raise SaltformError(
                f"the minion id {minion} is taken",
                f"its key was accepted before {component.id} had a minion of that name",
                f"salt-key -d {minion} if that machine is gone; or another id under {component.path}:minions",
            )
