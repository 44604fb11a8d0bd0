"""The roles that pillar gives to users, read anew for every call."""

from __future__ import annotations

from collections.abc import Mapping

from saltform.config.approval import read_groups
from saltform.config.load import ROOT
from saltform.config.reader import Reader
from saltform.config.roles import Roles, read_roles
from saltform.engine.services import Services
from saltform.errors import ConfigError, Problem


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
