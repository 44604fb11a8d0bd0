"""terraform plan: what would change, read from its JSON lines as they come, and the plan saved to a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from saltform.errors import TerraformError
from saltform.terraform.command import arguments, flag, unless_default
from saltform.terraform.session import Session
from saltform.terraform.stream import run_stream, stream_failed

NO_CHANGES, CHANGES = 0, 2  # -detailed-exitcode


@dataclass
class PlanStream:
    """What a plan found. `changes` and `drift` are `{"address", "action", "resource_type", "reason"?}`."""

    changed: bool = False
    changes: list[dict[str, str]] = field(default_factory=list)
    drift: list[dict[str, str]] = field(default_factory=list)
    outputs: dict[str, dict[str, Any]] = field(default_factory=dict)  # name → {"action", "sensitive"}
    counts: dict[str, int] = field(default_factory=lambda: {"add": 0, "change": 0, "remove": 0, "import": 0})
    diagnostics: list[Mapping[str, Any]] = field(default_factory=list)
    seconds: float = 0.0
    complete: bool = False  # terraform came as far as its own summary


def argv(
    out: Path | None,
    *,
    refresh: bool = True,
    refresh_only: bool = False,
    destroy: bool = False,
    replace: Sequence[str] = (),
    lock: bool = True,
) -> list[str]:
    return arguments(
        "plan",
        json=flag(True),
        input=False,
        detailed_exitcode=flag(True),
        out=out,
        refresh=unless_default(refresh, True),
        refresh_only=flag(refresh_only),
        destroy=flag(destroy),
        replace=replace,
        lock=unless_default(lock, True),
    )


def run(
    session: Session,
    out: Path | None,
    *,
    refresh: bool = True,
    refresh_only: bool = False,
    destroy: bool = False,
    replace: Sequence[str] = (),
    lock: bool = True,
) -> PlanStream:
    """Plan, and save the plan in `out`. Without `out` it is only looked at."""
    words = argv(out, refresh=refresh, refresh_only=refresh_only, destroy=destroy, replace=replace, lock=lock)
    plan = PlanStream()
    result, stream = run_stream(session, words, partial(_take, plan))
    plan.diagnostics, plan.seconds = stream.diagnostics, result.seconds
    # Go programs exit with 2 when they crash, too: without the summary it isn't "changes found".
    if result.exit_code not in (NO_CHANGES, CHANGES) or not plan.complete:
        if out is not None:
            out.unlink(missing_ok=True)  # terraform saves what it has of a failed plan, too
        raise stream_failed(session, "plan", result, stream)
    plan.changed = result.exit_code == CHANGES
    if out is not None and not out.exists():
        raise TerraformError("plan", session.component, 0, (), f"it ended well but left no plan file {out}")
    return plan


def _take(plan: PlanStream, event: Mapping[str, Any]) -> None:
    kind = event.get("type")
    if kind == "planned_change":
        plan.changes.append(_change(event["change"]))
    elif kind == "resource_drift":
        plan.drift.append(_change(event["change"]))
    elif kind == "outputs":
        plan.outputs = {
            name: {"action": item.get("action", "noop"), "sensitive": bool(item.get("sensitive"))}
            for name, item in event["outputs"].items()
        }
    elif kind == "change_summary":
        plan.complete = True
        plan.counts.update({name: n for name, n in event["changes"].items() if name in plan.counts})


def _change(change: Mapping[str, Any]) -> dict[str, str]:
    resource = change["resource"]
    found = {
        "address": resource["addr"],
        "action": change["action"],
        "resource_type": resource["resource_type"],
    }
    if "reason" in change:
        found["reason"] = change["reason"]
    if "previous_resource" in change:
        found["moved_from"] = change["previous_resource"]["addr"]
    return found
