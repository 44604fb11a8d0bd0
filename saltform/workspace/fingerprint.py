"""Releases and fingerprints: what a component is made of, as digests.

A release travels between environments and back in time: module content, provider lock, binary version, variables,
input expressions, needs, stateful. A fingerprint is a release with everything resolved for one environment: input
values, provider, backend. Same fingerprint and same state serial means unchanged.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import hmac
import json
import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from saltform.config.types import Component
from saltform.errors import WorkspaceError
from saltform.files import sync_folder, write_atomic
from saltform.workspace.modules import Module
from saltform.workspace.root import Inputs, Unknown


def release(component: Component, module: Module, provider_lock: bytes, binary: str) -> dict[str, Any]:
    """What travels, as plain data: enough to render the component again after pillar and files have changed."""
    promoted = {"promoted": component.origin.release} if component.origin else {}
    return promoted | {
        "module": {"reference": component.module, "digest": module.digest, "entry": module.entry},
        "provider": component.provider.name if component.provider else "",
        "provider_lock": provider_lock.decode(errors="replace"),
        "binary": binary,
        "variables": dict(component.variables),
        "secret_variables": sorted(component.secret_variables),
        "inputs": {item.variable: str(item) for item in component.inputs},
        "needs": sorted(component.needs),
        "stateful": component.stateful,
    }


def digest(tree: Any) -> str:
    """The digest of plain data: the same for the same data, whatever the order of its keys."""
    return hashlib.sha256(canonical(tree)).hexdigest()


def canonical(tree: Any) -> bytes:
    return json.dumps(tree, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def fingerprint(
    release_digest: str, component: Component, inputs: Inputs, secrets: Mapping[str, str], key: bytes
) -> str:
    """A release resolved for its environment.

    A sensitive input goes in keyed, so that the digest gives nothing away; `secrets` are versions, not values.
    """
    values: dict[str, Any] = {}
    for name, item in inputs.items():
        if isinstance(item, Unknown):
            values[name] = {"unknown": item.component}
        elif item.sensitive:
            values[name] = {"sensitive": hmac.new(key, canonical(item.value), hashlib.sha256).hexdigest()}
        else:
            values[name] = {"value": item.value}
    provider = component.provider
    resolved: dict[str, Any] = {
        "release": release_digest,
        "inputs": values,
        "secrets": dict(secrets),
        "provider": None
        if provider is None
        else [provider.kind, provider.source, provider.version, provider.endpoint, provider.region]
        + [dict(provider.settings)],
        "backend": [component.backend.type, dict(component.backend.settings)],
        "adopt": dict(component.adopt),
    }
    if component.minions:  # their ids; tokens are new for every plan and change nothing
        resolved["minions"] = sorted(component.minions)
    if component.converge is not None:  # what is asked for now was not asked for when it was applied
        resolved["converge"] = dataclasses.asdict(component.converge)
    return digest(resolved)


def private_key(path: Path) -> bytes:
    """A key that is made once for each master, and private.

    Two that make it at the same moment must end with the same one: the first link wins.
    """
    try:
        if not path.exists():
            mine = path.with_name(f"{path.name}.{os.getpid()}.{threading.get_ident()}")
            write_atomic(mine, os.urandom(32))
            with contextlib.suppress(FileExistsError):
                path.hardlink_to(mine)
            mine.unlink()
            sync_folder(path.parent)
        return path.read_bytes()
    except OSError as error:
        raise WorkspaceError(
            f"can't read the key {path.name}", str(error), "run as the user that owns the folder"
        ) from None
