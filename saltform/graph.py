"""Which component needs which, and what follows from it: order, subsets, cycles. Pure: names in, names out.

1. A graph is a mapping from each node to the nodes it needs. Every node is a key.
2. Layers: what needs nothing is layer 0, and every other node is one layer above the highest of its needs.
   The layers one after another, each sorted by name, are the order. The same graph always has the same order.
3. A circle has no layers. It is reported as its closed path, each node needing the next: a → b → a.
4. A subset keeps the order of what is left: if a needs b and b needs c, then a still comes after c in the
   subset without b.
"""

from __future__ import annotations

import graphlib
from collections.abc import Iterable, Mapping
from functools import cached_property

from saltform.errors import CycleError


class Graph:
    """Components and what each one needs."""

    def __init__(self, edges: Mapping[str, Iterable[str]]) -> None:
        self.needs: dict[str, tuple[str, ...]] = {name: tuple(sorted(set(edges[name]))) for name in sorted(edges)}
        for name, needs in self.needs.items():
            for need in needs:
                if need not in self.needs:
                    raise ValueError(f"{name!r} needs {need!r}, which is not in the graph")

    @classmethod
    def within(cls, edges: Mapping[str, Iterable[str]]) -> Graph:
        """Of a larger whole only these nodes: what they need beside them is left out."""
        return cls({name: [need for need in needs if need in edges] for name, needs in edges.items()})

    def __len__(self) -> int:
        return len(self.needs)

    def __contains__(self, name: object) -> bool:
        return name in self.needs

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Graph) and self.needs == other.needs

    def __repr__(self) -> str:
        return f"Graph({self.needs!r})"

    @cached_property
    def needed_by(self) -> dict[str, list[str]]:
        """The edges the other way round: for each node, the nodes that need it themselves, by name."""
        turned: dict[str, list[str]] = {name: [] for name in self.needs}
        for name, needs in self.needs.items():
            for need in needs:
                turned[need].append(name)
        return turned

    def order(self) -> list[str]:
        """All nodes, each after everything it needs; CycleError when there is no such order."""
        return [name for layer in self.layers() for name in layer]

    def layers(self) -> list[list[str]]:
        """The nodes by how many steps lie below them: a layer needs only what is in the layers before it."""
        return self._layers

    @cached_property
    def depth(self) -> dict[str, int]:
        """The number of each node's layer."""
        return {name: number for number, layer in enumerate(self.layers()) for name in layer}

    def find_cycle(self) -> list[str] | None:
        """A closed path of nodes that need each other, starting at its first name, or None."""
        try:
            graphlib.TopologicalSorter(self.needs).prepare()
        except graphlib.CycleError as error:
            return _from_first_name(error.args[1])
        return None

    def reversed_(self) -> Graph:
        """The same nodes in the order of a destroy: what was needed now needs what needed it."""
        return Graph(self.needed_by)

    def closure(self, names: Iterable[str]) -> set[str]:
        """The names and everything they need, however far down."""
        return _reach(names, self.needs)

    def dependents(self, names: Iterable[str]) -> set[str]:
        """Everything that needs one of the names, however far up; the names themselves are not in it."""
        start = set(names)
        return _reach(start, self.needed_by) - start

    def subset(self, names: Iterable[str]) -> Graph:
        """Only these nodes, in an order that agrees with the whole graph's."""
        kept = set(names)
        left_out = self.closure(kept) - kept
        # For a node left out: the nearest kept ones below it, which stand in for it.
        stand_ins: dict[str, set[str]] = {}
        for name in self.order() if left_out else ():
            if name in left_out:
                stand_ins[name] = _replaced(self.needs[name], stand_ins)
        return Graph({name: _replaced(self.needs[name], stand_ins) for name in kept})

    def reduced(self) -> Graph:
        """Without the edges that a longer path already says, which is how a graph is best drawn."""
        below: dict[str, int] = {}  # a bit for each node that can be reached: set algebra on 10,000 nodes is slow
        bit = {name: 1 << number for number, name in enumerate(self.needs)}
        edges: dict[str, list[str]] = {}
        for name in self.order():
            indirect = 0
            for need in self.needs[name]:
                indirect |= below[need]
            edges[name] = [need for need in self.needs[name] if not bit[need] & indirect]
            below[name] = indirect | sum(bit[need] for need in edges[name])
        return Graph(edges)

    @cached_property
    def _layers(self) -> list[list[str]]:
        sorter = graphlib.TopologicalSorter(self.needs)
        try:
            sorter.prepare()
        except graphlib.CycleError as error:
            raise CycleError(_from_first_name(error.args[1])) from None
        layers = []
        while sorter.is_active():
            layer = sorted(sorter.get_ready())
            sorter.done(*layer)
            layers.append(layer)
        return layers


def _from_first_name(cycle: list[str]) -> list[str]:
    """graphlib's path runs from the needed to the needing and starts anywhere: turn it, and start by name."""
    circle = cycle[:0:-1]
    start = circle.index(min(circle))
    return [*circle[start:], *circle[:start], circle[start]]


def _reach(names: Iterable[str], edges: Mapping[str, Iterable[str]]) -> set[str]:
    found = set(names)
    todo = list(found)
    while todo:
        for name in edges[todo.pop()]:
            if name not in found:
                found.add(name)
                todo.append(name)
    return found


def _replaced(needs: Iterable[str], stand_ins: Mapping[str, set[str]]) -> set[str]:
    found: set[str] = set()
    for need in needs:
        if need in stand_ins:
            found |= stand_ins[need]
        else:
            found.add(need)
    return found
