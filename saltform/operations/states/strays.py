"""What the provider has with our tags and no state knows: found, and judged whether it may be touched.

1. Whatever a generated root creates says in its tags of which environment and component it is and which run made the
   component. All that say this environment are asked for, with the credentials of its components.
2. What a state mentions anywhere, as a resource or as a part of one, is no stray. What a run made that this master
   doesn't know is somebody else's: named, and never touched.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from saltform.config import Component
from saltform.config.kinds import KINDS as PROVIDERS
from saltform.credentials.aws import Refused, client
from saltform.errors import SaltformError, UnknownName
from saltform.operations.environment.opened import Opened
from saltform.operations.states import errored
from saltform.operations.states.pulling import at_backend, pull
from saltform.operations.states.stray_kinds import KINDS
from saltform.operations.step.part import TAGS
from saltform.plan.values import texts
from saltform.tfstate.fetched import Fetched, FetchedStates
from saltform.tfstate.local import LocalStates

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


def find(opened: Opened, names: Iterable[str] | None = None) -> tuple[list[Stray], list[str]]:
    """The strays of the environment, or of some components; and whom we couldn't ask."""
    wanted = None if names is None else set(names)
    known = opened.everything
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
        in_states = mentioned(opened, {*known, *opened.records})  # those that are renamed and not yet moved, too
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


def mentioned(opened: Opened, names: Iterable[str]) -> frozenset[str]:
    """Every text in every state of the environment, those that could not be stored included."""
    found: set[str] = set()
    for name in names:
        unstored = errored.left(opened.services.layout, opened.name, name)
        for content in (_stored(opened, name), unstored.read_bytes() if unstored else b""):
            if content:
                found.update(texts(json.loads(content).get("resources", []), marks=True))
    return frozenset(found)


@contextlib.contextmanager
def ec2_client(opened: Opened, component: Component) -> Iterator[Any]:
    """A client with what the component is lent."""
    assert component.provider is not None  # noqa: S101 (it was chosen for its provider)
    with opened.lender.lend(component) as loan, client("ec2", component.provider, loan.environment) as ec2:
        yield ec2


def _tagged(opened: Opened, component: Component) -> Iterator[Stray]:
    provider = component.provider.name if component.provider else ""
    with ec2_client(opened, component) as ec2:
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
    why_not = ""
    if item.component not in opened.everything:
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
