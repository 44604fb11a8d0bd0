"""heal: what drifted is applied back, by a deploy of its own run that compares with reality.

1. A component whose code has changed too is left alone: healing it would deploy that change unasked.
2. Minions are left alone as well. Only those whose instance the heal has created get their highstate; with
   `minions=True` all of the component's do, also where only they differ.
3. Afterwards the minions of what was healed are looked at again. What still differs is drift: it is listed, and the
   exit code says so.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from saltform.engine.context import EnvironmentContext
from saltform.engine.options import Options
from saltform.engine.services import Services
from saltform.errors import EXIT_CHANGES, EXIT_DONE, EXIT_FAILED
from saltform.features.minions.drift import CLEAN, DRIFTED, UNKNOWN, check_minions, status_of
from saltform.report.drift import difference
from saltform.runlog import new_run_id, now
from saltform.runlog.drift import resolve
from saltform.status import Status

Deploy = Callable[[Services, str, Mapping[str, Any]], dict[str, Any]]
_THROUGH = (Status.APPLIED.value, Status.UNCHANGED.value)


def heal(context: EnvironmentContext, options: Options, checked: dict[str, Any], deploy: Deploy) -> dict[str, Any]:
    """The check's return with what the deploy did about it, and what still differs."""
    environment, notes = context.name, checked["notes"]
    checks = {name: step.get("check", {}) for name, step in checked["steps"].items()}
    drifted = [
        name for name, check in checks.items() if _is_terraforms(check) or (options.minions and _minions(check))
    ]
    mixed = [name for name in drifted if _has_pending(checks[name])]
    names = [name for name in drifted if name not in mixed]
    alone = [name for name in checks if name in mixed or not options.minions]
    notes += [_by_hand(minion) for name in alone for minion in _minions(checks[name])]
    notes += [_left_alone(environment, name) for name in mixed]
    notes += [_also_known(name) for name in names if _is_terraforms(checks[name]) and _has_known(checks[name])]
    minions_of = {name: check.get("minions", {}) for name, check in checks.items()}
    if not names:
        if not drifted:
            notes.append(
                "nothing that Terraform made is to be healed: none of it has drifted, or somebody has acknowledged it"
            )
        return checked
    mine = dataclasses.replace(context.services, run_id=new_run_id())
    healed = deploy(mine, environment, _given(names, options))
    checked["healed"] = {"run": healed["run"], "steps": healed["steps"], "retcode": healed["retcode"]}
    checked["summary"] += f"; {healed['summary']}"
    if options.dry_run:
        _judge(checked, healed, minions_of)
        return checked
    minions_of |= {
        name: check_minions(mine, context.component(name), context.masked)
        for name in names
        if healed["steps"].get(name, {}).get("status") in _THROUGH
    }
    done = [name for name in names if healed["steps"].get(name, {}).get("status") == Status.APPLIED.value]
    still = {name: [*_findings(checks[name], name in done), *_states(minions_of[name])] for name in checks}
    _resolve(mine, environment, done, {name: status_of(minions_of[name]) for name in names if not still[name]})
    notes += [f"healed by run {healed['run']}: {', '.join(done)}"] if done else []
    notes += [f"{name} still differs: {line}" for name, lines in still.items() for line in lines]
    checked["still"] = {name: lines for name, lines in still.items() if lines}
    _judge(checked, healed, minions_of)
    return checked


def _given(names: list[str], options: Options) -> dict[str, Any]:
    given = {"components": names, "only": True, "refresh": True, "dry_run": options.dry_run, "heal": True}
    return given | {"minions": options.minions, "parallelism": options.parallelism or None}


def _judge(checked: dict[str, Any], healed: dict[str, Any], minions_of: Mapping[str, Mapping[str, Any]]) -> None:
    """The exit code: the heal's own trouble, then what could not be checked, then what still differs."""
    code = checked["retcode"]
    if healed["retcode"] not in (EXIT_DONE, EXIT_CHANGES):
        code = healed["retcode"]
    elif code == EXIT_CHANGES:
        found = {status_of(minions) for minions in minions_of.values()}
        left = checked.get("still") or DRIFTED in found or healed["retcode"] == EXIT_CHANGES
        code = EXIT_CHANGES if left else EXIT_FAILED if UNKNOWN in found else EXIT_DONE
    checked["retcode"], checked["success"] = code, code in (EXIT_DONE, EXIT_CHANGES)


def _is_terraforms(check: Mapping[str, Any]) -> bool:
    """Drift that a deploy can undo; what differs on a minion is its highstate's business."""
    return any(entry["state"] == "new" for entry in check.get("findings", ()))


def _minions(check: Mapping[str, Any]) -> list[str]:
    """Those that are not as their highstate says."""
    return [minion for minion, item in check.get("minions", {}).items() if item["status"] == DRIFTED]


def _has_pending(check: Mapping[str, Any]) -> bool:
    return bool(check.get("pending") or check.get("waits_for"))


def _has_known(check: Mapping[str, Any]) -> bool:
    return any(entry["state"] == "known" for entry in check["findings"])


def _findings(check: Mapping[str, Any], healed: bool) -> list[str]:
    """What is not as its state says, of a component that was not applied."""
    new = [entry for entry in check.get("findings", ()) if entry["state"] == "new"]
    return [] if healed else [difference(entry)[1] for entry in new]


def _states(minions: Mapping[str, Mapping[str, Any]]) -> list[str]:
    return [
        f"{minion}: {state['state']} ({state['comment']})"
        for minion, item in minions.items()
        for state in item.get("states", ())
    ]


def _by_hand(minion: str) -> str:
    return f"{minion} is healed by its highstate: salt {minion} state.apply; or the same check with minions=True"


def _also_known(name: str) -> str:
    return f"{name} is healed as a whole: what was acknowledged there is applied back too"


def _left_alone(environment: str, name: str) -> str:
    return (
        f"{name} is not healed: its code has changed too. Both at once: "
        f"salt-run infrastructure.deploy {environment} components={name} only=True refresh=True"
    )


def _resolve(services: Services, environment: str, done: list[str], well: Mapping[str, str]) -> None:
    """What was applied is as the state says again; a component is clean if its minions are, too."""
    moment, log = now(), services.runlog.drift
    for name in done:
        log.keep([resolve(finding, moment, services.run_id) for finding in log.findings(environment, name)])
    for name, word in well.items():
        if word == CLEAN:
            check = log.checks(environment)[name]
            log.keep_check(
                dataclasses.replace(check, status=CLEAN, since=moment, checked=moment, run=services.run_id)
            )
