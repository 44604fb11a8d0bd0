"""Random graphs without a circle, for property tests of everything that walks one."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st


@st.composite
def acyclic(draw: Any, most: int = 9) -> dict[str, list[str]]:
    """Any graph without a circle: components in some order, each needing any of those before it.

    The needs of a component are the bits of one number, because one number is drawn much faster than a set.
    """
    numbers = draw(st.permutations(range(draw(st.integers(1, most)))))
    names = [f"c{number}" for number in numbers]
    return {
        name: [names[bit] for bit in range(place) if chosen >> bit & 1]
        for place, name in enumerate(names)
        for chosen in [draw(st.integers(0, 2**place - 1)) if place else 0]
    }
