"""A component as a state: what `salt/_states/terraform_resource.py` returns, exact also when nothing may be changed.

A state's return is `name`, `result` (True, False, or None for "would change"), `changes` and `comment`. Changes are
address → action; an output that will change alone is one too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from saltform.engine.context import EnvironmentContext
from saltform.engine.options import Options, bad
from saltform.engine.selection import find
from saltform.engine.services import Services
from saltform.errors import SaltformError
from saltform.features.states.foreign import refuse_foreign
from saltform.report.words import HIDDEN, plural
from saltform.status import Status
from saltform.terraform import planning
from saltform.tfstate import Output
from saltform.verbs import component_commands as commands
from saltform.verbs.one_component import asking, split
from saltform.verbs.permission import check_work
from saltform.verbs.status import status
from saltform.workspace.root import address_in_module


def returned(
    name: str, result: bool | None, comment: str, changes: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    return {"name": name, "result": result, "comment": comment, "changes": dict(changes or {})}


def present(services: Services, name: str, given: Mapping[str, Any], test: bool) -> dict[str, Any]:
    """Apply the component, or plan it under test."""
    command = commands.plan if test else commands.apply
    return _of_run(name, command(services, name, given), test)


def absent(services: Services, name: str, given: Mapping[str, Any], test: bool) -> dict[str, Any]:
    """Destroy the component, or plan that under test."""
    environment, component = split(services, name)
    with EnvironmentContext(services, environment) as context:
        known = component in context.everything
        if not known or not context.resources(component):
            return returned(name, True, f"{name} has nothing" if known else f"{name} is not there")
        if context.component(component).stateful and Options.parse(given).preserve_data:
            raise SaltformError(
                f"{name} is stateful: refused to delete what it holds", "", "if the data may go: preserve_data: False"
            )
        commands.check_nobody_needs(context, component)
    if test:
        return _planned_destroy(services, name)
    return _of_run(name, commands.destroy(services, name, {**given, "yes": True}), test)


def output(services: Services, name: str, condition: Mapping[str, Any], test: bool) -> dict[str, Any]:
    """Whether a condition on `environment/component.output` holds.

    The name is not the component's: a requisite on that one would mean this state as well. Under test a condition
    can't be known while changes are pending.
    """
    whole, dot, wanted = str(name).partition(".")
    if not dot:
        raise SaltformError(f"{name!r} is not an output", "expected environment/component.output", f"{name}.id")
    environment, component = split(services, whole)
    with EnvironmentContext(services, environment) as context:
        found = context.outputs(find(context, component).name).get(wanted)
    if found is not None and found.sensitive and set(condition) & {"equals", "matches"}:
        check_work(services, "present", [name, False])  # who may ask often enough whether it matches knows the value
    failed = _failed_condition(found, condition or {"exists": True})
    if not failed:
        return returned(name, True, f"{name} is as expected")
    if test and status(services, environment)["components"][component]["status"] != "applied":
        return returned(name, None, f"{name} is known once {whole} is applied")
    return returned(name, False, f"{name} {failed}")


def _of_run(name: str, run: Mapping[str, Any], test: bool) -> dict[str, Any]:
    step = next(iter(run["steps"].values()))
    error = step.get("error")
    if not run["success"]:
        changes = _changes(step, done=(error or {}).get("applied", ()))
        return returned(name, False, _said(error) if error else step["reason"], changes)
    if step["status"] == Status.UNCHANGED.value:
        return returned(name, True, f"{name} is as pillar says")
    changes = _changes(step)
    if step["status"] == Status.DEFERRED.value:
        return returned(name, None, f"{name} is {step['reason']}", changes or {name: step["reason"]})
    counted = ", ".join(f"{step[word]} to {word}" for word in ("add", "change", "destroy") if step[word])
    if test:
        return returned(name, None, f"{name} would change: {counted or 'outputs'}", changes)
    return returned(name, True, f"{name} was {step['status']} in run {run['run']}", changes)


def _changes(step: Mapping[str, Any], done: Any = None) -> dict[str, Any]:
    """Address → action; of a run that failed, only what was done before."""
    only = None if done is None else {address_in_module(address) for address in done}
    changes = {item["address"]: item["action"] for item in step["changes"] if only is None or item["address"] in only}
    if only is None and step.get("outputs"):
        changes["outputs"] = step["outputs"]
    return changes


def _said(error: Mapping[str, Any]) -> str:
    text = f"{error['summary']}: {error['detail']}" if error["detail"] else error["summary"]
    return f"{text}\nfix: {error['fix']}" if error["fix"] else text


def _planned_destroy(services: Services, name: str) -> dict[str, Any]:
    with asking(services, name) as (part, session):
        refuse_foreign(part.context, part.component.name)
        plan = planning.run(session, None, destroy=True, lock=False)
    changes = {address_in_module(item["address"]): item["action"] for item in plan.changes}
    if not changes:
        return returned(name, True, f"{name} has nothing left in reality")
    return returned(name, None, f"{name} would be destroyed: {plural(len(changes), 'resource')}", changes)


def _failed_condition(found: Output | None, condition: Mapping[str, Any]) -> str:
    """Which condition doesn't hold, or nothing. A sensitive value is compared, and never shown."""
    if "exists" in condition and bool(condition["exists"]) != (found is not None):
        return "is there" if found is not None else "is not there"
    if found is None:
        return "is not there" if set(condition) & {"equals", "matches"} else ""
    shown = HIDDEN if found.sensitive else repr(found.value)
    if "equals" in condition and found.value != condition["equals"]:
        return f"is {shown}, expected {HIDDEN if found.sensitive else repr(condition['equals'])}"
    if "matches" in condition:
        text = found.value if isinstance(found.value, str) else json.dumps(found.value, sort_keys=True)
        try:
            if not re.search(str(condition["matches"]), text):
                return f"is {shown}, expected a match of {condition['matches']!r}"
        except re.error as error:
            raise bad("matches", f"{condition['matches']!r} is no regular expression: {error}") from None
    return ""
