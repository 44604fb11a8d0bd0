"""heal: what drifted is applied back, by a deploy of its own run that compares with reality.

A component whose code has changed too is left alone: healing it would deploy that change unasked.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from saltform.errors import EXIT_CHANGES, EXIT_DONE
from saltform.operations.run.options import Options
from saltform.operations.run.services import Services
from saltform.runlog import new_run_id, now
from saltform.runlog.drift import resolve
from saltform.status import Status

Deploy = Callable[[Services, str, Mapping[str, Any]], dict[str, Any]]


def heal(
    services: Services, environment: str, options: Options, checked: dict[str, Any], deploy: Deploy
) -> dict[str, Any]:
    """The check's return with what the deploy did about it."""
    drifted = [name for name, step in checked["steps"].items() if _is_terraforms(step)]
    checked["notes"] += [
        f"{minion} is healed by its highstate: salt {minion} state.apply"
        for step in checked["steps"].values()
        for minion, item in step.get("check", {}).get("fleet", {}).items()
        if item["status"] == "drifted"
    ]
    mixed = [name for name in drifted if _has_pending(checked["steps"][name]["check"])]
    checked["notes"] += [_left_alone(environment, name) for name in mixed]
    names = [name for name in drifted if name not in mixed]
    if not names:
        if not mixed:
            checked["notes"].append("nothing to heal: no component has drifted in a way that nobody acknowledged")
        return checked
    checked["notes"] += [_also_known(name) for name in names if _has_known(checked["steps"][name]["check"])]
    given = {"components": names, "only": True, "refresh": True, "dry_run": options.dry_run}
    mine = dataclasses.replace(services, run_id=new_run_id())
    healed = deploy(mine, environment, given | {"parallelism": options.parallelism or None})
    checked["healed"] = {"run": healed["run"], "steps": healed["steps"], "retcode": healed["retcode"]}
    checked["summary"] += f"; {healed['summary']}"
    done = _resolve(mine, environment, healed, checked)
    checked["notes"] += [f"healed by run {healed['run']}: {', '.join(done)}"] if done else []
    if checked["retcode"] == EXIT_CHANGES and not mixed or healed["retcode"] not in (EXIT_DONE, EXIT_CHANGES):
        checked["retcode"], checked["success"] = healed["retcode"], healed["success"]
    return checked


def _is_terraforms(step: dict[str, Any]) -> bool:
    """Drift that a deploy can undo; what differs on a minion is its highstate's business."""
    found = step.get("check", {}).get("findings", ())
    return step["status"] == Status.PLANNED.value and any(entry["state"] == "new" for entry in found)


def _has_pending(check: dict[str, Any]) -> bool:
    return bool(check.get("pending") or check.get("waits_for"))


def _has_known(check: dict[str, Any]) -> bool:
    return any(entry["state"] == "known" for entry in check["findings"])


def _also_known(name: str) -> str:
    return f"{name} is healed as a whole: what was acknowledged there is applied back too"


def _left_alone(environment: str, name: str) -> str:
    return (
        f"{name} is not healed: its code has changed too. Both at once: "
        f"salt-run infrastructure.deploy {environment} components={name} only=True refresh=True"
    )


def _resolve(services: Services, environment: str, healed: dict[str, Any], checked: dict[str, Any]) -> list[str]:
    """What was applied is as the state says again; it is clean if its minions are, too."""
    moment = now()
    done = [name for name, step in healed["steps"].items() if step["status"] == Status.APPLIED.value]
    for name in done:
        found = services.runlog.drift.findings(environment, name)
        services.runlog.drift.keep([resolve(finding, moment, services.run_id) for finding in found])
        if any(item["status"] != "clean" for item in checked["steps"][name]["check"].get("fleet", {}).values()):
            continue
        check = services.runlog.drift.checks(environment)[name]
        services.runlog.drift.keep_check(
            dataclasses.replace(check, status="clean", since=moment, checked=moment, run=services.run_id)
        )
    return done
