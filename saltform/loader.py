"""Tells Salt's loader where our modules are, whether they came in a wheel or from a checkout."""

from __future__ import annotations

import functools
import importlib.util
from pathlib import Path

_KINDS = {
    "modules": "_modules",
    "states": "_states",
    "runners": "_runners",
    "pillar": "_pillar",
    "output": "_output",
}


def folders() -> dict[str, list[str]]:
    """The folder of each kind of module, as the entry point `salt.loader` wants it: from a plain function."""
    return {kind: [str(root / name) for root in _roots()] for kind, name in _KINDS.items()}


@functools.cache  # Salt asks for each kind of module, and again for each loader
def _roots() -> list[Path]:
    found = importlib.util.find_spec("saltform_tree")
    places = list(found.submodule_search_locations or []) if found else []
    # An editable install adds a place that is no folder.
    return [Path(place) for place in places if Path(place).is_dir()]
