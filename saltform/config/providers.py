"""Providers and the sources of their credentials."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from saltform.config.kinds import KINDS, validate_provider
from saltform.config.reader import Reader
from saltform.config.sources import validate, validate_lent
from saltform.config.types import CredentialSource, Limits, Provider


def read_provider(name: str, reader: Reader) -> Provider:
    reader.only(("kind", "source", "version", "endpoint", "region", "ca", "settings", "credentials", "limits"))
    kind = reader.choice("kind", "", KINDS) if reader.tree.get("kind") is not None else ""
    if not kind:
        kind = name if name in KINDS else "generic"
    provider = Provider(
        name=name,
        kind=kind,
        source=reader.text("source"),
        version=reader.text("version"),
        endpoint=reader.text("endpoint"),
        region=reader.text("region"),
        ca=reader.text("ca"),
        settings=reader.values("settings"),
        credentials=read_sources(reader, "credentials"),
        limits=_read_limits(reader.section("limits")),
    )
    nameless = "" if KINDS[kind].variables else kind
    problems = [problem for source in provider.credentials for problem in validate_lent(source, nameless)]
    for problem in [*validate_provider(provider, reader.path), *problems]:
        reader.add(problem)
    return provider


def _read_limits(reader: Reader) -> Limits:
    reader.only(("processes", "starts_per_minute", "parallelism", "retries_per_minute"))
    return Limits(
        processes=reader.number("processes", 0, 1, 256),
        starts_per_minute=reader.number("starts_per_minute", 0, 1, 6000),
        parallelism=reader.number("parallelism", 0, 1, 256),
        retries_per_minute=reader.number("retries_per_minute", Limits().retries_per_minute, 0, 6000),
    )


def read_sources(reader: Reader, key: str) -> tuple[CredentialSource, ...]:
    """One source as a mapping of one kind, or a list of such, merged in order."""
    value = reader.tree.get(key)
    if value is None:
        return ()
    entries = value if isinstance(value, list) else [value]
    suffixes = [f"{key}:{index}" for index in range(len(entries))] if isinstance(value, list) else [key]
    return tuple(read_source(reader.nested(suffix, entry)) for suffix, entry in zip(suffixes, entries, strict=True))


def read_source(reader: Reader) -> CredentialSource:
    if len(reader.tree) != 1:
        expected = "one source, such as vault: {path: secret/hive}"
        reader.problem("", ", ".join(map(str, reader.tree)) or None, expected)
        return CredentialSource("", {}, reader.path)
    kind, options = next(iter(reader.tree.items()))
    source = CredentialSource(str(kind), _options(options), reader.at(str(kind)))
    for problem in validate(source):
        reader.add(problem)
    return source


def _options(options: Any) -> Mapping[str, Any]:
    return dict(options) if isinstance(options, Mapping) else {"path": options}
