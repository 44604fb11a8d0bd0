"""One component's keys, and the defaults they fall back to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from saltform.config.backends import located, read_backend
from saltform.config.names import FUNCTION, IDENTIFIER, MINION, nearest
from saltform.config.providers import read_source
from saltform.config.reader import Reader
from saltform.config.types import Backend, Component, Converge, CredentialSource, Input, Provider, Retry, Timeouts

COMPONENT_KEYS = frozenset(
    "module provider variables secret_variables inputs needs stateful backend binary version timeouts "
    "retry renamed_from adopt targets outputs minions converge drift promote approval".split()
)
MINION_VARIABLES = ("minions", "minion_tokens")  # what a module gets for `minions`
_SURE = re.compile(r"\(*[IJLE]@")
_IDS = "whole minion ids (a list), or an expression of ids and pillar such as 'E@vault-.*' or 'I@role:vault'"
_RULE = re.compile(r"[^.\s]+\.[^.\s].*")
_CONSTRAINT = re.compile(r"(?:(?:[=!<>~]=|~>|[=<>])\s*)?\d+(?:\.\d+){0,2}(?:[-+][\w.+-]+)?")
_INPUT = re.compile(r"@([^.@\s]+)\.([A-Za-z_][A-Za-z0-9_-]*)")


@dataclass(frozen=True)
class Defaults:
    """`infrastructure:defaults`: what a component or environment that says nothing gets."""

    binary: str = "auto"
    version: str = ""
    backend: Backend = Backend()
    on_error: str = "stop"
    parallelism: int = 4
    timeouts: Timeouts = Timeouts()
    retry: Retry = Retry()
    targets: str | tuple[str, ...] = ""


def read_defaults(reader: Reader, error_modes: Iterable[str]) -> Defaults:
    reader.only(("binary", "version", "backend", "on_error", "parallelism", "timeouts", "retry", "targets"))
    return Defaults(
        binary=reader.text("binary", "auto"),
        version=_read_version(reader),
        backend=read_backend(reader, Backend()),
        on_error=reader.choice("on_error", "stop", error_modes),
        parallelism=reader.number("parallelism", 4, 1, 256),
        timeouts=_read_timeouts(reader, Timeouts()),
        retry=_read_retry(reader, Retry()),
        targets=_read_targets(reader, ""),
    )


def read_component(
    reader: Reader,
    environment: str,
    name: str,
    defaults: Defaults,
    providers: Mapping[str, Provider],
    ignore_drift: tuple[str, ...] = (),
) -> Component:
    reader.only(COMPONENT_KEYS)
    module = reader.text("module")
    if not module and not isinstance(reader.tree.get("module"), int | float):
        reader.problem("module", reader.tree.get("module"), "a module: NAME, salt://PATH or git::URL//PATH?ref=REF")
    variables = reader.values("variables")
    inputs = _read_inputs(reader.section("inputs"))
    secrets = _read_secret_variables(reader.section("secret_variables"))
    minions = _read_minions(reader)
    _check_variable_names(reader, variables, inputs, secrets, minions)
    return Component(
        environment=environment,
        name=name,
        module=module,
        provider=_read_provider_name(reader, providers),
        variables=variables,
        secret_variables=secrets,
        inputs=inputs,
        needs=tuple(reader.texts("needs")),
        stateful=reader.flag("stateful"),
        backend=located(read_backend(reader, defaults.backend), environment, name),
        binary=reader.text("binary", defaults.binary),
        version=_read_version(reader, defaults.version),
        timeouts=_read_timeouts(reader, defaults.timeouts),
        retry=_read_retry(reader, defaults.retry),
        renamed_from=reader.text("renamed_from"),
        adopt=_read_adopt(reader.section("adopt")),
        targets=_read_targets(reader, defaults.targets),
        output_targets=_read_output_targets(reader.section("outputs")),
        minions=minions,
        converge=_read_converge(reader, minions),
        ignore_drift=(*ignore_drift, *read_ignored_drift(reader)),
        path=reader.path,
    )


def _read_version(reader: Reader, default: str = "") -> str:
    """A constraint as people write it for Terraform; whether a binary is allowed by it is asked when it is known."""
    version = reader.text("version", default)
    if version and not all(_CONSTRAINT.fullmatch(part.strip()) for part in version.split(",")):
        reader.problem("version", version, "a version or constraints: 1.11.4, '>=1.10,<2', '~> 1.11'")
    return version


def _read_provider_name(reader: Reader, providers: Mapping[str, Provider]) -> Provider | None:
    name = reader.text("provider")
    if name and name not in providers:
        expected = "one of infrastructure:providers: " + (", ".join(sorted(providers)) or "(there is none)")
        reader.problem("provider", name, expected, nearest(name, providers))
    return providers.get(name)


def _read_inputs(reader: Reader) -> tuple[Input, ...]:
    inputs = []
    for variable, value in reader.tree.items():
        match = _INPUT.fullmatch(value) if isinstance(value, str) else None
        if match is None:
            reader.problem(str(variable), value, '"@component.output" (a fixed value goes under variables)')
        else:
            inputs.append(Input(str(variable), match[1], match[2]))
    return tuple(inputs)


def _read_secret_variables(reader: Reader) -> dict[str, CredentialSource]:
    return {str(name): read_source(reader.section(name)) for name in reader.tree}


def _check_variable_names(
    reader: Reader,
    variables: Mapping[str, Any],
    inputs: Iterable[Input],
    secrets: Mapping[str, CredentialSource],
    minions: tuple[str, ...],
) -> None:
    seen: dict[str, str] = {}
    named = [("variables", name) for name in variables]
    named += [("inputs", item.variable) for item in inputs]
    named += [("secret_variables", name) for name in secrets]
    named += [("minions", name) for name in MINION_VARIABLES if minions]
    for place, name in named:
        if not IDENTIFIER.fullmatch(name):
            reader.problem(f"{place}:{name}", name, "a name that Terraform accepts for a variable")
        if name in seen:
            reader.problem(f"{place}:{name}", name, f"a variable that isn't set under {seen[name]} too")
        seen[name] = place


def _read_timeouts(reader: Reader, default: Timeouts) -> Timeouts:
    if reader.tree.get("timeouts") is None:
        return default
    section = reader.section("timeouts")
    tiers = [item.name for item in fields(Timeouts)]
    section.only(tiers)
    return Timeouts(**{tier: section.seconds(tier, getattr(default, tier)) for tier in tiers})


def _read_retry(reader: Reader, default: Retry) -> Retry:
    if reader.tree.get("retry") is None:
        return default
    section = reader.section("retry")
    section.only(("attempts", "wait", "longest"))
    return Retry(
        attempts=section.number("attempts", default.attempts, 1, 20),
        wait=section.seconds("wait", default.wait),
        longest=section.seconds("longest", default.longest),
    )


def _read_adopt(reader: Reader) -> dict[str, str]:
    return {str(address): reader.text(address) for address in reader.tree}


def _read_targets(reader: Reader, default: str | tuple[str, ...]) -> str | tuple[str, ...]:
    """A compound expression, or a list of minion ids."""
    value = reader.tree.get("targets")
    if value is None:
        return default
    if isinstance(value, str):
        return value
    return tuple(reader.texts("targets"))


def _read_output_targets(reader: Reader) -> dict[str, str | tuple[str, ...]]:
    """Ids, or an expression of ids and pillar: who sees a sensitive output is never the minion's own word."""
    found: dict[str, str | tuple[str, ...]] = {}
    for name in reader.tree:
        section = reader.section(name)
        section.only(("targets",))
        value = section.tree.get("targets")
        if isinstance(value, str) and "@" in value:
            for word in value.split():
                if "@" in word and not _SURE.match(word):
                    section.problem("targets", word, "ids, or pillar (I@, J@): grains are the minion's own word")
            found[str(name)] = value
        else:
            found[str(name)] = tuple(section.texts("targets"))
            for each in found[str(name)]:
                if not MINION.fullmatch(each):
                    section.problem("targets", each, _IDS)
    return found


