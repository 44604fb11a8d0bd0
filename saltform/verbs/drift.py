"""drift: what is not as the states say, component by component, and since when.

Reality against state is drift; code against state is a pending change. Exit code 2 means that there is drift nobody
has acknowledged. A component whose check failed is unknown, not clean.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping
from typing import Any

from saltform.config import Component
from saltform.engine.context import EnvironmentContext
from saltform.engine.options import Options
from saltform.engine.result import finding_entry, result
from saltform.engine.run import Run
from saltform.engine.selection import orphan_note
from saltform.engine.services import Services
from saltform.engine.work import ComponentWork
from saltform.errors import SaltformError
from saltform.events import drift_changed_tag, drift_tag
from saltform.features.drift.checking import Found, applied, look
from saltform.features.drift.differences import COMPUTED, DRIFT, REORDERED, Difference, compare
from saltform.features.drift.healing import heal
from saltform.features.drift.turns import InTurn
from saltform.features.minions.drift import CLEAN, DRIFTED, UNKNOWN, check_minions, status_of
from saltform.graph import Graph
from saltform.report.words import duration, plural
from saltform.runlog import StepRecord, now
from saltform.runlog.drift import Check
from saltform.status import Status


def drift(services: Services, environment: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Check an environment, or the named components; with `heal` apply back what drifted."""
    options = Options.parse(given)
    with EnvironmentContext(services, environment) as context:
        names, notes = _due(context, options)
        left = [orphan_note(context)] if context.orphans and not options.components else []
        if not names:
            said = notes[0] if notes else "no component is in pillar"
            return result(
                "drift", environment=environment, summary=f"drift {environment}: {said}", steps={}, notes=left
            )
        run = _DriftRun(
            context,
            "drift",
            Graph(dict.fromkeys(names, ())),  # a check needs no other one
            dataclasses.asdict(options),
            "continue",
            options.parallelism or context.environment.parallelism,
            [*notes, *left],
        )
        checks = _Checks(context)
        returned = run.execute(InTurn(names, options.over, services.cancel).work(checks.step))
    if not options.heal:
        return returned
    from saltform.verbs.deploy import deploy  # another verb

    return heal(context, options, returned, deploy)


def _due(context: EnvironmentContext, options: Options) -> tuple[list[str], list[str]]:
    """The components to check, and what has to be said about those left out."""
    names = context.select(list(options.components))
    if not options.every:
        return names, []
    log, run = context.services.runlog.drift, context.services.run_id
    before = now(-options.every)
    due = [name for name in names if log.claim(context.name, name, before, now(), run)]
    rest = len(names) - len(due)
    return due, [f"{rest} of {len(names)} checked within the last {duration(options.every)}"] if rest else []


class _DriftRun(Run):
    """A run whose steps are checks."""

    def summary(self, seconds: float) -> str:
        checks = [step.details.get("check") or {"status": "unknown"} for step in self.steps.values()]
        counted = Counter(check["status"] for check in checks)
        words = ("clean", "never applied", "acknowledged", "drifted", "unknown")
        said = ", ".join(f"{counted[word]} {word}" for word in words if counted[word])
        pending = sum(bool(check.get("pending")) for check in checks)
        apart = sum(len(check.get("computed", ())) for check in checks)
        hidden = sum(sum(check.get("ignored", {}).values()) for check in checks)
        asides = [f"{pending} with a pending change"] if pending else []
        asides += [f"{plural(apart, 'difference')} only computed"] if apart else []
        asides += [f"{hidden} hidden by ignore rules"] if hidden else []
        aside = f" ({', '.join(asides)})" if asides else ""
        return f"drift {self.context.name}: {said} in {duration(seconds)}{aside}"


