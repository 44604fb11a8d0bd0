"""One state document, version 4 (Terraform and OpenTofu since 0.12)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from saltform.errors import StateError

VERSION = 4
_KEY = r'(?:\[(?:\d+|"(?:[^"\\]|\\.)*")\])?'
_DATA_SOURCE = re.compile(rf"(?:module\.[^.\[]+{_KEY}\.)*data\.")


@dataclass(frozen=True, slots=True)
class Head:
    """Which version of which state this is. Equal heads mean that nothing was stored in between."""

    serial: int
    lineage: str


@dataclass(frozen=True, slots=True)
class Output:
    """An output's value and Terraform's type of it (`"string"`, `["list", "string"]`, …)."""

    value: Any = field(repr=False)
    sensitive: bool = False
    type: Any = "dynamic"


@dataclass(frozen=True, slots=True)
class State:
    """What a state says: its head, its outputs, and the addresses of all instances it knows."""

    serial: int
    lineage: str
    terraform_version: str
    outputs: Mapping[str, Output]
    resources: list[str]

    @property
    def head(self) -> Head:
        return Head(self.serial, self.lineage)

    @property
    def managed(self) -> list[str]:
        """The addresses of what terraform made: all but the data sources."""
        return [address for address in self.resources if not _DATA_SOURCE.match(address)]


def read(source: Path | bytes, name: str = "") -> State:
    """A state from a file or from what a backend returned; `name` says in messages whose it is."""
    name = name or (str(source) if isinstance(source, Path) else "the state")
    document = _parse(_load(source, name), name)
    try:
        return State(
            serial=int(document["serial"]),
            lineage=str(document["lineage"]),
            terraform_version=str(document.get("terraform_version", "")),
            outputs={key: _output(item) for key, item in (document.get("outputs") or {}).items()},
            resources=list(_addresses(document.get("resources") or [])),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _malformed(name, f"not the shape of a state: {type(error).__name__} {error}") from error


def _load(source: Path | bytes, name: str) -> bytes:
    if isinstance(source, bytes):
        return source
    try:
        return source.read_bytes()
    except OSError as error:
        raise StateError("the state can't be read", f"{name}: {error.strerror}") from error


def _parse(content: bytes, name: str) -> dict[str, Any]:
    if not content.strip():
        raise _malformed(name, "it is empty")
    try:
        document = json.loads(content)
    except ValueError as error:  # a truncated file ends here, and bytes that are no text
        raise _malformed(name, f"{error} (it has {len(content)} bytes)") from error
    if not isinstance(document, dict):
        raise _malformed(name, f"found a {type(document).__name__}, expected an object")
    if "encrypted_data" in document:
        raise StateError(
            "the state is encrypted by OpenTofu",
            f"{name}: only tofu with its key can read it",
            "leave `encryption` out of the component's module: Saltform keeps states private by permissions",
        )
    _check_version(document.get("version"), name)
    return document


def _check_version(version: Any, name: str) -> None:
    if version == VERSION:
        return
    if isinstance(version, int) and version > VERSION:
        raise StateError(
            "the state is newer than Saltform knows",
            f"{name} has format version {version}, known is {VERSION}",
            "upgrade Saltform, or go back to the terraform that wrote format 4",
        )
    if isinstance(version, int) and version > 0:
        raise StateError(
            "the state is from before Terraform 0.12",
            f"{name} has format version {version}, expected {VERSION}",
            "run `terraform apply -refresh-only` with Terraform 0.13 on it once",
        )
    raise _malformed(name, f"found the format version {version!r}, expected {VERSION}")


def _malformed(name: str, why: str) -> StateError:
    return StateError(
        "the state is malformed",
        f"{name}: {why}",
        "restore it from terraform.tfstate.backup beside it or from the backend's versions; don't delete it",
    )


def _output(item: Mapping[str, Any]) -> Output:
    return Output(item["value"], bool(item.get("sensitive", False)), item.get("type", "dynamic"))


def _addresses(resources: list[Mapping[str, Any]]) -> Iterator[str]:
    for resource in resources:
        module = f"{resource['module']}." if resource.get("module") else ""
        data = "data." if resource.get("mode") == "data" else ""
        # The old half of a replacement is deposed: its address is there already, unless the new half failed.
        keys = dict.fromkeys(_key(instance.get("index_key")) for instance in resource.get("instances", ()))
        yield from (f"{module}{data}{resource['type']}.{resource['name']}{key}" for key in keys)


def _key(key: Any) -> str:
    if key is None:
        return ""
    return f"[{json.dumps(key, ensure_ascii=False)}]"
