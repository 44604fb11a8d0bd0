"""strays: resources with our tags that are in no state: made by a terraform that was killed before it recorded them.

1. Whatever a generated root creates says in its tags of which environment and component it is and which run made the
   component. All that say this environment are asked for, with the credentials of its components.
2. What a state mentions anywhere, as a resource or as a part of one, is no stray. What a run made that this master
   doesn't know is somebody else's: named, and never touched.
3. `adopt=True` imports a stray where exactly one resource of its type is planned to be created and only one stray
   could be it. The rest of the component's plan waits for the next deploy or resume.
4. `remove=True` removes the others one by one, those of stateful components only with `preserve_data=False`.
"""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from saltform.config import Component, select
from saltform.config.approval import DESTRUCTIVE, WHEN
from saltform.config.kinds import KINDS as PROVIDERS
from saltform.credentials.aws import Refused, client
from saltform.errors import EXIT_CHANGES, EXIT_DONE, SaltformError, UnknownName
from saltform.graph import Graph
from saltform.operations.approval.people import is_root
from saltform.operations.environment.opened import Opened
from saltform.operations.run.options import bad, flag, is_dry
from saltform.operations.run.result import result
from saltform.operations.run.running import Run
from saltform.operations.run.services import SHELL, Services
from saltform.operations.states import errored
from saltform.operations.states.pulling import at_backend, pull
from saltform.operations.states.stray_kinds import KINDS, ORDER
from saltform.operations.step.hiding import texts
from saltform.operations.step.one_component import inputs_or_null, record_state_edited
from saltform.operations.step.part import TAGS, Part
from saltform.runlog import StepRecord
from saltform.status import Status
from saltform.terraform import import_, planning
from saltform.terraform.session import Session
from saltform.tfstate.fetched import Fetched, FetchedStates
from saltform.tfstate.local import LocalStates
from saltform.workspace.root import address_in_module

_GONE = ("shutting-down", "terminated")


@dataclass(frozen=True)
class Stray:
    """One resource that is in no state."""

    id: str
    type: str  # as the provider calls it
    component: str
    provider: str
    run: str  # that made its component
    resource: str = ""  # as Terraform calls its type; '' where we don't know
    why_not: str = ""  # why it can only be named


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
    with Opened(services, environment) as opened:
        names = select(components, [*opened.environment.components, *opened.orphans]) if components else None
        found, notes = find(opened, names)
        if found and (adopting or removing) and not is_dry(dry_run):
            return _act(opened, found, notes, "adopt" if adopting else "remove", keeping)
        if found:
            notes.append("adopt=True takes in what one planned resource alone could be, remove=True removes the rest")
        said = f"{len(found)} stray{'' if len(found) == 1 else 's'}"
        return result(
            "strays",
            EXIT_CHANGES if found else EXIT_DONE,
            environment=opened.name,
            summary=f"{opened.name}: {said}",
            strays=[vars(item) for item in found],
            notes=notes,
        )


def find(opened: Opened, names: Iterable[str] | None = None) -> tuple[list[Stray], list[str]]:
    """The strays of the environment, or of some components; and whom we couldn't ask."""
    wanted = None if names is None else set(names)
    known = [*opened.environment.components, *opened.orphans]
    asked: dict[str, Component] = {}  # one component for each provider: they have the same credentials
    for name in known:
        provider = opened.component(name).provider if wanted is None or name in wanted else None
        if provider is not None and PROVIDERS[provider.kind].check == "aws":
            asked.setdefault(provider.name, opened.component(name))
    found: list[Stray] = []
    notes: list[str] = []
    for component in asked.values():
        try:
            found += [item for item in _tagged(opened, component) if wanted is None or item.component in wanted]
        except (Refused, SaltformError) as error:
            notes.append(f"strays of {component.name} and the like can't be asked for: {error}")
    if not found:
        return [], notes
    try:
        in_states = _mentioned(opened, {*known, *opened.records})  # those that are renamed and not yet moved, too
    except (SaltformError, ValueError) as error:
        return [], [*notes, f"strays can't be told from what is in a state: {error}"]
    return [_judged(opened, item) for item in found if item.id not in in_states], notes


def named(opened: Opened, names: Iterable[str]) -> list[str]:
    """Notes about the strays of components that something was killed in."""
    found, notes = find(opened, names)
    return [
        *(f"{item.component}: {item.type} {item.id} has our tags and is in no state" for item in found),
        *([f"see and clear them: salt-run infrastructure.strays {opened.name}"] if found else []),
        *notes,
    ]


def _tagged(opened: Opened, component: Component) -> Iterator[Stray]:
    provider = component.provider.name if component.provider else ""
    with _ec2(opened, component) as ec2:
        tags: dict[tuple[str, str], dict[str, str]] = {}
        keys = [{"Name": "key", "Values": list(TAGS)}]
        for page in ec2.get_paginator("describe_tags").paginate(Filters=keys):
            for tag in page["Tags"]:
                tags.setdefault((tag["ResourceType"], tag["ResourceId"]), {})[tag["Key"]] = tag["Value"]
        ours = {key: value for key, value in tags.items() if value.get(TAGS[0]) == opened.name}
        gone = _gone(ec2, [id_ for kind, id_ in ours if kind == "instance"])
        for (kind, id_), tagged in sorted(ours.items()):
            if id_ not in gone:
                yield Stray(id_, kind, tagged.get(TAGS[1], ""), provider, tagged.get(TAGS[2], ""))


