"""graph: which component needs which, drawn."""

from __future__ import annotations

from typing import Any

from saltform.engine.context import EnvironmentContext
from saltform.engine.options import bad
from saltform.engine.result import result
from saltform.engine.services import Services

FORMATS = ("tree", "dot", "mermaid", "svg")


def graph(services: Services, environment: str, form: str) -> dict[str, Any]:
    """The graph as a text tree, DOT, Mermaid or SVG."""
    from saltform.report import graph as drawing

    if form not in FORMATS:
        raise bad("format", f"found {form!r}, expected one of {', '.join(FORMATS)}")
    text = getattr(drawing, form)(EnvironmentContext(services, environment).graph)
    return result("graph", environment=environment, format=form, text=text)
