"""docs/ARCHITECTURE.md is the map of the code as it is: its rooms, what they import, and the files that it names."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.unit.test_imports import LEVEL, OPERATIONS, imports, modules, room_of

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "ARCHITECTURE.md").read_text()
BASE = {"errors", "files", "layout"}  # known to all
ALL = {"operations", "bridge"}  # join the others


def rows(title):
    """The rows of a table, each as its cells: names in the first and last, in backticks or separated by commas."""
    lines = PAGE.split(f"| {title} |")[1].split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def names(cell):
    return {name.removesuffix(".py").strip("/") for name in re.findall(r"`([\w/.]+)`", cell)}


def test_every_room_is_on_the_map_with_what_it_knows():
    known = {room: set() for room in LEVEL}
    for path in modules("saltform"):
        room = path.relative_to(ROOT / "saltform").parts[0].removesuffix(".py")
        if room in known:
            known[room] |= {room_of(name) for name in imports(path) if name.startswith("saltform.")}
    said = {first: last for first, _, last in rows("room")}
    assert set().union(*map(names, said)) == set(LEVEL)
    for first, last in said.items():
        rooms = names(first)
        found = set().union(*(known[room] for room in rooms)) - rooms - BASE
        assert rooms & ALL or last == (", ".join(sorted(found)) or "nothing"), first


def test_every_room_of_the_operations_is_on_the_map_with_what_a_deploy_of_nothing_imports():
    program = "import sys, saltform.bridge.runner, saltform.operations.deploy; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = [name.split(".")[2:] for name in done.stdout.split() if name.startswith("saltform.operations.")]
    rooms = {path.name for path in OPERATIONS.iterdir() if (path / "__init__.py").exists()}
    assert {room: names(last) for first, _, last in rows("room of `operations/`") for room in names(first)} == {
        room: {parts[1] for parts in loaded if len(parts) == 2 and parts[0] == room} for room in rooms
    }


def test_every_file_that_the_page_names_is_there():
    places = (ROOT, ROOT / "saltform", OPERATIONS, OPERATIONS / "approval")  # where decision 11 is at home
    named = set(re.findall(r"`?\b([\w/]+\.py)\b", PAGE))
    assert not [name for name in named if not any((place / name).exists() for place in places)]
