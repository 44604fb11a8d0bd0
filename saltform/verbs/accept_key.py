"""accept_key: let the minion of an instance in, if it has the token that its instance was given.

1. The minion sends the token with its request to be let in; the master puts both on its event bus, and a reactor
   calls this. Token and id are looked up as a pair: a token is good for one id, once, for a short time.
2. The key that waits must be the one that came with the token. Then it is accepted.
3. Another key in its place (of the instance before it, or of somebody who was faster) is deleted: the minion comes
   again in a few seconds, and the token is still good then.
"""

from __future__ import annotations

from typing import Any

from saltform.config.names import MINION
from saltform.engine import audit
from saltform.engine.result import result
from saltform.engine.services import Services
from saltform.errors import SaltformError
from saltform.files import alone
from saltform.minions import ACCEPTED
from saltform.runlog import now
from saltform.runlog.minions import MinionToken
from saltform.verbs.permission import check_reactor


def accept_key(services: Services, minion: str, key: str, digest: str) -> dict[str, Any]:
    """Accept the key, or say why not; `digest` is the token's SHA-256.

    The digest is in Salt's job cache and on its bus, the token isn't: who reads it there must not get in with it.
    """
    check_reactor(services, "salt-key -a accepts a key by hand")
    if not MINION.fullmatch(minion):
        raise _refused(minion, "that is no minion id")
    with alone(services.layout.state_dir / "locks" / "minion-keys"):  # a minion asks again before it is answered
        return _judged(services, minion, key, digest)


def _judged(services: Services, minion: str, key: str, digest: str) -> dict[str, Any]:
    token = services.runlog.minions.token(digest)
    if token is None or token.minion != minion:
        raise _refused(minion, "no such token was given to an instance of that name")
    if token.used:
        raise _refused(minion, f"its token was used at {token.used}: a token is good once")
    if token.expires <= now():
        raise _refused(minion, f"its token ended at {token.expires}")
    there = services.minions.public_key(minion)
    if _same(there, key):
        return _accept(services, token)
    if there:
        services.minions.delete((minion,))
    said = f"{minion}: {'another key was in its place and is deleted' if there else 'no key waits'}; it comes again"
    where = f"{token.environment}/{token.component}"
    return result("accept_key", minion=minion, component=where, accepted=False, summary=said)


def _accept(services: Services, token: MinionToken) -> dict[str, Any]:
    minion, where = token.minion, f"{token.environment}/{token.component}"
    if not services.runlog.minions.use(token.digest, minion, now()):
        raise _refused(minion, "its token was used a moment ago")
    try:
        if services.minions.keys().get(minion) != ACCEPTED:  # by hand, say
            services.minions.accept(minion)
    except BaseException:
        services.runlog.minions.give_back(token.digest)
        raise
    audit.note(services, token.environment, "accept_key", component=token.component, minion=minion)
    said = f"{minion}: accepted as a minion of {where}"
    return result("accept_key", minion=minion, component=where, accepted=True, summary=said)


def _same(one: str, other: str) -> bool:
    """Two public keys, whatever whitespace they were stored with."""
    return bool(one) and one.split() == other.split()


def _refused(minion: str, why: str) -> SaltformError:
    return SaltformError(
        "a minion's key was not accepted",
        f"{minion!r}: {why}",
        "salt-run infrastructure.keys shows what is expected; an instance that comes too late is made anew by "
        "deploy with replace=ADDRESS, or its key accepted by hand: salt-key -a",
    )
