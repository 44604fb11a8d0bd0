"""`infrastructure:` of the pillar → environments of components, checked as a whole.

1. Defaults and providers are read once.
2. Each environment's components are read on their own. Those of one that is promoted are releases, see promotion.py.
3. Names that point at other components (`inputs`, `needs`, `renamed_from`) are resolved, `'*'` is spelt out.
4. A circle is shown as its path.
All problems of all steps are raised together as one ConfigError; nothing is returned when there is one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from saltform.config.approval import Approval, Groups, read_approval, read_groups
from saltform.config.backends import read_backend
from saltform.config.component import Defaults, read_component, read_defaults, read_ignored_drift
from saltform.config.names import MINION, NAME, NAME_RULE, nearest
from saltform.config.policies import Policies, read_policies
from saltform.config.promotion import (
    Promoted,
    list_components,
    origin,
    read_health,
    read_pins,
    read_promote,
    read_promoted_from,
)
from saltform.config.providers import read_provider
from saltform.config.reader import Reader
from saltform.config.roles import read_roles
from saltform.config.runlog import check_runlog
from saltform.config.sources import validate_vault
from saltform.config.types import Component, Environment, Provider
from saltform.errors import ConfigError, CycleError, Problem, UnknownName
from saltform.graph import Graph
from saltform.schedule import ON_ERROR

ROOT = "infrastructure"
ROOT_KEYS = (
    "defaults",
    "providers",
    "environments",
    "vault",
    "policies",
    "runlog",
    "locks",
    "releases",
    "groups",
    "roles",
)
ENVIRONMENT_KEYS = (
    "components",
    "on_error",
    "parallelism",
    "drift",
    "policies",
    "approval",
    "backend",
    "promoted_from",
    "promote",
    "health",
    "requests",
)
REQUESTABLE = ("plan", "deploy", "drift")  # what a minion may ask for; never an approval


@dataclass(frozen=True)
class Infrastructure:
    """All environments that were asked for, and what they share."""

    environments: Mapping[str, Environment]
    providers: Mapping[str, Provider]
    vault: Mapping[str, Any]
    pins: Mapping[str, Mapping[str, str]]  # environment → component → release

    def environment(self, name: str) -> Environment:
        if name not in self.environments:
            raise UnknownName("environment", name, self.environments, nearest(name, self.environments))
        return self.environments[name]


Inspect = Callable[[Environment], Iterable[Problem]]


def load(
    pillar: Mapping[str, Any],
    environment: str | None = None,
    inspect: Inspect = lambda _: (),
    has_orphans: Callable[[str], bool] = lambda _: False,
    promoted: Promoted = lambda _name, _source, _pins: {},
) -> Infrastructure:
    """Read and check the pillar; with `environment` only that one, so that a run of one doesn't pay for all.

    `inspect` adds the problems that can't be seen in pillar alone, so that they are reported with all others.
    An environment without components is one that was forgotten to be written, unless it still has orphans.
    `promoted` knows the releases that an environment with `promoted_from:` is made of.
    """
    problems: list[Problem] = []
    root = Reader(pillar.get(ROOT), ROOT, problems)
    if not root.tree:
        found = "nothing" if ROOT not in pillar else "an empty mapping"
        expected = "a mapping with providers and environments (is the pillar targeted to this id?)"
        raise ConfigError(problems or [Problem(ROOT, found, expected)])
    root.only(ROOT_KEYS)
    providers = _read_providers(root.section("providers"))
    defaults = read_defaults(root.section("defaults"), ON_ERROR)
    problems.extend(validate_vault(pillar[ROOT].get("vault") or {}))
    section = root.section("environments")
    known = [str(name) for name in section.tree]
    if environment is not None and environment not in known:
        raise UnknownName("environment", environment, known, nearest(environment, known))
    names = known if environment is None else [environment]
    unquoted = [name for name in section.tree if str(name) in names and not isinstance(name, str)]
    if unquoted:
        for name in unquoted:
            section.problem(str(name), name, f"a string as name (put it in quotes: '{name}':)")
        raise ConfigError(problems)
    policies, groups = read_policies(root, Policies()), read_groups(root.section("groups"))
    pins = read_pins(root)
    roles = read_roles(root, groups)  # who may do what is read again when somebody does something
    named = {name for name in names if roles is not None and roles.name_all_who_may("approve", name)}
    environments = {
        name: _read_environment(
            section, name, defaults, providers, policies, groups, name in named, promoted, pins.get(name, {})
        )
        for name in names
    }
    for each in environments.values():
        said = section.tree.get(each.name)
        wrong = said is not None and not isinstance(said, Mapping)  # said already
        if not each.components and not wrong and not has_orphans(each.name):
            where = f"{ROOT}:environments:{each.name}:components"
            problems.append(Problem(where, "nothing", "at least one component"))
        problems.extend(inspect(each))
    problems.extend(check_runlog(root.tree, environments.values()))
    if problems:
        raise ConfigError(problems)
    return Infrastructure(environments, providers, dict(root.section("vault").tree), pins)


def _read_providers(section: Reader) -> dict[str, Provider]:
    providers = {}
    for name in section.tree:
        if not NAME.fullmatch(str(name)):
            section.problem(str(name), name, NAME_RULE)
        providers[str(name)] = read_provider(str(name), section.section(name))
    return providers


def _read_environment(
    section: Reader,
    name: str,
    defaults: Defaults,
    providers: Mapping[str, Provider],
    policies: Policies,
    groups: Groups,
    named_by_roles: bool,
    promoted: Promoted,
    pins: Mapping[str, str],
) -> Environment:
    if not NAME.fullmatch(name):
        section.problem(name, name, NAME_RULE)
    reader = section.section(name)
    reader.only(ENVIRONMENT_KEYS)
    ignored, approval = read_ignored_drift(reader), read_approval(reader, Approval(), groups, named_by_roles)
    defaults = replace(defaults, backend=read_backend(reader, defaults.backend))
    source = read_promoted_from(section, name)
    promote = read_promote(reader, bool(source))
    listed, releases = reader.section("components"), promoted(name, source, pins) if source else {}
    own = listed.tree
    approvals = _read_approvals(listed, approval, groups, named_by_roles)
    if source:
        listed = reader.nested("components", list_components(section, name, source, promote.exclude, releases))
    components = {}
    for key in listed.tree:
        if not NAME.fullmatch(str(key)):
            listed.problem(str(key), key, NAME_RULE)
        said = listed.section(key)
        if "promote" in said.tree:
            read_promote(said, bool(source), ("exclude",))
        component = read_component(said, name, str(key), defaults, providers, ignored)
        if key in releases:
            component = replace(component, origin=origin(own.get(key), releases[key], promote.exclude))
        components[str(key)] = component
    return Environment(
        name=name,
        components=_resolve(components, listed),
        on_error=reader.choice("on_error", defaults.on_error, ON_ERROR),
        parallelism=reader.number("parallelism", defaults.parallelism, 1, 256),
        policies=read_policies(reader, policies),
        promoted_from=source,
        promote=promote,
        health=read_health(reader),
        requests=_read_requests(reader.section("requests")),
        approval=approval,
        approvals=approvals,
    )


def _read_requests(reader: Reader) -> dict[str, tuple[str, ...]]:
    """Minion id → what it may ask for."""
    found = {}
    for minion in reader.tree:
        if not isinstance(minion, str) or not MINION.fullmatch(minion):
            reader.problem(str(minion), minion, "a minion id, and no glob")
        verbs = reader.texts(minion)
        for verb in verbs:
            if verb not in REQUESTABLE:
                reader.problem(str(minion), verb, f"one of: {', '.join(REQUESTABLE)}", nearest(verb, REQUESTABLE))
        found[str(minion)] = tuple(verbs)
    return found


def _read_approvals(listed: Reader, base: Approval, groups: Groups, named_by_roles: bool) -> dict[str, Approval]:
    """Of the components that say something themselves, those that were not promoted yet too."""
    return {
        str(key): read_approval(listed.section(key), base, groups, named_by_roles)
        for key, tree in listed.tree.items()
        if isinstance(tree, Mapping) and "approval" in tree
    }


def _resolve(components: dict[str, Component], reader: Reader) -> dict[str, Component]:
    """Check the names that components use for each other, and spell `needs` out."""
    everything = [name for name, component in components.items() if "*" not in component.needs]
    resolved = {}
    for name, component in components.items():
        _check_names(component, components, reader)
        wanted = dict.fromkeys(item.component for item in component.inputs)
        for need in component.needs:
            wanted.update(dict.fromkeys(everything if need == "*" else [need]))
        known = tuple(need for need in wanted if need in components)
        resolved[name] = component.waiting_for(known)
    _check_minions(components, reader)
    cycle = Graph({name: component.needs for name, component in resolved.items()}).find_cycle()
    if cycle:
        error = CycleError(cycle)
        reader.problem("", error.detail, "no circle: remove one `needs` or `inputs` on this path")
    return resolved


def _check_minions(components: Mapping[str, Component], reader: Reader) -> None:
    """A minion is on one instance, so it belongs to one component."""
    owner: dict[str, str] = {}
    for name, component in components.items():
        for minion in component.minions:
            if owner.setdefault(minion, name) != name:
                reader.problem(f"{name}:minions", minion, f"an id that {owner[minion]} doesn't have too")


def _check_names(component: Component, components: Mapping[str, Component], reader: Reader) -> None:
    for item in component.inputs:
        if item.component not in components:
            where = f"{component.name}:inputs:{item.variable}"
            near = nearest(item.component, components)
            reader.problem(where, str(item), "@component.output with a component of this environment", near)
    for need in component.needs:
        if need != "*" and need not in components:
            near = nearest(need, components)
            reader.problem(f"{component.name}:needs", need, "a component of this environment or '*'", near)
    if component.renamed_from in components:
        where = f"{component.name}:renamed_from"
        reader.problem(where, component.renamed_from, "a name that is no longer a component")
