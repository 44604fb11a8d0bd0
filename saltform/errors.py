"""Every way an operation can end badly, one type each.

An error is written for the person on call: `summary` says what kind of trouble it is, and where; `detail` what
was found and why it matters, `fix` is something that can be copied or done. The loader modules translate
these at the boundary; nothing else in the engine matches on message texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

EXIT_DONE = 0
EXIT_FAILED = 1
EXIT_CHANGES = 2
EXIT_WAITING = 3
EXIT_LOCKED = 75
EXIT_CANCELLED = 130


class SaltformError(Exception):
    """The base of all errors that a user can be shown."""

    exit_code = EXIT_FAILED

    def __init__(self, summary: str, detail: str = "", fix: str = "", **data: Any) -> None:
        super().__init__(summary)
        self.summary = summary
        self.detail = detail
        self.fix = fix
        self.data = data

    def __str__(self) -> str:
        text = f"{self.summary}: {self.detail}" if self.detail else self.summary
        return f"{text}\n  fix: {self.fix}" if self.fix else text

    def as_dict(self) -> dict[str, Any]:
        """The error as it stands in a runner's return: plain, JSON-able and without a traceback."""
        return {
            "type": type(self).__name__,
            "summary": self.summary,
            "detail": self.detail,
            "fix": self.fix,
            **{name: value for name, value in self.data.items() if value is not None},
        }


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong in the pillar, and where."""

    path: str
    found: str
    expected: str
    nearest: str = ""

    def __str__(self) -> str:
        hint = f" (did you mean {self.nearest!r}?)" if self.nearest else ""
        return f"{self.path}: found {self.found}, expected {self.expected}{hint}"


class ConfigError(SaltformError):
    """The pillar, or another place that is configured, is wrong: all its problems at once."""

    def __init__(self, problems: Iterable[Problem], where: str = "the pillar") -> None:
        self.problems = list(dict.fromkeys(problems))  # once each, however often that place was read
        count = len(self.problems)
        super().__init__(
            f"{count} problem{'s' if count != 1 else ''} in {where}, nothing was started",
            "\n" + "\n".join(f"  - {problem}" for problem in self.problems),
            problems=[vars(problem) for problem in self.problems],
        )


class UnknownName(SaltformError):
    """A name given by the caller that doesn't exist: an environment, a component, a run."""

    def __init__(self, noun: str, name: str, known: Iterable[str], nearest: str = "", fix: str = "") -> None:
        names = sorted(known)
        listed = ", ".join(names[:10]) + (", …" if len(names) > 10 else "")
        hint = f" Did you mean {nearest!r}?" if nearest else ""
        super().__init__(
            f"unknown {noun} {name!r}" if name else f"which {noun}?",
            (f"known: {listed}." if names else f"there is no {noun} at all.") + hint,
            fix,
            name=name,
        )


class CycleError(SaltformError):
    """Components that need each other in a circle."""

    def __init__(self, path: list[str]) -> None:
        self.path = path
        super().__init__(
            "components need each other in a circle",
            " → ".join(path),
            "remove one `needs` or `inputs` edge on this path",
            cycle=path,
        )


class NotPromoted(SaltformError):
    """An environment that is made of promoted releases, and has none yet."""

    def __init__(self, environment: str, source: str) -> None:
        super().__init__(
            f"nothing was promoted to {environment} yet",
            f"its components are the releases that {source} proved (promoted_from: {source})",
            f"salt-run infrastructure.promote {source} {environment}",
        )


class NotReady(SaltformError):
    """An environment that must not be promoted from as it stands."""


class ModuleError(SaltformError):
    """A module that can't be found, read or parsed."""


class BinaryError(SaltformError):
    """No usable terraform or tofu, or one of the wrong version."""


class WorkspaceError(SaltformError):
    """A workspace that can't be written: permissions, disk, a stray file in the way."""


class NoRoom(WorkspaceError):
    """A disk that takes nothing any more: full, or read-only."""


class StateError(SaltformError):
    """A state that can't be read: malformed, newer than we know, out of reach."""


class StatesAway(StateError):
    """Nobody answers where the states are: the next one there could not be read either."""


class CredentialError(SaltformError):
    """A credential that could not be had, is partial, or doesn't authenticate."""


class TerraformError(SaltformError):
    """A terraform process that failed, with its own diagnostics."""

    def __init__(
        self,
        command: str,
        component: str,
        exit_code: int,
        diagnostics: Iterable[Mapping[str, Any]] = (),
        tail: str = "",
    ) -> None:
        self.diagnostics = list(diagnostics)
        said = [describe_diagnostic(item) for item in self.diagnostics if item.get("severity") == "error"]
        super().__init__(
            f"terraform {command} failed for {component} (exit code {exit_code})",
            "\n".join(said) or tail.strip() or "it printed no message",
            command=command,
            component=component,
            terraform_exit_code=exit_code,
        )


class StalePlan(TerraformError):
    """The state moved between plan and apply: the plan is refused, and made again."""


class PlanError(SaltformError):
    """A plan that can't be read as a whole, and so is neither judged nor applied."""


class PolicyDenied(SaltformError):
    """A policy doesn't let a plan be applied."""

    def __init__(self, component: str, verdicts: Iterable[Mapping[str, str]]) -> None:
        refused = list(verdicts)
        waits = all(verdict["level"] == "approve" for verdict in refused)
        super().__init__(
            f"policy does not let {component} be applied",
            "\n".join(_describe_verdict(verdict) for verdict in refused),
            "let a person decide: `approval: {when: policy}` (it is `never` here); or change the rule's level"
            if waits
            else "change what is planned, or the rule under infrastructure:policies",
            verdicts=refused,
        )


def _describe_verdict(verdict: Mapping[str, str]) -> str:
    needs = "needs a person: " if verdict["level"] == "approve" else ""
    what = f"{verdict['address']} {verdict['why']}".strip()
    return f"{needs}{what} (rule {verdict['rule']})"


class NotAllowed(SaltformError):
    """Somebody who may not do this here."""


class ApprovalRefused(SaltformError):
    """A person said no, or what was said no longer counts: nothing is applied."""


class Timeout(SaltformError):
    """A process that took longer than it may."""


class Cancelled(SaltformError):
    """Somebody stopped the run."""

    exit_code = EXIT_CANCELLED


class DataAtRisk(SaltformError):
    """A plan would delete what a stateful component holds."""


class NotConverged(SaltformError):
    """A component was applied, and its minions are not as they should be."""

    def __init__(self, component: str, seconds: float, missing: list[str]) -> None:
        super().__init__(
            f"{component} was applied and did not converge within {seconds:g} s",
            "\n".join(missing),
            "when the cause is gone: the same deploy again, or resume; it plans, and waits for the minions once more",
            missing=missing,
        )


class Locked(SaltformError):
    """Another run holds the component."""

    exit_code = EXIT_LOCKED


class LostLock(SaltformError):
    """A lock that was held is somebody else's now, or may be: whoever had it stops."""


class RunLogError(SaltformError):
    """The record of runs can't be read or written."""


def describe_diagnostic(item: Mapping[str, Any]) -> str:
    """One of Terraform's diagnostics as a line or two: summary, detail, and the address it is about."""
    where = f" ({item['address']})" if item.get("address") else ""
    detail = str(item.get("detail") or "").strip()
    return f"{item.get('summary', 'error')}{where}" + (f": {detail}" if detail else "")
