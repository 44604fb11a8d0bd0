"""promote: deploy to one environment exactly the releases that another one proved.

1. What differs between the two is compared as releases, and the gates are asked. Nothing happens unless all hold.
2. The environment is opened as if it had these releases already, and deployed: in order, through policy and
   approval, with its own variables and credentials, like any other deploy.
3. A component's release is on record as promoted as soon as its apply begins, so that every later deploy means it.
   What has left the environment that it came from is no longer promoted: it is an orphan then.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from saltform.config import Environment, Infrastructure, select
from saltform.config.types import Origin
from saltform.engine.context import EnvironmentContext
from saltform.engine.options import Options
from saltform.engine.result import result
from saltform.engine.services import Services
from saltform.errors import EXIT_DONE, EXIT_FAILED, NotReady, SaltformError, UnknownName
from saltform.features.releases.differences import compared
from saltform.features.releases.gates import Gate, gates, shown, why_not
from saltform.features.releases.pillar_file import keep_in_pillar, refuse_edited, written_by_us
from saltform.graph import Graph
from saltform.runlog import ComponentRecord, RunRecord
from saltform.sources.promoted import load_on_record, promoted_set
from saltform.verbs import plan as planned
from saltform.verbs.deploy import run_deploy


def promote(services: Services, source: str, environment: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Bring the releases of `source` to `environment`, or those of the named components with what they need."""
    options = Options.parse(given)
    # Without a look at the module files: what was proved doesn't depend on what they say by now.
    proving = load_on_record(services.pillar, services.runlog, source).environment(source)
    infrastructure = load_on_record(services.pillar, services.runlog, environment)
    target = infrastructure.environment(environment)
    if target.promoted_from != source:
        raise SaltformError(
            f"{environment} is not promoted from {source}",
            f"found promoted_from: {target.promoted_from}" if target.promoted_from else "it has no promoted_from:",
            f"write `promoted_from: {source}` at infrastructure:environments:{environment}",
        )
    records, notes = _chosen(services, proving, options)
    wanted = _wanted(services, infrastructure, target, records, notes, whole=not options.components)
    found = gates(services, proving, records, target.promote.soak)
    with EnvironmentContext(services, environment, promoted=wanted) as context:
        differences = _differences(context, source, records)
        told = {"source": source, "components": differences, "gates": shown(found)}
        if not all(gate.ok for gate in found):
            return _refused(context, source, found, told)
        notes = [f"promotes from {source}: {_listed(differences)}", *notes]
        notes += [f"{gate.gate} of {source}: {gate.said}" for gate in found if gate.gate == "drift" and gate.said]
        if options.components:
            options = dataclasses.replace(options, components=tuple(records))
        if options.dry_run:
            return planned.run_plan(context, options, "promote", notes) | {"promotion": told}
        refuse_edited(context)
        return go_on(context, options, None, notes) | {"promotion": told}


def go_on(
    context: EnvironmentContext, options: Options, resumed: RunRecord | None, notes: list[str] | None = None
) -> dict[str, Any]:
    """The deploy of a promotion, and what has to be put on record after it."""
    returned = run_deploy(context, options, resumed, "promote", notes or [])
    if returned["retcode"] == EXIT_DONE:
        for name in set(context.promoted.on_record) - set(context.promoted.wanted):
            context.services.runlog.releases.forget_promoted(context.name, name)
    keep_in_pillar(context, returned)
    return returned


def _chosen(
    services: Services, proving: Environment, options: Options
) -> tuple[dict[str, ComponentRecord], list[str]]:
    """The components to promote with their records, in order, and what has to be said about the choice."""
    there = services.runlog.components(proving.name)
    applied = [name for name in proving.components if name in there]
    names = select(list(options.components), proving.components)
    never = [name for name in names if name not in there]
    if options.components and never:
        raise UnknownName(f"release in {proving.name} of", never[0], applied)
    needs = {name: services.runlog.release(there[name].release)["needs"] for name in applied}
    graph = Graph.within(needs)
    wanted = [name for name in names if name in applied]
    if not wanted:
        raise NotReady(
            f"{proving.name} has nothing to promote",
            "none of its components was ever applied",
            f"salt-run infrastructure.deploy {proving.name}",
        )
    everything = set(wanted) if options.only else graph.closure(wanted)
    added = [name for name in graph.order() if name in everything and name not in wanted]
    notes = [f"also promoting what that needs: {', '.join(added)} (only=True leaves it out)"] if added else []
    notes += [f"{name} is not promoted: it was never applied in {proving.name}" for name in never]
    return {name: there[name] for name in graph.order() if name in everything}, notes


def _wanted(
    services: Services,
    infrastructure: Infrastructure,
    target: Environment,
    records: Mapping[str, ComponentRecord],
    notes: list[str],
    whole: bool,
) -> dict[str, tuple[str, str]]:
    """The releases that the environment has afterwards. A pin wins; what left the other environment is left out."""
    pins = infrastructure.pins.get(target.name, {})
    ours = written_by_us(services, target.name, pins)
    pins = {name: digest for name, digest in pins.items() if name not in ours}
    now = promoted_set(services.runlog, target.name, target.promoted_from, pins, may_be_empty=True)
    kept = {name: pair for name, pair in now.wanted.items() if name in records or name in pins or not whole}
    left = sorted(set(now.wanted) - set(kept))
    if left:
        notes.append(f"no longer in {target.promoted_from}, so no longer promoted: {', '.join(left)}")
    fresh = {name: (record.release, record.binary_path) for name, record in records.items() if name not in pins}
    notes += [
        f"{name} stays at release {kept[name][0][:12]}: infrastructure:releases:{target.name}:{name} pins it"
        for name in records
        if name in pins and kept[name][0] != records[name].release
    ]
    return kept | fresh


def _differences(context: EnvironmentContext, source: str, records: Mapping[str, ComponentRecord]) -> dict[str, Any]:
    found = {}
    for name, record in records.items():
        origin: Origin | None = context.environment.components[name].origin
        there = (context.name, context.records.get(name))
        found[name] = compared(context.services, (source, record), there, origin)
    return found


def _listed(differences: Mapping[str, Mapping[str, Any]]) -> str:
    return ", ".join(f"{name} {entry['releases'][0][:12]}" for name, entry in differences.items())


def _refused(context: EnvironmentContext, source: str, found: list[Gate], told: Mapping[str, Any]) -> dict[str, Any]:
    fix = next(gate.fix for gate in found if not gate.ok)
    error = NotReady(f"{source} is not ready to be promoted", why_not(found), fix)
    return result(
        "promote",
        EXIT_FAILED,
        environment=context.name,
        error=error.as_dict(),
        promotion=told,
        notes=["nothing was promoted"],
    )