def _read_minions(reader: Reader) -> tuple[str, ...]:
    ids = reader.texts("minions")
    for each in ids:
        if not MINION.fullmatch(each):
            reader.problem("minions", each, "a minion id: letters, digits, dots, dashes and underscores")
        if ids.count(each) > 1:
            reader.problem("minions", each, "every id once")
    return tuple(dict.fromkeys(ids))


def _read_converge(reader: Reader, minions: tuple[str, ...]) -> Converge | None:
    if reader.tree.get("converge") is None:
        return None
    section = reader.section("converge")
    section.only(("target", "expect", "highstate", "health", "timeout"))
    target = section.text("target")
    if not target and not minions:
        section.problem("target", section.tree.get("target"), "a compound target (or `minions` beside `converge`)")
    health = section.text("health")
    if health and not FUNCTION.fullmatch(health):
        section.problem("health", health, "an execution function such as consul.healthy")
    return Converge(
        target=target or minions,
        expect=section.number("expect", len(minions) or 1, 1, 100_000),
        highstate=section.flag("highstate"),
        health=health,
        timeout=section.seconds("timeout", 600.0),
    )


def read_ignored_drift(reader: Reader) -> tuple[str, ...]:
    """`drift: {ignore: [ADDRESS.ATTRIBUTE]}` of an environment or a component; `*` stands for anything."""
    section = reader.section("drift")
    section.only(("ignore",))
    rules = section.texts("ignore")
    for rule in rules:
        if not _RULE.fullmatch(rule):
            section.problem("ignore", rule, "TYPE.NAME.ATTRIBUTE such as aws_instance.*.tags.LastScan")
    return tuple(rules)
