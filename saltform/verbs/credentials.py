"""credentials: which source serves what, for how long, and whether it authenticates. Values are never shown."""

from __future__ import annotations

from typing import Any

from saltform.credentials.check import check
from saltform.engine.context import EnvironmentContext
from saltform.engine.options import Options
from saltform.engine.result import result
from saltform.engine.services import Services
from saltform.errors import EXIT_DONE, EXIT_FAILED
from saltform.report.words import plural


def credentials(services: Services, environment: str, component: Any, only_check: Any) -> dict[str, Any]:
    """Lend each component its credentials, ask its provider, and give them back."""
    options = Options.parse({"components": component, "only": only_check})
    with EnvironmentContext(services, environment) as context:
        names = context.select(list(options.components))
        found = {name: check(context.lender, context.component(name)) for name in names}
        notes = context.lender.notes
    bad = [name for name, item in found.items() if item.ok is False]
    good = f"{plural(len(names), 'component')} {'has what it needs' if len(names) == 1 else 'have what they need'}"
    summary = f"{', '.join(bad)} can't authenticate" if bad else good
    shown = {name: item.as_dict() for name, item in found.items()}
    for item in shown.values():
        if options.only:
            item.pop("served")
    return result(
        "credentials",
        EXIT_FAILED if bad else EXIT_DONE,
        environment=context.name,
        summary=f"credentials {context.name}: {summary}",
        components=shown,
        notes=notes,
    )
