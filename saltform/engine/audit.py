"""What goes into the audit: everything that somebody asked for, decided or changed, and nothing that is a secret."""

from __future__ import annotations

import json
import socket
from typing import Any

from saltform.engine.services import Services
from saltform.files import alone, write_atomic
from saltform.runlog import RunRecord, StepRecord, now
from saltform.runlog.audit import Anchor
from saltform.status import Status

# A run of these changes nothing, and drift checks are many.
QUESTIONS = ("plan", "drift")


def note(services: Services, environment: str, action: str, run: str = "", **content: Any) -> None:
    """Add an entry to the environment's chain, and keep how far it goes in a file apart from it."""
    about = {
        "action": action,
        "author": services.author,
        "origin": services.origin,
        "host": socket.gethostname(),
        "run": run or services.run_id,
    }
    anchor = services.runlog.audit.append(environment, now(), about, content)
    _move_on(services, environment, anchor)


def _move_on(services: Services, environment: str, anchor: Anchor) -> None:
    """Only forward, and only along the chain: of two runs at once, the one with the older entry may come last.

    Where the entry that was kept is not in the chain any more, that stays the proof.
    """
    with alone(services.layout.anchor_lock(environment)):
        kept = read_anchor(services, environment)
        if kept is None or (kept.number < anchor.number and services.runlog.audit.has(environment, kept)):
            write_atomic(services.layout.audit_anchor(environment), json.dumps(vars(anchor)).encode())


def note_run(services: Services, record: RunRecord, steps: dict[str, StepRecord]) -> None:
    """One entry for a run, however many components it was about: those that are unchanged are only counted."""
    if record.verb in QUESTIONS or record.options.get("dry_run"):
        return
    unchanged = [name for name, step in steps.items() if step.status == Status.UNCHANGED.value]
    note(
        services,
        record.environment,
        record.verb,
        record.id,
        asked_by=record.author,
        status=record.status,
        options=record.options,
        unchanged=len(unchanged),
        components={name: _outcome(step) for name, step in steps.items() if name not in unchanged},
    )


def read_anchor(services: Services, environment: str) -> Anchor | None:
    """How far the chain went when this master last wrote to it; None when that can't be told any more."""
    try:
        return Anchor(**json.loads(services.layout.audit_anchor(environment).read_bytes()))
    except (OSError, ValueError, TypeError):
        return None


def anchored(services: Services) -> list[str]:
    """The environments whose chain this master has written to."""
    return [path.stem for path in services.layout.audit_anchor("any").parent.glob("[!.]*.json")]


def _outcome(step: StepRecord) -> dict[str, Any]:
    found = {"status": step.status, "reason": step.reason, "release": step.release, "serial": step.serial}
    return {name: value for name, value in found.items() if value not in ("", None)}
