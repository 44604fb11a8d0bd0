"""`promoted_from:`: an environment whose components are releases that another one proved, with what is its own.

production:
  promoted_from: staging
  promote: {exclude: [node_count], soak: 1h}    # of every component, and how long staging must have had them
  components:
    networking: {variables: {name: production}} # its own variables, provider, backend, secrets …

1. What a release carries (module, provider, variables, inputs, needs, stateful) comes from the release; what it
   doesn't carry comes from this environment's pillar and the defaults.
2. A variable that the environment sets itself wins, wherever the release takes it from.
3. A variable that is excluded never comes from the release: it is the environment's own or the module's default.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from saltform.config.names import nearest
from saltform.config.reader import Reader
from saltform.config.types import Health, Origin, Promote

_PLACES = ("variables", "inputs", "secret_variables")


@dataclass(frozen=True, slots=True)
class Release:
    """A release that was promoted: its digest, what it is made of, and the binary that proved it."""

    digest: str
    content: Mapping[str, Any]
    binary: str


# (environment, where it is promoted from, pins of pillar) → the releases that it is made of
Promoted = Callable[[str, str, Mapping[str, str]], Mapping[str, Release]]


def read_promote(reader: Reader, promoted: bool, keys: tuple[str, ...] = ("exclude", "soak")) -> Promote:
    """`promote:` of an environment or a component: it stands where things are promoted to."""
    section = reader.section("promote")
    if section.tree and not promoted:
        reader.problem("promote", section.tree, "nothing: it goes to the environment that has `promoted_from:`")
    section.only(keys)
    return Promote(section.seconds("soak", 0.0), tuple(section.texts("exclude")))


def read_promoted_from(section: Reader, name: str) -> str:
    reader = section.section(name)
    source = reader.text("promoted_from")
    others = [str(key) for key in section.tree if str(key) != name]
    if source and source not in others:
        reader.problem("promoted_from", source, "another environment", nearest(source, others))
    return source


def read_health(reader: Reader) -> Health | None:
    """`health:` of an environment: what its minions must answer for it to be well."""
    if reader.tree.get("health") is None:
        return None
    section = reader.section("health")
    section.only(("function", "state", "arguments", "targets", "timeout"))
    function, state = section.text("function"), section.text("state")
    if bool(function) == bool(state):
        section.problem("", section.tree, "either a `function:` or a `state:`")
    targets = section.tree.get("targets")
    if not targets:
        section.problem("targets", targets, "the minions to ask: a compound expression or a list of ids")
    return Health(
        function=function or "state.apply",
        arguments=(state,) if state else tuple(map(str, section.texts("arguments"))),
        targets=targets if isinstance(targets, str) else tuple(section.texts("targets")),
        timeout=section.seconds("timeout", 60.0),
    )


def read_pins(root: Reader) -> dict[str, dict[str, str]]:
    """`releases:`: environment → component → release, in the form in which `releases ENVIRONMENT` returns it."""
    section = root.section("releases")
    return {
        str(name): {str(key): section.section(name).text(key) for key in section.section(name).tree}
        for name in section.tree
    }


def list_components(
    section: Reader, name: str, source: str, exclude: tuple[str, ...], releases: Mapping[str, Release]
) -> dict[str, Any]:
    """The releases with what is the environment's own laid over them, and the components that are its own alone.

    What is said about a component that was not promoted yet waits for it.
    """
    own, proving = section.section(name).section("components"), section.section(source)
    waiting = {str(key) for key in proving.section("components").tree}
    tree: dict[str, Any] = {}
    for key, release in releases.items():
        said = own.tree.get(key) or {}
        tree[key] = _laid_over(own.nested(key, said), release, exclude) if isinstance(said, Mapping) else said
    for key, said in own.tree.items():
        if str(key) in releases:
            continue
        if isinstance(said, Mapping) and "module" in said:
            tree[str(key)] = said
        elif str(key) not in waiting and not proving.tree.get("promoted_from"):
            expected = f"a component of {source}, or one with a module of its own"
            own.problem(str(key), str(key), expected, nearest(str(key), waiting))
    return tree


def _laid_over(own: Reader, release: Release, exclude: tuple[str, ...]) -> dict[str, Any]:
    content, ours = release.content, set(own_variables(own.tree))
    excluded = {*exclude, *excluded_by(own.tree)}
    if "module" in own.tree:
        own.problem("module", own.tree["module"], "nothing: the module comes with the promoted release")
    for name in content["secret_variables"]:
        if name not in ours | excluded:
            own.problem(f"secret_variables:{name}", None, "a source of its own: a release carries no secrets")
    merged: dict[str, Any] = {}
    for place in ("variables", "inputs"):
        left = {name: value for name, value in content[place].items() if name not in ours | excluded}
        said = own.tree.get(place) or {}
        merged[place] = {**left, **said} if isinstance(said, Mapping) else said
    needs = own.tree.get("needs") or []
    listed = [needs] if isinstance(needs, str) else needs
    merged["needs"] = [*content["needs"], *listed] if isinstance(listed, list) else listed
    kept = {"provider": content["provider"], "stateful": content["stateful"], "binary": release.binary}
    return {**kept, **own.tree, **merged, "module": content["module"]["reference"]}


def origin(own: Any, release: Release, exclude: tuple[str, ...]) -> Origin:
    tree = own if isinstance(own, Mapping) else {}
    here = excluded_by(tree)
    return Origin(release.digest, own_variables(tree), (*exclude, *here), here)


def excluded_by(own: Mapping[str, Any]) -> tuple[str, ...]:
    """What a component's own `promote:` excludes; whether it is well said is found when the component is read."""
    said = own.get("promote")
    listed = said.get("exclude") if isinstance(said, Mapping) else None
    names = [listed] if isinstance(listed, str) else listed
    return tuple(name for name in names if isinstance(name, str)) if isinstance(names, list | tuple) else ()


def own_variables(own: Mapping[str, Any]) -> tuple[str, ...]:
    """The variables that an environment sets itself."""
    places = (own.get(place) for place in _PLACES)
    return tuple(str(name) for said in places if isinstance(said, Mapping) for name in said)
