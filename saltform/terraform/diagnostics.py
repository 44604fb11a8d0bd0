"""What terraform said when it failed, as data, and as an error that a person on call can act on."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from saltform.errors import StalePlan, TerraformError
from saltform.terraform.state_lock import OF_PG, held_id
from saltform.workspace.root import PREFIX

Diagnostic = Mapping[str, Any]

# The only texts of Terraform's that are matched, here and nowhere else.
STALE = ("Saved plan is stale", "Saved plan does not match the given state")

PREFACE = "Terraform encountered problems during initiali"  # stands before the real reason

_UNLOCK = "if its holder is dead: salt-call terraform.force_unlock {component} {lock}"
_NOT_TOLD = "the backend doesn't say who holds it: ask there for its id; "
_PG = "PostgreSQL frees it when its holder's connection ends: wait, or end that one (pg_locks, locktype advisory)"
_MIRROR = "put the provider into the mirror, or set `saltform: {mirror: registry}` in the master's configuration"
_INIT = "run it again with the workspace removed: it is rendered and initialised anew"
_BACKEND = "check the backend's settings and credentials, and that it can be reached from here"
_RESTORE = "restore the state from the .backup beside it or from the backend's versions; don't delete it"
_VERSION = "the module asks for another version: set `binary:` and `version:`"
FIXES = (
    ("Unsupported state file format", _RESTORE),
    ("already locked, failed to", _UNLOCK),  # an `http` server whose answer says nothing of the holder
    ("Lock Info:", _UNLOCK),
    ("Failed to query available provider packages", _MIRROR),
    ("Failed to resolve provider packages", _MIRROR),
    ("Required plugins are not installed", _INIT),
    ("Inconsistent dependency lock file", _INIT),
    ("Backend initialization required", _INIT),
    ("Module not installed", _INIT),
    ("Error refreshing state", _BACKEND),
    ("error loading state", _BACKEND),
    ("Unsupported Terraform Core version", _VERSION),
    ("Unsupported OpenTofu Core version", _VERSION),
    ("No value for required variable", "set it under the component's `variables:` or `inputs:`"),
    ("Invalid value for variable", "correct it under the component's `variables:` or `inputs:`"),
)

_IN_ROOT = re.compile(rf"(?<![\w.-]){re.escape(PREFIX)}")
_BOX = re.compile(r"^[╷╵│]\s?")
_HEAD = re.compile(r"^(Error|Warning): (.*)")


def from_text(lines: Iterable[str]) -> list[Diagnostic]:
    """The diagnostics in the boxes that terraform draws for people, for commands without `-json`."""
    found: list[dict[str, Any]] = []
    in_box = False
    for line in lines:
        if line.startswith("╵"):
            in_box = False
            continue
        text = _BOX.sub("", line).rstrip()
        head = _HEAD.match(text)
        if head:
            found.append({"severity": head[1].lower(), "summary": head[2], "detail": ""})
            in_box = True
        elif found and in_box:
            found[-1]["detail"] += f"{text}\n"
    for item in found:
        item["detail"] = item["detail"].strip()
    return list(found)


def failure(
    command: str,
    component: str,
    exit_code: int,
    diagnostics: Sequence[Diagnostic],
    tail: str,
    workspace: Path,
) -> TerraformError:
    """The error for a process that failed: its own words, how it ended, and what to do about it."""
    diagnostics = [_as_in_module(item) for item in _said_once(diagnostics)]
    errors = [item for item in diagnostics if item.get("severity") == "error"]
    stale = any(str(item.get("summary", "")).startswith(STALE) for item in errors)
    error = (StalePlan if stale else TerraformError)(command, component, exit_code, diagnostics, tail)
    error.fix = (
        "plan again: the state has changed since this plan was made" if stale else _fix(errors, tail, component)
    )
    if exit_code < 0:
        error.summary = f"terraform {command} for {component} was ended by {_signal_name(-exit_code)}"
        error.fix = error.fix or "see `dmesg` for the memory killer or a crash, then run the same command again"
    left = workspace / "errored.tfstate"
    if left.exists():
        error.data["errored_state"] = str(left)
        error.detail += f"\nThe state could not be stored and was left in {left}: nothing else knows what exists."
        error.fix = f"when the backend is back: terraform state push {left}"
    return error


def _as_in_module(item: Diagnostic) -> Diagnostic:
    """With addresses as the module's author writes them."""
    texts = {key: _IN_ROOT.sub("", str(item[key])) for key in ("summary", "detail", "address") if item.get(key)}
    return {**item, **texts}


def _said_once(diagnostics: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Terraform says some things twice, and a general thing before the particular one."""
    different: list[Diagnostic] = []
    for item in diagnostics:
        if item not in different:
            different.append(item)
    particular = [item for item in different if not str(item.get("summary", "")).startswith(PREFACE)]
    return particular or different


def _fix(errors: Sequence[Diagnostic], tail: str, component: str) -> str:
    said = [f"{item.get('summary', '')} {item.get('detail', '')}" for item in errors] or [tail]
    fix, text = next(((fix, text) for known, fix in FIXES for text in said if known in text), ("", ""))
    return _unlock(text, component) if fix is _UNLOCK else fix


def _unlock(text: str, component: str) -> str:
    """How to get rid of a state lock: never with the id of the one that was asked for."""
    if any(known in text for known in OF_PG):
        return _PG
    held = held_id(text)
    where = component if "/" in component else f"ENVIRONMENT/{component}"
    return ("" if held else _NOT_TOLD) + _UNLOCK.format(component=where, lock=held or "LOCK_ID")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
