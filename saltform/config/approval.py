"""`approval:` of an environment or a component: which plans need a person, who that is, and for how long that counts.

groups: {sre: [alice, bob]}               # under infrastructure
approval: {when: always, by: ['@sre', carol], count: 2, not_author: true, expires: 24h, fresh_for: 1h}
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from saltform.config.names import NAME, NAME_RULE, nearest
from saltform.config.reader import Reader

# Each asks for all that those before it ask for. With `never`, a policy that wants a person denies.
NEVER, POLICY, DESTRUCTIVE, CHANGES, ALWAYS = WHEN = ("never", "policy", "destructive", "changes", "always")
KEYS = ("when", "by", "count", "not_author", "expires", "fresh_for")

Groups = Mapping[str, tuple[str, ...]]
_NAMED = "by: [USER, '@GROUP'], or infrastructure:roles that name each approver and admin here (no '*')"


@dataclass(frozen=True, slots=True)
class Approval:
    """The rule that a plan has to meet before it is applied."""

    when: str = POLICY
    by: tuple[str, ...] = ()  # as pillar has it; nothing: everybody that Salt and the roles let
    users: frozenset[str] = frozenset()  # `by` with its groups spelt out
    count: int = 1
    not_author: bool = False
    expires: float = 86400.0  # seconds that a request, and an approval given to it, count
    fresh_for: float = 3600.0  # seconds that a plan may be old and still be applied as it is


def person(author: str) -> str:
    """Who that is, whatever the spelling: some directories know Alice, ALICE and `alice ` for one user.

    Only for telling people apart. Who is named in `by`, groups and roles is compared letter by letter.
    """
    plain = " ".join(unicodedata.normalize("NFKC", author).casefold().split())
    return plain.removeprefix("sudo_").strip()


def read_groups(reader: Reader) -> dict[str, tuple[str, ...]]:
    """`infrastructure:groups`: names for several users."""
    groups = {}
    for name in reader.tree:
        members = reader.texts(name)
        if not NAME.fullmatch(str(name)):
            reader.problem(str(name), name, NAME_RULE)
        if not members or any(member.startswith("@") for member in members):
            reader.problem(str(name), reader.tree[name], "a list of users (a group holds no other group)")
        groups[str(name)] = tuple(members)
    return groups


def spelt_out(reader: Reader, key: str, names: Iterable[str], groups: Groups) -> frozenset[str]:
    """Users and `@groups` as users."""
    users: set[str] = set()
    for name in names:
        group = name.removeprefix("@")
        if not name.startswith("@"):
            users.add(name)
        elif group in groups:
            users.update(groups[group])
        else:
            known = ", ".join(f"@{each}" for each in sorted(groups)) or "(there is none)"
            reader.problem(key, name, f"a group of infrastructure:groups: {known}", nearest(group, groups))
    return frozenset(users)


def read_approval(parent: Reader, base: Approval, groups: Groups, named_by_roles: bool) -> Approval:
    """`base` with what this mapping's `approval` says.

    `named_by_roles`: only users that a role names may approve here. Where people are counted or told apart, somebody
    has to name them: otherwise whoever has two accounts is two people.
    """
    if parent.tree.get("approval") is None:
        return base
    reader = parent.section("approval")
    reader.only(KEYS)
    by = tuple(reader.texts("by")) if "by" in reader.tree else base.by
    users = spelt_out(reader, "by", by, groups) if "by" in reader.tree else base.users
    count = reader.number("count", base.count, 1, 20)
    approvers = {person(user) for user in users}
    if by and count > len(approvers):
        reader.problem("count", count, f"at most {len(approvers)}: so many people are in `by`")
    not_author = reader.flag("not_author", base.not_author)
    if not by and not named_by_roles:
        for key, said in (("count", count if count > 1 else None), ("not_author", not_author or None)):
            if said is not None:
                reader.problem(key, said, f"who may approve, by name, beside it: {_NAMED}")
    return Approval(
        when=reader.choice("when", base.when, WHEN),
        by=by,
        users=users,
        count=count,
        not_author=not_author,
        expires=reader.seconds("expires", base.expires),
        fresh_for=reader.seconds("fresh_for", base.fresh_for),
    )
