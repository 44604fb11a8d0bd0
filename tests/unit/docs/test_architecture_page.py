"""docs/ARCHITECTURE.md is the map of the code as it is: every room is on it, every file that it names is there."""

from __future__ import annotations

import re
from pathlib import Path

from tests.unit.test_imports import LEVEL, VERBS

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "ARCHITECTURE.md").read_text()
FEATURES = ROOT / "saltform" / "features"


def first_cells(title):
    """The names in backticks of a table's first column."""
    lines = PAGE.split(f"| {title} |")[1].split("\n\n")[0].splitlines()[2:]
    cells = [line.strip("|").split("|")[0] for line in lines]
    return {name.removesuffix(".py").strip("/") for cell in cells for name in re.findall(r"`([\w/.]+)`", cell)}


def test_every_room_is_on_the_map():
    assert first_cells("room") == set(LEVEL)


def test_every_feature_is_on_the_map():
    assert first_cells("feature") == {path.name for path in FEATURES.iterdir() if (path / "__init__.py").exists()}


def test_every_file_that_the_page_names_is_there():
    places = (ROOT, ROOT / "saltform", ROOT / "saltform" / "engine", VERBS, FEATURES)
    named = set(re.findall(r"`?\b([\w/]+\.py)\b", PAGE))
    assert not [name for name in named if not any((place / name).exists() for place in places)]
