"""strays: resources with our tags that are in no state: made by a terraform that was killed before it recorded them.

1. `adopt=True` imports a stray where exactly one resource of its type is planned to be created and only one stray
   could be it. The rest of the component's plan waits for the next deploy or resume.
2. `remove=True` removes the others one by one, those of stateful components only with `preserve_data=False`.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from saltform.config import select
from saltform.config.approval import DESTRUCTIVE, WHEN
from saltform.engine.context import EnvironmentContext
from saltform.engine.options import bad, flag, is_dry
from saltform.engine.result import result
from saltform.engine.run import Run
from saltform.engine.services import SHELL, Services
from saltform.engine.work import ComponentWork
from saltform.errors import EXIT_CHANGES, EXIT_DONE
from saltform.features.approval.approvers import is_root
from saltform.features.recovery.stray_kinds import KINDS, ORDER
from saltform.features.recovery.strays import Stray, ec2_client, find, mentioned
from saltform.graph import Graph
from saltform.runlog import StepRecord
from saltform.status import Status
from saltform.terraform import import_, planning
from saltform.terraform.session import Session
from saltform.verbs.one_component import inputs_or_null, record_state_edited
from saltform.workspace.root import address_in_module


def strays(
    services: Services,
    environment: str | None,
    components: Any = None,
    adopt: Any = None,
    remove: Any = None,
    preserve_data: Any = None,
    dry_run: Any = None,
) -> dict[str, Any]:
    """Name them, adopt them, or remove them; a dry run only names them."""
    adopting, removing = flag("adopt", adopt or False), flag("remove", remove or False)
    if adopting and removing:
        raise bad("remove", "adopt and remove are two answers to one question: expected one of them")
    keeping = flag("preserve_data", True if preserve_data is None else preserve_data)
    with EnvironmentContext(services, environment) as context:
        names = select(components, context.everything) if components else None
        found, notes = find(context, names)
        if found and (adopting or removing) and not is_dry(dry_run):
            return _act(context, found, notes, "adopt" if adopting else "remove", keeping)
        if found:
            notes.append("adopt=True takes in what one planned resource alone could be, remove=True removes the rest")
        said = f"{len(found)} stray{'' if len(found) == 1 else 's'}"
        return result(
            "strays",
            EXIT_CHANGES if found else EXIT_DONE,
            environment=context.name,
            summary=f"{context.name}: {said}",
            strays=[vars(item) for item in found],
            notes=notes,
        )


def _act(
    context: EnvironmentContext, found: list[Stray], notes: list[str], action: str, keeping: bool
) -> dict[str, Any]:
    by_component: dict[str, list[Stray]] = {}
    for item in found:
        if item.why_not:
            notes.append(f"{item.component}: {item.type} {item.id} is left alone: {item.why_not}")
        else:
            by_component.setdefault(item.component, []).append(item)
    left: list[Stray] = [item for item in found if item.why_not]
    run = Run(context, "strays", Graph(dict.fromkeys(by_component, ())), {"action": action}, "continue", 1, notes)

    def work(name: str, step: StepRecord) -> Status:
        component, mine = context.component(name), by_component[name]
        part = ComponentWork(context, component, inputs_or_null(context, component), step)
        if action == "adopt":
            with part.at_work() as session:
                done = _adopt(part, session, _still(context, mine))
        else:
            with part.locked():
                done = _remove(part, _still(context, mine), keeping)
        left.extend(item for item in mine if item.id not in done)
        step.details["changes"] = [{"address": id_, "action": said} for id_, said in done.items()]
        for item in mine:
            if item.id not in done:
                step.reason = step.reason or f"{item.type} {item.id} is still there: {_why(action)}"
        return Status.APPLIED if done else Status.UNCHANGED

    returned = run.execute(work)
    returned["strays"] = [vars(item) for item in left]
    return returned


def _still(context: EnvironmentContext, mine: list[Stray]) -> list[Stray]:
    """Now that nobody else works on the component: those that are still in no state."""
    in_states = mentioned(context, {item.component for item in mine})
    return [item for item in mine if item.id not in in_states]


def _why(action: str) -> str:
    if action == "adopt":
        return "no planned resource, or more than one, could be it (remove=True removes it)"
    return "it can't be removed: see the log, or preserve_data=False for a stateful component"


def _adopt(part: ComponentWork, session: Session, mine: list[Stray]) -> dict[str, str]:
    """Import each that is the only one of its type, into the only address of that type that waits to be created."""
    part.prepare(session)
    part.tell("planning")
    stream = planning.run(session, None)
    waiting: dict[str, list[str]] = {}
    for change in stream.changes:
        if change["action"] == "create":
            waiting.setdefault(change["resource_type"], []).append(change["address"])
    many = Counter(item.resource for item in mine)
    done: dict[str, str] = {}
    for item in sorted(mine, key=lambda item: -_rank(item)):  # a VPC before what is in it
        addresses = waiting.get(item.resource, [])
        if not item.resource or many[item.resource] != 1 or len(addresses) != 1:
            continue
        part.tell(f"adopting {item.id}")
        import_.run(session, addresses[0], _import_id(part, item))
        done[item.id] = f"adopted as {address_in_module(addresses[0])}"
    if done:
        record_state_edited(part, "strays")
    return done


def _import_id(part: ComponentWork, item: Stray) -> str:
    with ec2_client(part.context, part.component) as ec2:
        return KINDS[item.type].name(ec2, item.id)


def _remove(part: ComponentWork, mine: list[Stray], keeping: bool) -> dict[str, str]:
    """Those that others still need are tried again after them, until a round removes nothing."""
    import botocore.exceptions

    if keeping and part.component.stateful:
        return {}
    services = part.services
    rule = part.context.environment.approval_of(part.component.name)
    if WHEN.index(rule.when) >= WHEN.index(DESTRUCTIVE) and not _root_here(services):
        part.step.reason = f"a removal needs approval (when: {rule.when}), so only root at the master's shell does it"
        return {}
    done: dict[str, str] = {}
    with ec2_client(part.context, part.component) as ec2:
        before = -1
        while before < len(done):
            before = len(done)
            for item in sorted(mine, key=_rank):
                if item.id in done or item.type not in KINDS:
                    continue
                part.tell(f"removing {item.id}")
                try:
                    KINDS[item.type].remove(ec2, item.id)
                    done[item.id] = "removed"
                except (botocore.exceptions.ClientError, botocore.exceptions.WaiterError) as error:
                    part.step.reason = f"{item.type} {item.id} is still there: {error}"
    if len(done) == len(mine):
        part.step.reason = ""
    return done


def _root_here(services: Services) -> bool:
    return is_root(services.author) and services.origin == SHELL


def _rank(item: Stray) -> int:
    return ORDER.index(item.type) if item.type in ORDER else len(ORDER)
