"""How two releases of a component differ: module, providers, binary, variables and what else they are made of.

Where one of the two was promoted, a variable that is the environment's own or excluded is shown with that rule: it
may differ, so it is no reason to promote.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from saltform.config.types import Origin
from saltform.engine.context import EnvironmentContext
from saltform.engine.services import Services
from saltform.errors import ModuleError
from saltform.report.words import HIDDEN
from saltform.runlog import ComponentRecord
from saltform.terraform.init import locked_providers
from saltform.workspace.folder import FETCHED
from saltform.workspace.modules import Module, Modules

SAME, DIFFERS = "same", "differs"
OWN, EXEMPT = "own", "exempt"
_SHORT = 12

Content = Mapping[str, Any]
Entry = dict[str, Any]  # what, values of the one and the other, rule


def compared(
    services: Services,
    one: tuple[str, ComponentRecord | None],
    other: tuple[str, ComponentRecord | None],
    origin: Origin | None,
) -> dict[str, Any]:
    """A component of two environments, each with its record there; `origin` says what of the other is its own."""
    here, there = one[1], other[1]
    if here is None or there is None:
        where = one[0] if there is None else other[0]
        return {"status": f"only in {where}", "releases": [_digest(here), _digest(there)], "differences": []}
    contents = (services.runlog.release(here.release), services.runlog.release(there.release))
    found = _differences(*contents, EnvironmentContext.modules_of(services), origin)
    return {
        "status": SAME if all(entry["rule"] for entry in found) else DIFFERS,
        "releases": [here.release, there.release],
        "differences": found,
    }


def providers(content: Content) -> dict[str, str]:
    return locked_providers(str(content["provider_lock"]).encode())


def module_name(content: Content) -> str:
    return f"{content['module']['reference']} {content['module']['digest'][:_SHORT]}"


def _differences(one: Content, other: Content, modules: Modules, origin: Origin | None) -> list[Entry]:
    """What is not the same; `origin` tells what of the other need not be."""
    own = set(origin.own) - set(origin.exempt) if origin else set()
    exempt = set(origin.exempt) if origin else set()
    hidden = {*_sensitive(modules, one), *_sensitive(modules, other)}
    found = [*_module(one, other, modules), *_providers(one, other)]
    found += _pairs("", {"binary": one["binary"]}, {"binary": other["binary"]})
    for place, noun in (("variables", "variable "), ("inputs", "input ")):
        for entry in _pairs(noun, one[place], other[place]):
            name = entry["what"].removeprefix(noun)
            if name in hidden:
                entry["values"] = [value if value is None else HIDDEN for value in entry["values"]]
            found.append(entry | {"rule": OWN if name in own else EXEMPT if name in exempt else ""})
    for key in ("provider", "secret_variables", "needs", "stateful"):
        rule = OWN if origin and key == "provider" else ""
        found += [entry | {"rule": rule} for entry in _pairs("", {key: one[key]}, {key: other[key]})]
    return found


def _digest(record: ComponentRecord | None) -> str:
    return record.release if record is not None else ""


def _entry(what: str, one: Any, other: Any) -> Entry:
    return {"what": what, "values": [one, other], "rule": ""}


def _pairs(noun: str, one: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[Entry]:
    for name in sorted({*one, *other}):
        if (name in one) != (name in other) or one[name] != other[name]:
            yield _entry(f"{noun}{name}", one.get(name), other.get(name))


def _module(one: Content, other: Content, modules: Modules) -> Iterator[Entry]:
    if one["module"]["digest"] == other["module"]["digest"]:
        return
    entry = _entry("module", module_name(one), module_name(other))
    try:
        entry["files"] = _files(
            *(modules.kept(each["module"]["digest"], each["module"]["entry"]) for each in (one, other))
        )
    except ModuleError:
        pass  # that it differs is known without its content
    yield entry


def _files(one: Module, other: Module) -> list[str]:
    """The files that the other one has more, less or otherwise, each with a sign before it."""
    here, there = _contents(one), _contents(other)
    signs = {(True, False): "-", (False, True): "+", (True, True): "~"}
    return [
        f"{signs[path in here, path in there]} {path}"
        for path in sorted({*here, *there})
        if here.get(path) != there.get(path)
    ]


def _contents(module: Module) -> dict[str, bytes]:
    """Path → content, of what it calls from elsewhere too, as terraform names the folder that has it."""
    folders = [("", module.tree)] + ([(f"{FETCHED}/", module.remote)] if module.remote else [])
    return {
        f"{prefix}{path.relative_to(folder)}": path.read_bytes()
        for prefix, folder in folders
        for path in folder.rglob("*")
        if path.is_file()
    }


def _providers(one: Content, other: Content) -> Iterator[Entry]:
    here, there = providers(one), providers(other)
    yield from _pairs("provider ", here, there)


def _sensitive(modules: Modules, content: Content) -> set[str]:
    try:
        face = modules.kept(content["module"]["digest"], content["module"]["entry"]).interface
    except ModuleError:
        return set(content["variables"])  # nobody can say any more: none is shown
    return {name for name, variable in face.variables.items() if variable.sensitive}
