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
from saltform.engine.context import EnvironmentContext
from saltform.engine.pulled_states import at_backend, pull
from saltform.engine.work import TAGS
from saltform.errors import SaltformError, UnknownName
from saltform.features.recovery import errored
from saltform.features.recovery.stray_kinds import KINDS
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


def find(context: EnvironmentContext, names: Iterable[str] | None = None) -> tuple[list[Stray], list[str]]:
    """The strays of the environment, or of some components; and whom we couldn't ask."""
    wanted = None if names is None else set(names)
    known = context.everything
    asked: dict[str, Component] = {}  # one component for each provider: they have the same credentials
    for name in known:
        provider = context.component(name).provider if wanted is None or name in wanted else None
        if provider is not None and PROVIDERS[provider.kind].check == "aws":
            asked.setdefault(provider.name, context.component(name))
    found: list[Stray] = []
    notes: list[str] = []
    for component in asked.values():
        try:
            found += [item for item in _tagged(context, component) if wanted is None or item.component in wanted]
        except (Refused, SaltformError) as error:
            notes.append(f"strays of {component.name} and the like can't be asked for: {error}")
    if not found:
        return [], notes
    try:
        in_states = mentioned(context, {*known, *context.records})  # those that are renamed and not yet moved, too
    except (SaltformError, ValueError) as error:
        return [], [*notes, f"strays can't be told from what is in a state: {error}"]
    return [_judged(context, item) for item in found if item.id not in in_states], notes


def named(context: EnvironmentContext, names: Iterable[str]) -> list[str]:
    """Notes about the strays of components that something was killed in."""
    found, notes = find(context, names)
    return [
        *(f"{item.component}: {item.type} {item.id} has our tags and is in no state" for item in found),
        *([f"see and clear them: salt-run infrastructure.strays {context.name}"] if found else []),
        *notes,
    ]


def mentioned(context: EnvironmentContext, names: Iterable[str]) -> frozenset[str]:
    """Every text in every state of the environment, those that could not be stored included."""
    found: set[str] = set()
    for name in names:
        unstored = errored.left(context.services.layout, context.name, name)
        for content in (_stored(context, name), unstored.read_bytes() if unstored else b""):
            if content:
                found.update(texts(json.loads(content).get("resources", []), marks=True))
    return frozenset(found)


@contextlib.contextmanager
def ec2_client(context: EnvironmentContext, component: Component) -> Iterator[Any]:
    """A client with what the component is lent."""
    assert component.provider is not None  # noqa: S101 (it was chosen for its provider)
    with context.lender.lend(component) as loan, client("ec2", component.provider, loan.environment) as ec2:
        yield ec2


def _tagged(context: EnvironmentContext, component: Component) -> Iterator[Stray]:
    provider = component.provider.name if component.provider else ""
    with ec2_client(context, component) as ec2:
        tags: dict[tuple[str, str], dict[str, str]] = {}
        keys = [{"Name": "key", "Values": list(TAGS)}]
        for page in ec2.get_paginator("describe_tags").paginate(Filters=keys):
            for tag in page["Tags"]:
                tags.setdefault((tag["ResourceType"], tag["ResourceId"]), {})[tag["Key"]] = tag["Value"]
        ours = {key: value for key, value in tags.items() if value.get(TAGS[0]) == context.name}
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


def _stored(context: EnvironmentContext, name: str) -> bytes:
    """The whole state, wherever it is."""
    reader = context.states.reader(context.name, name)
    if isinstance(reader, LocalStates):
        path = reader.path(context.name, name)
        return path.read_bytes() if path.exists() else b""
    if isinstance(reader, FetchedStates):
        fetched = reader.fetch(context.name, name, "")
        return fetched.content if isinstance(fetched, Fetched) else b""
    with at_backend(context, name, context.component(name).backend) as session:
        return pull(session, name)[0]


def _judged(context: EnvironmentContext, item: Stray) -> Stray:
    why_not = ""
    if item.component not in context.everything:
        why_not = "its component is neither in pillar nor on record"
    elif context.services.locks.holder(context.name, item.component) is not None:
        why_not = "its component is being worked on at this moment"
    else:
        try:
            context.services.runlog.run(item.run)
        except UnknownName:
            why_not = "it was made by a run that is not on record here"
    kind = KINDS.get(item.type)
    return replace(item, resource=kind.terraform if kind else "", why_not=why_not)
