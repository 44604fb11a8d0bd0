"""log: everything that terraform said about one component in one run, secrets masked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from saltform.config import nearest
from saltform.engine.result import result
from saltform.engine.services import Services
from saltform.errors import SaltformError, UnknownName
from saltform.report.words import clean, plural

MOST = 2000  # lines: a return is kept in Salt's job cache; the file has all of them


def log(services: Services, run: str, component: str | None) -> dict[str, Any]:
    """The end of the step's log, and where the whole of it is."""
    record = services.runlog.run(run)
    steps = {step.component: step for step in services.runlog.steps(record.id)}
    name = component or ""
    if name not in steps:
        raise UnknownName("component", name, steps, nearest(name, steps))
    # A step that died didn't get to record its log's place.
    path = Path(steps[name].log or services.layout.run(record.id) / "logs" / f"{name}.log")
    try:
        lines = clean(path.read_text("utf-8", "replace")).splitlines()
    except FileNotFoundError:
        detail = f"it was {steps[name].status}: {steps[name].reason or 'no terraform was started'}"
        raise SaltformError(f"{name} has no log in run {record.id}", detail) from None
    return result(
        "log",
        environment=record.environment,
        summary=f"{plural(len(lines), 'line')} in {path}",
        run=record.id,
        component=name,
        path=str(path),
        text="\n".join(lines[-MOST:]),
    )
