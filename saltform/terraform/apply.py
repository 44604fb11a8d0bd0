"""terraform apply: a saved plan and nothing else, its progress read from the JSON lines as they come."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from saltform.terraform.command import arguments, flag
from saltform.terraform.session import Session
from saltform.terraform.stream import OnEvent, run_stream, stream_failed


@dataclass
class ApplyStream:
    """What an apply did. `outputs` are names: the values are read from the state."""

    counts: dict[str, int] = field(default_factory=lambda: {"add": 0, "change": 0, "remove": 0, "import": 0})
    diagnostics: list[Mapping[str, Any]] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    applied: list[str] = field(default_factory=list)  # addresses, in the order in which they were done
    seconds: float = 0.0


def argv(plan: Path) -> list[str]:
    return arguments("apply", str(plan), json=flag(True), input=False)


def run(session: Session, plan: Path, *, on_event: OnEvent | None = None) -> ApplyStream:
    """Apply a saved plan. StalePlan when the state has moved since; an error's data say what was applied."""
    applied = ApplyStream()

    def take(event: Mapping[str, Any]) -> None:
        _take(applied, event)
        if on_event is not None:
            on_event(event)

    result, stream = run_stream(session, argv(plan), take)
    applied.diagnostics, applied.seconds = stream.diagnostics, result.seconds
    if result.exit_code != 0:
        error = stream_failed(session, "apply", result, stream)
        error.data["applied"] = applied.applied
        raise error
    return applied


def _take(applied: ApplyStream, event: Mapping[str, Any]) -> None:
    kind = event.get("type")
    if kind == "apply_complete":
        applied.applied.append(event["hook"]["resource"]["addr"])
    elif kind == "outputs":
        applied.outputs = sorted(event["outputs"])
    elif kind == "change_summary":
        applied.counts.update({name: n for name, n in event["changes"].items() if name in applied.counts})
