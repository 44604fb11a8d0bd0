"""upgrade: renew the provider locks within what `version:` allows, and fetch modules from elsewhere anew.

The next deploy plans with them. What modules call from elsewhere (git, a registry) is fetched once for each content
of a module: what is fetched anew here is meant by every component of this master that has the same module.
"""

from __future__ import annotations

import dataclasses
import shutil
from typing import Any

from saltform.engine.context import EnvironmentContext
from saltform.engine.options import Options
from saltform.engine.run import Run
from saltform.engine.services import Services
from saltform.engine.work import ComponentWork
from saltform.errors import SaltformError
from saltform.runlog import StepRecord
from saltform.status import Status
from saltform.terraform.init import locked_providers


def upgrade(services: Services, environment: str, components: Any, dry_run: Any) -> dict[str, Any]:
    """Ask for the newest allowed providers of the named components, or of all; say what changed."""
    options = Options.parse({"components": components, "dry_run": dry_run})
    with EnvironmentContext(services, environment) as context:
        names = context.select(list(options.components))
        _check_own(context, names)
        run = Run(
            context,
            "upgrade",
            context.graph.subset(names),
            {"components": names, "dry_run": options.dry_run},
            "continue",  # one provider that can't be had must not keep the others back
            context.environment.parallelism,
        )
        return run.execute(lambda name, step: _step(context, options, name, step))


def _check_own(context: EnvironmentContext, names: list[str]) -> None:
    """The provider lock is a part of a release: what was promoted keeps the one that was proved."""
    promoted = [name for name in names if context.component(name).origin is not None]
    if promoted:
        source = context.environment.promoted_from
        raise SaltformError(
            f"provider locks of {context.name} come with its releases",
            f"promoted from {source}: {', '.join(promoted)}",
            f"salt-run infrastructure.upgrade {source}, deploy it, and promote that",
        )


def _step(context: EnvironmentContext, options: Options, name: str, step: StepRecord) -> Status:
    component = context.component(name)
    part = ComponentWork(context, component, context.inputs(component), step)
    before, module = locked_providers(part.provider_lock), part.module
    with part.at_work(lock=not options.dry_run) as session:
        try:
            part.prepare(session, upgrade=True)
            if part.record is not None and not options.dry_run:
                part.keep_record(dataclasses.replace(part.record, next_lock=part.provider_lock.decode()))
        finally:
            if options.dry_run:
                shutil.rmtree(session.workspace, ignore_errors=True)
    after = locked_providers(part.provider_lock)
    changes = [_change(source, before.get(source, ""), after.get(source, "")) for source in sorted({*before, *after})]
    if part.module.digest != module.digest:
        sources = ", ".join(part.module.interface.remote_sources)
        changes.append(_change(sources, "" if module.unkept else module.digest[:12], part.module.digest[:12]))
    step.details["changes"] = [change for change in changes if change]
    if not step.details["changes"]:
        return Status.UNCHANGED
    step.reason = ", ".join(f"{change['address']} {change['reason']}" for change in step.details["changes"])
    return Status.PLANNED if options.dry_run else Status.APPLIED


def _change(source: str, before: str, after: str) -> dict[str, str]:
    if before == after:
        return {}
    return {"address": source, "action": "upgrade", "reason": f"{before or 'nothing'} → {after or 'nothing'}"}
