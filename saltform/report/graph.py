"""A graph as people read it: a tree of text, DOT, Mermaid or SVG.

An arrow goes from what is there first to what needs it, so a picture reads in the order of a deploy. Edges
that a longer path already says are left out: `needs: ['*']` would otherwise be an arrow from everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from saltform.graph import Graph
from saltform.report.style import COLOURS
from saltform.report.words import clean, plural
from saltform.status import Status

NOTHING_KNOWN: Mapping[str, str] = MappingProxyType({})


def tree(graph: Graph) -> str:
    """A tree in which every component stands once, below the last of its needs; its other needs are named."""
    reduced = graph.reduced()
    place = {name: number for number, name in enumerate(reduced.order())}
    parents = {name: max(needs, key=place.__getitem__) for name, needs in reduced.needs.items() if needs}
    children: dict[str, list[str]] = {}
    for name, parent in parents.items():
        children.setdefault(parent, []).append(name)
    lines = []
    todo = [(name, "", "") for name in reversed(reduced.needs) if name not in parents]
    while todo:
        name, lead, indent = todo.pop()
        also = [clean(need) for need in reduced.needs[name] if need != parents[name]] if name in parents else []
        lines.append(f"{lead}{clean(name)}" + (f"  (also needs {', '.join(also)})" if also else ""))
        below = children.get(name, [])
        for child in reversed(below):
            last = child == below[-1]
            todo.append((child, indent + ("└─ " if last else "├─ "), indent + ("   " if last else "│  ")))
    return "\n".join([*lines, "", _size(graph)])


def dot(graph: Graph) -> str:
    """For Graphviz and everything that reads its language."""
    lines = [
        "digraph components {",
        "  rankdir=LR;",
        '  node [shape=box, style="rounded,filled", fillcolor="#f6f8fa", color="#8c959f"];',
        '  edge [color="#8c959f"];',
    ]
    lines += [f"  {_quoted(name)};" for name in graph.needs]
    lines += [f"  {_quoted(need)} -> {_quoted(name)};" for need, name in edges(graph)]
    return "\n".join([*lines, "}"])


def mermaid(graph: Graph, statuses: Mapping[str, str] = NOTHING_KNOWN) -> str:
    """For Markdown: merge requests and wikis draw it."""
    # Mermaid's words and signs can't be identifiers, so nodes are numbered and the names are labels.
    ids = {name: f"c{number}" for number, name in enumerate(graph.needs)}
    lines = ["graph LR", *(f'  {ids[name]}("{_entities(name)}")' for name in graph.needs)]
    lines += [f"  {ids[need]} --> {ids[name]}" for need, name in edges(graph)]
    used = sorted({str(statuses[name]) for name in graph.needs if name in statuses})
    for status in used:
        fill, line = COLOURS[Status(status)]
        members = ",".join(ids[name] for name in graph.needs if statuses.get(name) == status)
        style = status.replace(" ", "_")
        lines += [f"  classDef {style} fill:{fill},stroke:{line},color:#1f2328", f"  class {members} {style}"]
    return "\n".join(lines)


def svg(graph: Graph, title: str = "", statuses: Mapping[str, str] = NOTHING_KNOWN) -> str:
    """For browsers: one self-contained element."""
    from saltform.report.svg import draw  # the layout library: only for pictures

    return draw(graph, title, statuses)


def edges(graph: Graph) -> list[tuple[str, str]]:
    """The arrows that are drawn: (what is there first, what needs it)."""
    return [(need, name) for name, needs in graph.reduced().needs.items() for need in needs]


def _size(graph: Graph) -> str:
    return f"{plural(len(graph), 'component')} in {plural(len(graph.layers()), 'layer')}"


def _quoted(text: str) -> str:
    return '"' + clean(text).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def _entities(text: str) -> str:
    """Mermaid's own way to write signs that mean something to it."""
    return re.sub(r"[^\w .,:/@+\-]", lambda sign: f"#{ord(sign[0])};", clean(text))
