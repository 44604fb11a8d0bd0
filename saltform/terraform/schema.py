"""terraform providers schema: which attributes a provider computes by itself when nobody sets them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from saltform.terraform.command import arguments, flag
from saltform.terraform.session import Session, run_json


def argv() -> list[str]:
    command, *options = arguments("providers", json=flag(True))
    return [command, "schema", *options]


def run(session: Session) -> dict[str, list[str]]:
    """Resource type → the dotted names of its computed attributes, those in blocks included."""
    document = run_json(session, argv())
    return {
        name: sorted(_computed(schema["block"], ""))
        for provider in document.get("provider_schemas", {}).values()
        for name, schema in provider.get("resource_schemas", {}).items()
    }


def _computed(block: Mapping[str, Any], prefix: str) -> Iterator[str]:
    for name, attribute in block.get("attributes", {}).items():
        if attribute.get("computed"):
            yield prefix + name
        elif "nested_type" in attribute:
            yield from _computed(attribute["nested_type"], f"{prefix}{name}.")
    for name, nested in block.get("block_types", {}).items():
        yield from _computed(nested["block"], f"{prefix}{name}.")
