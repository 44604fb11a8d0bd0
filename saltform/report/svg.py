"""A graph as a picture: layers from left to right, rounded boxes, curved arrows.

1. The graph falls into parts that have nothing to do with each other. Single boxes without an edge are set as
   a grid, below all others.
2. For each part grandalf (Sugiyama's method) orders each layer so that few arrows cross, and finds the height
   of each box. Long arrows get a lane through the layers they pass.
3. Where two boxes of a layer came too close, the lower one gives way.
4. Layers become columns, as wide as their widest name. The parts stand below each other.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape

from grandalf.graphs import Edge, Vertex
from grandalf.graphs import Graph as Drawn
from grandalf.layouts import SugiyamaLayout, VertexViewer

from saltform.errors import SaltformError
from saltform.graph import Graph
from saltform.report.style import COLOURS
from saltform.report.words import clean
from saltform.status import Status

BOX_HEIGHT = 34
ROW_GAP = 14
COLUMN_GAP = 72
PART_GAP = 30
MARGIN = 20
TIP = 12
LETTER = 7.4  # average width at the font's size
LONGEST = 32  # letters; longer names end in an ellipsis and are whole in the tooltip
MOST = 1000  # boxes
PLAIN = ("#f6f8fa", "#57606a")
Point = tuple[float, float]


@dataclass
class Picture:
    """Where everything is: boxes by their left upper corner, arrows as the points they pass."""

    boxes: dict[str, tuple[float, float, float]] = field(default_factory=dict)  # x, y, width
    arrows: list[list[Point]] = field(default_factory=list)
    width: float = 0.0
    height: float = 0.0


def draw(graph: Graph, title: str, statuses: Mapping[str, str]) -> str:
    """One self-contained <svg> element; statuses, where known, give a box its colour."""
    if len(graph) > MOST:
        raise SaltformError(
            "too many components for a picture",
            f"found {len(graph)}, a picture is readable and quickly made up to {MOST}",
            "format=tree, format=dot and format=mermaid have no such limit",
        )
    picture = lay_out(graph.reduced())
    width, height = picture.width + 2 * MARGIN, picture.height + 2 * MARGIN
    body = [_arrow(points) for points in picture.arrows]
    body += [_box(name, place, statuses.get(name)) for name, place in picture.boxes.items()]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{-MARGIN} {-MARGIN} {width:.0f} {height:.0f}" '
            f'width="{width:.0f}" height="{height:.0f}" role="img" font-size="13" '
            'font-family="ui-sans-serif, system-ui, Helvetica, Arial, sans-serif">',
            f"<title>{escape(clean(title or 'components'))}</title>",
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" '
            'orient="auto"><path d="M0,0.5 L7.5,4 L0,7.5 z" fill="#8c959f"/></marker></defs>',
            *body,
            "</svg>",
        ]
    )


def lay_out(graph: Graph) -> Picture:
    """Boxes and arrows of a graph without superfluous edges."""
    picture = Picture()
    vertices = {name: _Node(name, number) for number, name in enumerate(graph.order())}
    pairs = [(need, name) for name, needs in graph.needs.items() for need in needs]
    links = [_Link(vertices[need], vertices[name], number) for number, (need, name) in enumerate(pairs)]
    lonely = []
    for part in Drawn(list(vertices.values()), links).C:
        if part.order() == 1:
            lonely.append(next(iter(part.V())).data)
        else:
            _place_part(part, picture)
    _place_grid(sorted(lonely), picture)
    return picture


class _Node(Vertex):
    """A component for grandalf. It keeps sets: numbers as hashes make the picture the same every time."""

    def __init__(self, name: str, number: int) -> None:
        super().__init__(name)
        self._number = number
        # grandalf thinks in rows and we in columns: a box's height is a width there.
        self.view = VertexViewer(w=BOX_HEIGHT, h=1)

    def __hash__(self) -> int:
        return self._number


class _Link(Edge):
    """An arrow for grandalf."""

    def __init__(self, need: Vertex, name: Vertex, number: int) -> None:
        self._number = number
        super().__init__(need, name)

    def __hash__(self) -> int:
        return self._number


def _place_part(part: Drawn, picture: Picture) -> None:
    layout = SugiyamaLayout(part)
    layout.xspace, layout.yspace = ROW_GAP, 1
    layout.init_all()
    layout.draw(8)
    for layer in layout.layers:
        _spread(layer)
    top = min(vertex.view.xy[0] for layer in layout.layers for vertex in layer) - BOX_HEIGHT / 2
    shift = picture.height + (PART_GAP if picture.height else 0) - top
    columns, left = [], 0.0
    for layer in layout.layers:
        width = max((_box_width(vertex.data) for vertex in layer if isinstance(vertex, Vertex)), default=0.0)
        columns.append((left, width))
        left += width + COLUMN_GAP
        for vertex in layer:
            if isinstance(vertex, Vertex):
                picture.boxes[vertex.data] = (
                    columns[-1][0],
                    vertex.view.xy[0] + shift - BOX_HEIGHT / 2,
                    width,
                )
            picture.height = max(picture.height, vertex.view.xy[0] + shift + BOX_HEIGHT / 2)
    picture.width = max(picture.width, left - COLUMN_GAP)
    for edge in part.E():
        picture.arrows.append(_points(edge, layout, columns, shift))


def _spread(layer: list[Vertex]) -> None:
    free = -math.inf
    for vertex in layer:
        height, across = vertex.view.xy
        vertex.view.xy = (max(height, free), across)
        free = vertex.view.xy[0] + BOX_HEIGHT + ROW_GAP


def _points(edge: Edge, layout: SugiyamaLayout, columns: list[tuple[float, float]], shift: float) -> list[Point]:
    """From the right side of one box, through the lanes it was given, to the left side of another."""
    first, last = (layout.grx[vertex].rank for vertex in edge.v)
    points = [(sum(columns[first]), edge.v[0].view.xy[0] + shift)]
    for rank in range(first + 1, last):
        lane = layout.ctrls[edge][rank].view.xy[0] + shift
        points += [(columns[rank][0], lane), (sum(columns[rank]), lane)]
    return [*points, (columns[last][0], edge.v[1].view.xy[0] + shift)]


def _place_grid(names: list[str], picture: Picture) -> None:
    if not names:
        return
    width = max(_box_width(name) for name in names)
    fitting = int((picture.width + ROW_GAP) // (width + ROW_GAP))
    across = max(fitting, math.ceil(math.sqrt(len(names))))
    top = picture.height + (PART_GAP if picture.height else 0)
    for number, name in enumerate(names):
        x, y = (number % across) * (width + ROW_GAP), top + (number // across) * (BOX_HEIGHT + ROW_GAP)
        picture.boxes[name] = (x, y, width)
        picture.width, picture.height = max(picture.width, x + width), y + BOX_HEIGHT


def _box_width(name: str) -> float:
    letters = sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in _shown(name))
    return max(letters * LETTER + 26, 70)


def _shown(name: str) -> str:
    name = clean(name)
    return name if len(name) <= LONGEST else name[: LONGEST - 1] + "…"


def _box(name: str, place: tuple[float, float, float], status: str | None) -> str:
    x, y, width = place
    fill, line = COLOURS[Status(status)] if status else PLAIN
    said = f"{clean(name)}: {status}" if status else clean(name)
    return (
        f'<g><title>{escape(said)}</title><rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" '
        f'height="{BOX_HEIGHT}" rx="8" fill="{fill}" stroke="{line}" stroke-width="1.4"/>'
        f'<text x="{x + width / 2:.1f}" y="{y + BOX_HEIGHT / 2 + 4.5:.1f}" text-anchor="middle" '
        f'fill="#1f2328">{escape(_shown(name))}</text></g>'
    )


def _arrow(points: list[Point]) -> str:
    *points, (end, y) = points
    # The last bit is straight, so that the tip is seen where many arrows come together.
    points.append((end - TIP, y))
    path = f"M{points[0][0]:.1f},{points[0][1]:.1f}"
    for (x0, y0), (x1, y1) in zip(points, points[1:], strict=False):
        bend = (x1 - x0) / 2
        path += f" C{x0 + bend:.1f},{y0:.1f} {x1 - bend:.1f},{y1:.1f} {x1:.1f},{y1:.1f}"
    path += f" H{end:.1f}"
    return f'<path d="{path}" fill="none" stroke="#8c959f" stroke-width="1.3" marker-end="url(#tip)"/>'