def _gone(ec2: Any, instances: Sequence[str]) -> set[str]:
    """Instances that are terminated keep their tags for a while."""
    if not instances:
        return set()
    pages = ec2.get_paginator("describe_instances").paginate(
        Filters=[{"Name": "instance-state-name", "Values": list(_GONE)}]
    )
    return {item["InstanceId"] for page in pages for group in page["Reservations"] for item in group["Instances"]}


def _mentioned(opened: Opened, names: Iterable[str]) -> frozenset[str]:
    """Every text in every state of the environment, those that could not be stored included."""
    found: set[str] = set()
    for name in names:
        unstored = errored.left(opened.services.layout, opened.name, name)
        for content in (_stored(opened, name), unstored.read_bytes() if unstored else b""):
            if content:
                found.update(texts(json.loads(content).get("resources", [])))
    return frozenset(found)


def _stored(opened: Opened, name: str) -> bytes:
    """The whole state, wherever it is."""
    reader = opened.states.reader(opened.name, name)
    if isinstance(reader, LocalStates):
        path = reader.path(opened.name, name)
        return path.read_bytes() if path.exists() else b""
    if isinstance(reader, FetchedStates):
        fetched = reader.fetch(opened.name, name, "")
        return fetched.content if isinstance(fetched, Fetched) else b""
    with at_backend(opened, name, opened.component(name).backend) as session:
        return pull(session, name)[0]


def _judged(opened: Opened, item: Stray) -> Stray:
    known = [*opened.environment.components, *opened.orphans]
    why_not = ""
    if item.component not in known:
        why_not = "its component is neither in pillar nor on record"
    elif opened.services.locks.holder(opened.name, item.component) is not None:
        why_not = "its component is being worked on at this moment"
    else:
        try:
            opened.services.runlog.run(item.run)
        except UnknownName:
            why_not = "it was made by a run that is not on record here"
    kind = KINDS.get(item.type)
    return replace(item, resource=kind.terraform if kind else "", why_not=why_not)


# --- acting -------------------------------------------------------------------------------------------------


def _act(opened: Opened, found: list[Stray], notes: list[str], action: str, keeping: bool) -> dict[str, Any]:
    by_component: dict[str, list[Stray]] = {}
    for item in found:
        if item.why_not:
            notes.append(f"{item.component}: {item.type} {item.id} is left alone: {item.why_not}")
        else:
            by_component.setdefault(item.component, []).append(item)
    left: list[Stray] = [item for item in found if item.why_not]
    run = Run(opened, "strays", Graph(dict.fromkeys(by_component, ())), {"action": action}, "continue", 1, notes)

    def work(name: str, step: StepRecord) -> Status:
        component, mine = opened.component(name), by_component[name]
        part = Part(opened, component, inputs_or_null(opened, component), step)
        if action == "adopt":
            with part.at_work() as session:
                done = _adopt(part, session, _still(opened, mine))
        else:
            with part.locked():
                done = _remove(part, _still(opened, mine), keeping)
        left.extend(item for item in mine if item.id not in done)
        step.details["changes"] = [{"address": id_, "action": said} for id_, said in done.items()]
        for item in mine:
            if item.id not in done:
                step.reason = step.reason or f"{item.type} {item.id} is still there: {_why(action)}"
        return Status.APPLIED if done else Status.UNCHANGED

    returned = run.execute(work)
    returned["strays"] = [vars(item) for item in left]
    return returned


def _still(opened: Opened, mine: list[Stray]) -> list[Stray]:
    """Now that nobody else works on the component: those that are still in no state."""
    in_states = _mentioned(opened, {item.component for item in mine})
    return [item for item in mine if item.id not in in_states]


def _why(action: str) -> str:
    if action == "adopt":
        return "no planned resource, or more than one, could be it (remove=True removes it)"
    return "it can't be removed: see the log, or preserve_data=False for a stateful component"


def _adopt(part: Part, session: Session, mine: list[Stray]) -> dict[str, str]:
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


def _import_id(part: Part, item: Stray) -> str:
    with _ec2(part.opened, part.component) as ec2:
        return KINDS[item.type].name(ec2, item.id)


def _remove(part: Part, mine: list[Stray], keeping: bool) -> dict[str, str]:
    """Those that others still need are tried again after them, until a round removes nothing."""
    import botocore.exceptions

    if keeping and part.component.stateful:
        return {}
    services = part.services
    rule = part.opened.environment.approval_of(part.component.name)
    if WHEN.index(rule.when) >= WHEN.index(DESTRUCTIVE) and not _root_here(services):
        part.step.reason = f"a removal needs approval (when: {rule.when}), so only root at the master's shell does it"
        return {}
    done: dict[str, str] = {}
    with _ec2(part.opened, part.component) as ec2:
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


@contextlib.contextmanager
def _ec2(opened: Opened, component: Component) -> Iterator[Any]:
    """A client with what the component is lent."""
    assert component.provider is not None  # noqa: S101 (it was chosen for its provider)
    with opened.lender.lend(component) as loan, client("ec2", component.provider, loan.environment) as ec2:
        yield ec2
