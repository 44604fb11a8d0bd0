"""What has to be so before an environment's releases are promoted: each gate with what was found.

1. Its last run that changed something ended well, and none of its components is half done.
2. No drift: what was checked since it was applied is clean or acknowledged. What was not checked is said.
3. It has had these releases for as long as the other environment's `promote: {soak: …}` asks for.
4. The binary that proved a release is still the same: another one has proved nothing.
5. What its modules call from elsewhere (git, a registry) is kept with the release: what a branch stands for by now
   has proved nothing.
6. Its own `health:` holds.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from saltform.config import Environment
from saltform.config.types import Health
from saltform.engine.context import EnvironmentContext
from saltform.engine.services import Services
from saltform.engine.snapshot import RESUMABLE
from saltform.errors import EXIT_LOCKED, BinaryError, ModuleError
from saltform.features.minions.health import unwell
from saltform.features.recovery.resumable import changed_components, meant_to_change
from saltform.report.words import duration
from saltform.runlog import ALL, ComponentRecord, RunRecord
from saltform.terraform.binary import find
from saltform.workspace.modules import calls_unkept

_IN_ORDER = ("clean", "acknowledged", "never applied")
Records = Mapping[str, ComponentRecord]


@dataclass(frozen=True)
class Gate:
    """One condition: whether it holds, what was found, and what to do if it doesn't."""

    gate: str
    ok: bool
    said: str
    fix: str = ""


def gates(services: Services, source: Environment, records: Records, soak: float) -> list[Gate]:
    """All gates for promoting these components, in the order in which a person would ask."""
    found = [
        _last_run(services, source.name),
        _whole(source.name, records),
        _drift(services, source.name, records),
        _binaries(services, source.name, records),
        _modules(services, source.name, records),
    ]
    if soak:
        found.append(_soaked(records, soak))
    if source.health is not None:
        reason = unwell(services, source.health)
        well = f"every minion of {source.name} says that it is well"
        found.append(Gate("health", not reason, reason or well, _asked(source.health)))
    return found


def _asked(health: Health) -> str:
    """The same question, for a person."""
    listed = isinstance(health.targets, tuple)
    target = ["-L", ",".join(health.targets)] if listed else ["-C", str(health.targets)]
    return shlex.join(["salt", *target, health.function, *health.arguments])


def _last_run(services: Services, environment: str) -> Gate:
    last = next(_changing(services, environment), None)
    if last is None:
        return Gate("last run", False, "there was none", f"salt-run infrastructure.deploy {environment}")
    said = f"run {last.id} ({last.verb} by {last.author})"
    if last.status == "running":
        fix = (
            f"wait for run {last.id}"
            if services.locks.run_alive(last.id)
            else f"salt-run infrastructure.resume {last.id}"
        )
        return Gate("last run", False, f"{said} has not ended", fix)
    return Gate(
        "last run", last.status == "done", f"{said} is {last.status}", f"salt-run infrastructure.show {last.id}"
    )


def _changing(services: Services, environment: str) -> Iterator[RunRecord]:
    """The runs that changed something or failed, the newest first: not those that another run kept from starting."""
    for run in services.runlog.runs(environment, ALL, verbs=RESUMABLE):
        stopped_early = run.status == "cancelled" or run.exit_code == EXIT_LOCKED
        if meant_to_change(run) and not (stopped_early and not changed_components(services, run)):
            yield run


def _whole(environment: str, records: Records) -> Gate:
    half = [name for name, record in records.items() if not record.fingerprint]
    said = f"half done: {', '.join(half)}" if half else "every component was applied to its end"
    return Gate("applied", not half, said, f"salt-run infrastructure.deploy {environment}")


def _drift(services: Services, environment: str, records: Records) -> Gate:
    checks = services.runlog.drift.checks(environment)
    ended = {name: check for name, check in checks.items() if check.status}
    fresh = {name: ended[name] for name in records if name in ended and ended[name].checked > records[name].applied}
    command = f"salt-run infrastructure.drift {environment}"
    bad = [f"{name} is {check.status}" for name, check in fresh.items() if check.status not in _IN_ORDER]
    if bad:
        return Gate("drift", False, ", ".join(bad), command)
    missing = [name for name in records if name not in fresh]
    if missing:
        return Gate("drift", True, f"not checked since the last apply: {', '.join(missing)} ({command})")
    return Gate("drift", True, "")


def _binaries(services: Services, environment: str, records: Records) -> Gate:
    other = []
    for name, record in records.items():
        proved = services.runlog.release(record.release)["binary"]
        try:
            binary = find(record.binary_path, "", cache_dir=services.layout.cache, processes=services.processes)
        except BinaryError as error:
            other.append(f"{name} was proved with {proved}: {error.summary}")
            continue
        if f"{binary.product} {binary.version}" != proved:
            other.append(f"{name} was proved with {proved}, there is {binary.product} {binary.version} now")
    return Gate("binary", not other, ", ".join(other) or "as proved", f"salt-run infrastructure.deploy {environment}")


def _modules(services: Services, environment: str, records: Records) -> Gate:
    """Releases of earlier versions have only what their modules call by `../` paths."""
    modules, missing = EnvironmentContext.modules_of(services), []
    for name, record in records.items():
        made_of = services.runlog.release(record.release)["module"]
        try:
            if calls_unkept(modules.kept(made_of["digest"], made_of["entry"])):
                missing.append(f"{name} was applied before the modules that it calls from elsewhere were kept")
        except ModuleError as error:
            missing.append(f"{name}: {error.summary}")
    said = ", ".join(missing) or "kept as proved"
    return Gate("modules", not missing, said, f"salt-run infrastructure.deploy {environment}")


def _soaked(records: Records, soak: float) -> Gate:
    now = datetime.now(timezone.utc)
    young = {}
    for name, record in records.items():
        left = soak - (now - datetime.fromisoformat(record.applied.replace("Z", "+00:00"))).total_seconds()
        if left > 0:
            young[name] = left
    if not young:
        return Gate("soak", True, f"all there for {duration(soak)} or longer")
    said = ", ".join(f"{name} needs another {duration(left)}" for name, left in young.items())
    return Gate("soak", False, said, f"wait for another {duration(max(young.values()))}")


def shown(found: list[Gate]) -> list[dict[str, Any]]:
    return [vars(gate) for gate in found]


def why_not(found: list[Gate]) -> str:
    return "; ".join(f"{gate.gate}: {gate.said}" for gate in found if not gate.ok)
