"""One component's drift check: reality against its state, and code against its state, never mixed up.

1. A refresh-only plan, in a folder of its own that is deleted, without a lock. Only when it says that something
   differs is it read in full.
2. Code against state is told by the fingerprint; only where that differs is it planned, and against the state alone.
3. A state that moved meanwhile makes the answer worthless: then the check has failed, and the component is unknown.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from saltform.credentials.masking import Masker
from saltform.engine.context import EnvironmentContext
from saltform.engine.redaction import drift_secrets
from saltform.engine.work import ComponentWork
from saltform.errors import Locked, StateError, TerraformError
from saltform.features.drift.differences import Difference, differences, split_ignored
from saltform.features.states.foreign import refuse_foreign
from saltform.files import write_atomic
from saltform.terraform import planning, schema, show
from saltform.terraform.session import Session
from saltform.terraform.stream import masked
from saltform.workspace.fingerprint import digest
from saltform.workspace.root import PENDING, Unknown, address_in_module

_DYNAMIC = re.compile(r'^\s*(?:resource\s+"(?P<kind>[\w-]+)"\s+"(?P<name>[\w-]+)"|dynamic\s+"(?P<block>\w+)")', re.M)


@dataclass
class Found:
    """What a check found out, before it is compared with what is on record."""

    differences: list[Difference] = field(default_factory=list)
    hidden: dict[str, int] = field(default_factory=dict)  # ignore rule → how many
    pending: list[dict[str, str]] = field(default_factory=list)  # changes of the code that wait for a deploy
    waits_for: list[str] = field(default_factory=list)


def look(part: ComponentWork) -> Found:
    """Compare the component with reality and with its code."""
    before = _not_at_work(part)
    found = Found()
    changed = part.record is None or part.record.fingerprint != part.fingerprint
    with part.at_work(lock=False) as session:
        try:
            refuse_foreign(part.context, part.component.name)
            part.prepare(session)
            part.tell("comparing with reality")
            found.differences, found.hidden = _reality(part, session)
            if changed:
                found.waits_for = sorted({i.component for i in part.inputs.values() if isinstance(i, Unknown)})
                found.pending = _pending(part, session, bool(found.waits_for))
        finally:
            shutil.rmtree(session.workspace, ignore_errors=True)
    if part.head != before:
        raise StateError(
            f"the state of {part.component.id} changed during the check",
            "somebody applied it at the same time",
            f"salt-run infrastructure.drift {part.component.environment} components={part.component.name}",
        )
    return found


def applied(context: EnvironmentContext, name: str) -> bool:
    """Whether there is anything that could differ."""
    return bool(context.resources(name))


def _not_at_work(part: ComponentWork) -> Any:
    """The state's head, of a component that nobody is working on."""
    holder = part.services.locks.holder(part.component.environment, part.component.name)
    if holder is not None:
        said = f"run {holder.get('run', '?')} by {holder.get('author', '?')} is at work on it"
        raise Locked(f"{part.component.id} can't be checked now", said, "check again when that run has ended")
    return part.head


def _reality(part: ComponentWork, session: Session) -> tuple[list[Difference], dict[str, int]]:
    plan_file = session.workspace / ".drift"
    stream = planning.run(session, plan_file, refresh_only=True, lock=False)
    if not stream.drift:
        return [], {}
    part.tell("reading what differs")
    document = show.run(session, plan_file)
    mask = Masker(drift_secrets(document))
    found = [
        replace(
            each,
            before=masked(masked(each.before, mask.line), session.mask),
            after=masked(masked(each.after, mask.line), session.mask),
        )
        for each in differences(document, _computes(part, session), _dynamic_blocks(part))
    ]
    return split_ignored(found, part.component.ignore_drift)


def _pending(part: ComponentWork, session: Session, deferred: bool) -> list[dict[str, str]]:
    """What a deploy would change if reality were as the state says."""
    part.tell("comparing with the code")
    try:
        stream = planning.run(session, None, refresh=False, lock=False)
    except TerraformError:
        if deferred:  # how many there will be depends on a value not known yet
            return []
        raise
    return [
        {"address": address_in_module(change["address"]), "action": change["action"]}
        for change in stream.changes
        if not change["address"].startswith(f"terraform_data.{PENDING}")
    ]


def _computes(part: ComponentWork, session: Session) -> Callable[[str, str], bool]:
    """Which attributes the providers compute: asked once for each set of providers, and kept."""
    known: dict[str, Mapping[str, Any]] = {}

    def computes(kind: str, attribute: str) -> bool:
        if not known:
            known["schema"] = _schema(part, session)
        computed = known["schema"].get(kind, ())
        names = attribute.split(".")
        return any(".".join(names[:depth]) in computed for depth in range(1, len(names) + 1))

    return computes


def _schema(part: ComponentWork, session: Session) -> Mapping[str, Any]:
    made_of = [part.provider_lock.decode(errors="replace"), part.binary.version]
    path = part.services.layout.cache / "schemas" / f"{digest(made_of)}.json"
    try:
        known: Mapping[str, Any] = json.loads(path.read_bytes())
    except (OSError, ValueError):
        known = schema.run(session)
        write_atomic(path, json.dumps(known).encode(), durable=False)
    return known


def _dynamic_blocks(part: ComponentWork) -> frozenset[str]:
    """`aws_security_group.this.ingress` for every block that a resource writes with `dynamic`."""
    found, resource = set(), ""
    for path in part.module.tree.rglob("*.tf"):
        for match in _DYNAMIC.finditer(path.read_text(errors="replace")):
            if match["block"]:
                found.add(f"{resource}.{match['block']}")
            else:
                resource = f"{match['kind']}.{match['name']}"
    return frozenset(found)
