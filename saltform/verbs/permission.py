"""Who may do what: each call is checked here, by user, verb and environment, before anything of it happens.

Salt's `external_auth` is the coarse gate before this; a hand-made request gets past its patterns of arguments. The
user is the one that Salt authenticated, and no argument says otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from saltform.config.roles import Roles
from saltform.engine.options import flag
from saltform.engine.roles import roles_of
from saltform.engine.services import SHELL, Services
from saltform.errors import NotAllowed

_OF_A_RUN = frozenset("show resume abandon cancel log report approve reject".split())
_LOOKS = frozenset("show log report".split())  # `last` is the newest run; the other verbs refuse it or mean another
_OF_MINIONS = frozenset(("request", "accept_key"))  # no user asks: they check a list of ids, or a token, themselves
_OF_TWO = frozenset(("promote", "diff"))  # from the first environment to the second
_OF_A_MASTER = frozenset("prune backup restore".split())  # whose first argument is no environment
REACTOR = "Reactor"  # who Salt says the caller is, and no argument
_DRY = frozenset("deploy destroy promote rollback".split())  # with dry_run they are plans


def check_call(services: Services, verb: str, arguments: Sequence[Any]) -> tuple[Any, ...]:
    """Raise NotAllowed unless the caller may do this verb of the runner there.

    Returns the arguments to do it with: `last` is looked up once, here, and the verb answers for the run that was
    checked. Another run may have become the last one meanwhile.
    """
    if verb in _LOOKS and arguments:
        arguments = (services.runlog.run(str(arguments[0])).id, *arguments[1:])
    _check_call(services, verb, arguments)
    return tuple(arguments)


def _check_call(services: Services, verb: str, arguments: Sequence[Any]) -> None:
    roles = roles_of(services)
    if roles is None or _is_root(services) or verb in _OF_MINIONS:
        return
    first = arguments[0] if arguments else None
    if verb in _OF_A_RUN and first not in (None, "last"):
        there = [services.runlog.run(str(first)).environment]
    elif verb in _OF_TWO:
        _check(services, roles, "diff", _named(first))
        there = _named(arguments[1]) or services.environments
    else:
        there = _named(first if verb not in _OF_A_MASTER else None) or services.environments
    _check(services, roles, _meant(verb, arguments), there)


def check_reactor(services: Services, instead: str) -> None:
    """Raise unless the reactor calls, or salt-run at the master's shell: what came with an event is not for others.

    Its arguments say for which minion; a user or another minion who could call it would speak for that one.
    """
    if services.author != REACTOR and services.origin != SHELL:
        who = f"{services.author} can't speak for a minion"
        raise NotAllowed(who, "only the reactor knows who sent an event", instead)


def check_work(services: Services, verb: str, arguments: Sequence[Any]) -> None:
    """The same for work on `environment/component`, as the execution and state modules name it."""
    roles = roles_of(services)
    if roles is None or _is_root(services):
        return
    first = str(arguments[0] or "") if arguments else ""
    there = [first.partition("/")[0]] if first else services.environments
    test = verb in ("present", "absent") and arguments[-1] is True
    _check(services, roles, "plan" if test else _meant(verb, arguments), there)


def _check(services: Services, roles: Roles, verb: str, there: Sequence[str]) -> None:
    for environment in there:
        if not roles.allow(services.author, verb, environment):
            held = ", ".join(roles.of(services.author, environment)) or "no role"
            raise NotAllowed(
                f"{services.author} may not {verb} in {environment}",
                f"found {held} there, under infrastructure:roles",
                "name an environment in which you may" if len(there) > 1 else "ask an admin for a role that has it",
                environment=environment,
                asked=verb,
            )


def _is_root(services: Services) -> bool:
    """At the master's shell, with sudo too; from its own schedule; or in a job that root sent to a minion."""
    became_root = services.author.startswith("sudo_") and services.origin == SHELL
    return services.author == "root" or became_root


def _meant(verb: str, arguments: Sequence[Any]) -> str:
    """What it comes down to: a deploy that changes nothing is a plan, a drift check that heals is none."""
    given: Mapping[str, Any] = next((item for item in arguments if isinstance(item, Mapping)), {})

    def says(name: str) -> bool:
        return given.get(name) is not None and flag(name, given[name])

    if verb == "drift" and says("heal") and not says("dry_run"):
        return "heal"
    if verb in _DRY and (says("dry_run") or (verb == "destroy" and not says("yes"))):
        return "plan"
    return verb


def _named(environment: Any) -> list[str]:
    return [str(environment)] if environment else []
