"""`infrastructure:roles`: who may do what, in which environment.

roles:
  viewer: {'*': ['*']}                      # environment, or a glob → users and @groups; '*' is whoever Salt lets in
  deployer: {staging: ['@developers'], production: ['@sre']}
  approver: {production: ['@sre', carol]}

1. Without `roles`, everybody that Salt lets in may do all.
2. With them, nobody may do anything that no role of theirs has; root at the master's shell always may.
3. A verb that is not in the table is the admin's: one that was forgotten here is not open to all.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase

from saltform.config.approval import Groups, spelt_out
from saltform.config.names import nearest
from saltform.config.reader import Reader

VIEW = frozenset(
    "validate graph status outputs history show log locks report audit approvals releases diff keys "
    # of terraform.* and terraform_resource.* on one component
    "version fmt_check providers output state_list state_show workspace_path".split()
)
PLAN = frozenset("plan preflight credentials drift sync_states".split())
DEPLOY = frozenset(
    "deploy destroy promote rollback upgrade acknowledge resume abandon cancel heal apply present absent init".split()
)
APPROVE = frozenset("approve reject".split())
# `unlock` and whatever edits a state by hand (state_rm, import_resource, force_unlock, …) are nobody else's.
ROLES = {
    "viewer": VIEW,
    "planner": VIEW | PLAN,
    "deployer": VIEW | PLAN | DEPLOY,
    "approver": VIEW | PLAN | APPROVE,
    "admin": None,  # everything
}
EVERYBODY = "*"


@dataclass(frozen=True, slots=True)
class Grant:
    """One role, in the environments that a glob means, for these users."""

    role: str
    environments: str
    users: frozenset[str]

    def holds(self, user: str, verb: str, environment: str) -> bool:
        verbs = ROLES[self.role]
        return (
            (verbs is None or verb in verbs)
            and fnmatchcase(environment, self.environments)
            and (user in self.users or EVERYBODY in self.users)
        )


@dataclass(frozen=True, slots=True)
class Roles:
    """Everybody's."""

    grants: tuple[Grant, ...]

    def allow(self, user: str, verb: str, environment: str) -> bool:
        return any(grant.holds(user, verb, environment) for grant in self.grants)

    def name_all_who_may(self, verb: str, environment: str) -> bool:
        """Whether nobody may but users that are named: none of the roles that have it is everybody's."""
        return not self.allow(EVERYBODY, verb, environment)

    def of(self, user: str, environment: str) -> list[str]:
        """The roles that somebody has there, for messages."""
        return [role for role in ROLES if any(self._held(grant, role, user, environment) for grant in self.grants)]

    @staticmethod
    def _held(grant: Grant, role: str, user: str, environment: str) -> bool:
        there = fnmatchcase(environment, grant.environments)
        return grant.role == role and there and (user in grant.users or EVERYBODY in grant.users)


def read_roles(root: Reader, groups: Groups) -> Roles | None:
    """The roles of the pillar; None when it has none, and then everybody may do all."""
    if root.tree.get("roles") is None:
        return None
    reader = root.section("roles")
    reader.only(ROLES)
    environments = [str(name) for name in root.section("environments").tree]
    grants = []
    for role in (name for name in reader.tree if name in ROLES):
        section = reader.section(role)
        for pattern in section.tree:
            if not any(fnmatchcase(name, str(pattern)) for name in environments):
                near = nearest(str(pattern), environments)
                section.problem(str(pattern), pattern, "an environment, or a glob that means one", near)
            users = section.texts(pattern)
            grants.append(Grant(role, str(pattern), spelt_out(section, str(pattern), users, groups)))
    return Roles(tuple(grants))
