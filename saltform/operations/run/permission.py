"""Who may do what: each call is checked here, by user, verb and environment, before anything of it happens.

Salt's `external_auth` is the coarse gate before this; a hand-made request gets past its patterns of arguments. The
user is the one that Salt authenticated, and no argument says otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from saltform.config.approval import read_groups
from saltform.config.load import ROOT
from saltform.config.reader import Reader
from saltform.config.roles import Roles, read_roles
from saltform.errors import ConfigError, NotAllowed, Problem
from saltform.operations.run.options import flag
from saltform.operations.run.services import Services

_OF_A_RUN = frozenset("show resume abandon cancel log report approve reject".split())
_LOOKS = frozenset("show log report".split())  # elsewhere `last` may mean another run by the time it is acted on
_OF_MINIONS = frozenset(("request", "accept_key"))  # no user asks: they check a list of ids, or a token, themselves
_OF_TWO = frozenset(("promote", "diff"))  # from the first environment to the second
_OF_A_MASTER = frozenset("prune backup restore".split())  # whose first argument is no environment
_DRY = frozenset("deploy destroy promote rollback".split())  # with dry_run they are plans


def check_call(services: Services, verb: str, arguments: Sequence[Any]) -> None:
    """Raise NotAllowed unless the caller may do this verb of the runner there."""
    roles = roles_of(services)
    if roles is None or _is_root(services) or verb in _OF_MINIONS:
        return
    first = arguments[0] if arguments else None
    if verb in _OF_A_RUN and first is not None and (first != "last" or verb in _LOOKS):
        there = [services.runlog.run(str(first)).environment]
    elif verb in _OF_TWO:
        _check(services, roles, "diff", _named(first))
        there = _named(arguments[1]) or services.environments
    else:
        there = _named(first if verb not in _OF_A_MASTER else None) or services.environments
    _check(services, roles, _meant(verb, arguments), there)


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


def roles_of(services: Services) -> Roles | None:
    """Read for every call: whoever lost a role has lost it. What can't be read lets nobody in."""
    tree = services.pillar.get(ROOT)
    if not isinstance(tree, Mapping) or tree.get("roles") is None:
        return None
    problems: list[Problem] = []
    root = Reader(tree, ROOT, problems)
    roles = read_roles(root, read_groups(root.section("groups")))
    if problems:
        raise ConfigError(problems)
    return roles


def _is_root(services: Services) -> bool:
    """At the shell, from the master's own schedule, or in a job that root sent."""
    became_root = services.author.startswith("sudo_") and services.origin != "master"
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
