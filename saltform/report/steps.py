"""Which of a run's steps are worth a line of their own, and in which order; the same for every form of report.

1. Unchanged ones, of a drift check clean ones, are one line together, however many.
2. What happened comes in the order in which it happened; of what is still to come, the dangerous comes first.
3. Then what did not happen. Many with the same reason are one line: the reason names its culprit.
4. Failures come last, where a terminal's reader looks first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from saltform.report.plans import danger, remark
from saltform.status import Status

Step = Mapping[str, Any]
TOGETHER = 4  # so many with the same reason still get a line each

_LEFT_OUT = (Status.PENDING, Status.SKIPPED, Status.CANCELLED)
_STILL_TO_COME = (Status.PLANNED, Status.DEFERRED, Status.AWAITING_APPROVAL)


@dataclass
class Row:
    """One line of a report: a component, or several with the same fate."""

    names: list[str]
    step: Step

    @property
    def status(self) -> Status:
        return Status(self.step["status"])

    @property
    def word(self) -> str:
        return word(self.step)


@dataclass
class Sorted:
    """A run's steps, ready to be shown."""

    unchanged: list[str] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    failed: list[Row] = field(default_factory=list)
    nothing: str = Status.UNCHANGED.value  # the word for the unchanged ones

    def with_changes(self) -> list[Row]:
        """The rows whose changes are still to come, and so are worth reading one by one."""
        return [row for row in self.rows if row.status in _STILL_TO_COME and row.step.get("changes")]

    def with_verdicts(self) -> list[Row]:
        """The other rows that a policy had something to say about."""
        return [row for row in self.rows if row.status not in _STILL_TO_COME and row.step.get("verdicts")]


def word(step: Step) -> str:
    """How a step is called: a drift check by what it found, any other by its status."""
    return str(step.get("check", {}).get("status") or step["status"])


def sort_out(steps: Mapping[str, Step]) -> Sorted:
    found = Sorted()
    left_out: dict[tuple[str, str], list[str]] = {}
    for name, step in steps.items():
        status = Status(step["status"])
        if word(step) == Status.UNCHANGED or (word(step) == "clean" and not step.get("reason")):
            found.unchanged.append(name)
            found.nothing = word(step)
        elif status is Status.FAILED:
            found.failed.append(Row([name], step))
        elif status in _LEFT_OUT:
            left_out.setdefault((status.value, step.get("reason", "")), []).append(name)
        else:
            found.rows.append(Row([name], step))
    found.rows.sort(key=lambda row: danger(row.step) if row.status in _STILL_TO_COME else 0)
    for names in left_out.values():
        parts: Iterable[list[str]] = [names] if len(names) > TOGETHER else ([name] for name in names)
        found.rows += [Row(part, steps[part[0]]) for part in parts]
    return found


def note(row: Row) -> str:
    """What has to be said beside a step: the reason, or what it waits for."""
    reason = str(row.step.get("reason") or "")
    waits_for = row.step.get("waits_for") or []
    if not reason and waits_for:
        reason = f"waits for {', '.join(waits_for)}"
    return ", ".join(part for part in (remark(row.step), reason) if part)