class _Checks:
    """The checks of one run, each compared with the last one on record."""

    def __init__(self, context: EnvironmentContext) -> None:
        self._context = context
        self._log = context.services.runlog.drift
        self._last = self._log.checks(context.name)

    def step(self, name: str, step: StepRecord) -> Status:
        component = self._context.component(name)
        check: dict[str, Any] = {"status": "unknown"}
        try:
            if applied(self._context, name):
                part = ComponentWork(self._context, component, self._context.inputs(component), step)
                check = self._with_minions(component, self._compared(name, look(part)))
            else:
                check = self._compared(name, Found()) | {"status": "never applied"}
        except SaltformError:
            self._end(name, step, check)
            raise
        self._end(name, step, check)
        step.reason = _in_short(check)
        if check["status"] == "unknown":
            raise _not_all_answered(name, check["minions"])
        return Status.PLANNED if check["status"] == "drifted" else Status.UNCHANGED

    def _compared(self, name: str, found: Found) -> dict[str, Any]:
        moment, run = now(), self._context.services.run_id
        real = [each for each in found.differences if each.kind == DRIFT]
        known = self._log.findings(self._context.name, name)
        findings, resolved = compare(known, real, (self._context.name, name), moment, run)
        self._log.keep([*findings, *resolved])
        entries = [finding_entry(finding, moment) for finding in findings]
        fresh = [entry for entry in entries if entry["state"] == "new"]
        pending = {change["address"] for change in found.pending}
        check: dict[str, Any] = {
            "status": "drifted" if fresh else "acknowledged" if entries else "clean",
            "findings": entries,
            "resolved": [finding_entry(finding, moment) | {"state": "resolved"} for finding in resolved],
            "computed": _apart(found.differences, COMPUTED),
            "reordered": _apart(found.differences, REORDERED),
            "ignored": found.hidden,
            "pending": found.pending,
            "overlap": sorted({entry["address"] for entry in entries} & pending),
        }
        return check | ({"waits_for": found.waits_for} if found.waits_for else {})

    def _with_minions(self, component: Component, check: dict[str, Any]) -> dict[str, Any]:
        """The same check with its minions: one that differs is drift, one that is unknown makes it unknown."""
        minions = check_minions(self._context.services, component, self._context.masked)
        if not minions:
            return check
        found = status_of(minions)
        if found == DRIFTED or (found == UNKNOWN and check["status"] != DRIFTED):
            check["status"] = found
        return check | {"minions": minions}

    def _end(self, name: str, step: StepRecord, check: dict[str, Any]) -> None:
        """On record with since when it is so, and told to whoever listens."""
        moment, services, last = now(), self._context.services, self._last.get(name)
        changed = last is None or last.status != check["status"]
        check["since"] = moment if last is None or changed else last.since
        check["was"] = last.status if last else ""
        step.details["check"] = check
        where = (self._context.name, name)
        self._log.keep_check(Check(*where, check["status"], check["since"], moment, services.run_id))
        told = {
            "run": services.run_id,
            "environment": self._context.name,
            "component": name,
            "status": check["status"],
            "was": check["was"],
            "changed": changed,
            "since": check["since"],
            "new": sum(entry["state"] == "new" for entry in check.get("findings", ())),
            "resolved": len(check.get("resolved", ())),
            "pending": len(check.get("pending", ())),
            "minions": sorted(minion for minion, item in check.get("minions", {}).items() if item["status"] != CLEAN),
        }
        services.events.fire(drift_tag(*where), told)
        if changed:
            services.events.fire(drift_changed_tag(*where), told)


def _apart(found: list[Difference], kind: str) -> list[dict[str, Any]]:
    return [
        {"address": each.address, "attribute": each.attribute, "before": each.before, "after": each.after}
        for each in found
        if each.kind == kind
    ]


def _in_short(check: Mapping[str, Any]) -> str:
    states = Counter(entry["state"] for entry in check["findings"])
    said = [f"{plural(states['new'], 'difference')}"] if states["new"] else []
    said += [f"{states['known']} acknowledged"] if states["known"] else []
    said += [f"{len(check['resolved'])} resolved"] if check["resolved"] else []
    minions = Counter(item["status"] for item in check.get("minions", {}).values())
    said += [f"{plural(minions[DRIFTED], 'minion')} not as its highstate says"] if minions[DRIFTED] else []
    said += [f"{plural(minions[UNKNOWN], 'minion')} unknown"] if minions[UNKNOWN] else []
    said += ["pending change"] if check["pending"] or check.get("waits_for") else []
    said += ["never applied"] if check["status"] == "never applied" else []
    return ", ".join(said)


def _not_all_answered(name: str, minions: Mapping[str, Mapping[str, Any]]) -> SaltformError:
    lost = [f"{minion}: {item['why']}" for minion, item in minions.items() if item["status"] == UNKNOWN]
    return SaltformError(
        f"not every minion of {name} could be checked",
        "; ".join(lost),
        "what Terraform made is as its state says; check again when they answer",
    )
