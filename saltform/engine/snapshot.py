"""What a run was told to do: its `infrastructure` pillar and which module content it found, so that it can go on.

Kept in the run's folder (0600) until the run has done all of it. How to log in to Vault and to the run log (a token,
a password can stand there) and other pillar, credentials above all, are never kept: they are read anew.
"""

from __future__ import annotations

import json
import shutil
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from saltform.config.load import ROOT
from saltform.errors import StateError
from saltform.files import write_atomic
from saltform.layout import KEPT_PLANS

if TYPE_CHECKING:
    from saltform.engine.context import EnvironmentContext

RESUMABLE = ("deploy", "destroy", "promote", "rollback")
READ_ANEW = ("vault", "runlog", "groups", "roles")
_FILE = "configuration.json"


def keep_snapshot(context: EnvironmentContext) -> None:
    tree = {
        "pillar": kept_part(context.services.pillar),
        "modules": context.modules.found,
        "promoted": context.promoted.wanted,
    }
    folder = context.services.layout.run(context.services.run_id)
    write_atomic(folder / _FILE, json.dumps(tree, default=str).encode())


def kept_part(pillar: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in (pillar.get(ROOT) or {}).items() if name not in READ_ANEW}


def forget_snapshot(folder: Path) -> None:
    (folder / _FILE).unlink(missing_ok=True)


def forget_kept_plans(folder: Path) -> None:
    """Those that awaited approval: nobody will apply them."""
    shutil.rmtree(folder / KEPT_PLANS, ignore_errors=True)


@dataclass(frozen=True)
class Snapshot:
    """The pillar of a run, each module reference with its digest and entry, and the promoted releases."""

    pillar: dict[str, Any]
    modules: dict[str, tuple[str, str]]
    promoted: dict[str, tuple[str, str]]


def read_snapshot(folder: Path, host: str) -> Snapshot:
    """`host` is where the run was last: what it was told to do is on that disk."""
    try:
        tree = json.loads((folder / _FILE).read_bytes())
        pairs = ({name: tuple(pair) for name, pair in tree.get(key, {}).items()} for key in ("modules", "promoted"))
        return Snapshot(tree["pillar"], *pairs)
    except (OSError, ValueError, KeyError) as error:
        if host != socket.gethostname():
            fix = f"on {host}: salt-run infrastructure.resume {folder.name}; or abandon it and deploy again here"
            raise StateError("a run goes on where it began", f"what it was told to do is on {host}", fix) from None
        raise StateError(
            "a run can't go on",
            f"what it was told to do is not there any more: {folder / _FILE}: {error}",
            "deploy again: it goes on from what the states say",
        ) from None


def gone_on_with(snapshot: Mapping[str, Any], today: Mapping[str, Any], environment: str) -> dict[str, Any]:
    """The pillar for a run that goes on: what it began with, and who may approve as it is by now."""
    anew = {name: today[name] for name in READ_ANEW if name in today}
    now = (today.get("environments") or {}).get(environment) or {}
    then = snapshot["environments"][environment]
    today_said = now.get("components") or {}
    components = {
        name: _with_approval(component or {}, today_said.get(name))
        for name, component in (then.get("components") or {}).items()
    }
    if then.get("promoted_from"):  # there a component that nothing is said about is not mentioned
        components = {name: _with_approval({}, said) for name, said in today_said.items()} | components
    environments = {**snapshot["environments"], environment: {**_with_approval(then, now), "components": components}}
    return {**snapshot, **anew, "environments": environments}


def _with_approval(then: Mapping[str, Any], now: Mapping[str, Any] | None) -> dict[str, Any]:
    kept = {name: value for name, value in then.items() if name != "approval"}
    return kept | ({"approval": now["approval"]} if now and "approval" in now else {})


def same(pillar: Mapping[str, Any], snapshot: Mapping[str, Any]) -> bool:
    return bool(json.loads(json.dumps(pillar, default=str)) == snapshot)
