"""report: a run as a file to keep or to send."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from saltform.engine.options import bad
from saltform.engine.result import result
from saltform.engine.services import Services
from saltform.files import write_atomic
from saltform.graph import Graph
from saltform.verbs.show import show

SUFFIXES = {"json": "json", "markdown": "md", "html": "html"}


def report(services: Services, run: str, form: str) -> dict[str, Any]:
    """A run as a file to keep or send: JSON, Markdown or a page of HTML."""
    if form not in SUFFIXES:
        raise bad("format", f"found {form!r}, expected one of {', '.join(SUFFIXES)}")
    record = services.runlog.run(run)
    shown = show(services, record.id)
    content = _written(shown, form, Graph(record.graph))
    path: Path = services.layout.run(record.id) / f"report.{SUFFIXES[form]}"
    write_atomic(path, content.encode())
    return result(
        "report",
        environment=record.environment,
        run=record.id,
        format=form,
        path=str(path),
        summary=str(path),
    )


def _written(shown: dict[str, Any], form: str, graph: Graph) -> str:
    if form == "json":
        return json.dumps(shown, indent=2, sort_keys=True)
    if form == "markdown":
        from saltform.report import markdown

        return markdown.render(shown, graph)
    from saltform.report import html

    return html.render(shown, graph)
