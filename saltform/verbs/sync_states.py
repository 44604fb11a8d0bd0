"""sync_states: the run log's copy of serials, outputs and addresses follows the states, whoever changed them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from saltform.engine.context import EnvironmentContext
from saltform.engine.orphans import left_pillar
from saltform.engine.result import result
from saltform.engine.services import Services
from saltform.engine.states import CANNOT_READ
from saltform.errors import EXIT_DONE, EXIT_FAILED, NotPromoted, SaltformError
from saltform.features.states import etags
from saltform.features.states.copies import copy_state
from saltform.features.states.pillar_index import refresh_targets, write_index
from saltform.report.words import tally
from saltform.runlog import now
from saltform.runlog.copies import StateCopy
from saltform.workspace.root import address_in_module


def sync_states(services: Services, environment: str | None) -> dict[str, Any]:
    """Copy what the states of one environment, or of all, say; tell what changed, and what changed outside of us."""
    components: dict[str, Any] = {}
    notes: list[str] = []
    failed: SaltformError | None = None
    for name in [environment] if environment else services.environments:
        try:
            found = _sync(services, name)
        except SaltformError as error:
            if environment:
                raise
            failed = failed or (None if isinstance(error, NotPromoted) else error)
            notes.append(f"{name}: {error.summary}; {error.fix or error.detail}")
            continue
        components |= found if environment else {f"{name}/{each}": entry for each, entry in found.items()}
    if failed is not None and not components:
        raise failed
    if not environment:
        notes += left_pillar(services)
    unreadable = any(entry["status"] == "unreadable" for entry in components.values())
    return result(
        "sync_states",
        EXIT_FAILED if unreadable or failed is not None else EXIT_DONE,
        environment=environment or "",
        summary=_summary(environment, components),
        components=components,
        notes=[
            *notes,
            *(
                f"{name} was changed outside: serial {entry['serial']}, ours was {entry['ours']}; "
                "the next deploy plans it"
                for name, entry in components.items()
                if entry["status"] == "changed outside"
            ),
        ],
    )


def _sync(services: Services, name: str) -> dict[str, Any]:
    last = services.runlog.copies.all(name)
    with EnvironmentContext(services, name) as context:
        every = [*context.graph.order(), *context.orphans]
        with context.states.prefetch(every, etags.recall(context, last)):
            found = {each: _synced(context, each, last.get(each)) for each in every}
        read = [each for each, entry in found.items() if entry["status"] != "unreadable"]
        services.runlog.copies.confirm(name, read, now())
        etags.keep(context, read)
        write_index(context, found, _troubles(found, last))
        refresh_targets(context, [each for each, entry in found.items() if entry.get("outputs")])
    return found


def _synced(context: EnvironmentContext, name: str, last: StateCopy | None) -> dict[str, Any]:
    try:
        context.states.invalidate(context.name, name)
        changes = copy_state(context, name, last)
        head = context.states.head(context.name, name)
    except CANNOT_READ as error:
        return {"status": "unreadable", "error": error.as_dict()}
    record = context.records.get(name)
    entry: dict[str, Any] = {"serial": changes.serial, "was": changes.was, "outputs": changes.outputs}
    entry |= {"added": [address_in_module(item) for item in changes.added]}
    entry |= {"removed": [address_in_module(item) for item in changes.removed]}
    if head is None or (record is None and not context.resources(name)):  # never applied, or destroyed
        return entry | {"status": "nothing there"}
    # An apply that is not over, or did not end well, is ours too: its record has no fingerprint yet.
    ours = record is not None and (
        not record.fingerprint or (record.serial, record.lineage) == (head.serial, head.lineage)
    )
    if not ours:
        return entry | {"status": "changed outside", "ours": record.serial if record else None}
    return entry | {"status": "followed" if changes else "in step"}


def _troubles(found: Mapping[str, Any], last: Mapping[str, StateCopy]) -> dict[str, dict[str, str]]:
    """What the minions are told of states that can't be read: why, and how old what they get is."""
    return {
        name: {"problem": entry["error"]["summary"]} | ({"as_of": last[name].copied} if name in last else {})
        for name, entry in found.items()
        if entry["status"] == "unreadable"
    }


def _summary(environment: str | None, components: dict[str, Any]) -> str:
    counted = tally(entry["status"] for entry in components.values())
    return f"sync_states{f' {environment}' if environment else ''}: {counted or 'nothing to copy'}"
