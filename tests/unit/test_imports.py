"""Imports go one way, the engine doesn't know Salt, and the emulator knows neither."""

from __future__ import annotations

import ast
import graphlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
VERBS = REPOSITORY / "saltform" / "verbs"
# From the bottom up: a room may import what is on its own level or below, never above.
LEVELS = [
    {"errors", "status", "files", "layout", "mounts", "graph", "schedule", "loader"},
    {"process"},
    {"config"},
    {"events", "minions", "tfstate", "runlog", "workers", "limits"},
    {"workspace", "credentials", "terraform", "report", "pillar_outputs"},
    {"plan", "policy", "sources"},
    {"engine"},
    {"features"},
    {"verbs"},
    {"bridge"},
]
LEVEL = {room: number for number, rooms in enumerate(LEVELS) for room in rooms}
# What verbs are made of, and is no verb itself.
SHARED = {"permission", "deploying", "applying", "destroying", "undo", "one_component"}


def modules(package):
    return sorted(path for path in (REPOSITORY / package).rglob("*.py") if "__pycache__" not in path.parts)


def imports(path, types=False):
    """Every absolute import of a file, wherever it stands; those only for type checkers if `types` is said."""
    tree = ast.parse(path.read_text())
    ignored = (
        set()
        if types
        else {
            id(child)
            for node in ast.walk(tree)
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
            for child in ast.walk(node)
        }
    )
    for node in ast.walk(tree):
        if id(node) in ignored:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            if (REPOSITORY / node.module.replace(".", "/")).is_dir():
                yield from (f"{node.module}.{alias.name}" for alias in node.names)
            else:
                yield node.module


def room_of(dotted):
    return dotted.split(".")[1]


@pytest.mark.parametrize("path", modules("saltform"), ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_a_room_imports_nothing_from_above(path):
    inside = path.relative_to(REPOSITORY / "saltform").parts[0].removesuffix(".py")
    if inside == "__init__":
        return
    found = [name for name in imports(path) if name.startswith("saltform.")]
    above = [name for name in found if LEVEL[room_of(name)] > LEVEL[inside]]
    assert not above, f"{inside} is on level {LEVEL[inside]}"


def folder_of(dotted):
    """The folder of a module: `saltform.engine` of `saltform.engine.run`; a file of the root is its own."""
    path = REPOSITORY / dotted.replace(".", "/")
    package = dotted if path.is_dir() else dotted.rpartition(".")[0]
    return dotted if package == "saltform" else package


@pytest.mark.parametrize("package", ["saltform", "hive_emulator"])
def test_no_two_folders_import_each_other_in_a_circle(package):
    """Imports for type checkers count, too: who needs the other's type needs the other."""
    graph = {}
    for path in modules(package):
        here = folder_of(".".join(path.relative_to(REPOSITORY).with_suffix("").parts).removesuffix(".__init__"))
        found = {folder_of(name) for name in imports(path, types=True) if name.split(".")[0] == package}
        inside = {other for other in found if other.startswith(here + ".") or here.startswith(other + ".")}
        graph.setdefault(here, set()).update(found - inside - {here})
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_the_folder_of_verbs_shows_the_verbs():
    runner = (REPOSITORY / "salt" / "_runners" / "infrastructure.py").read_text()
    of_the_runner = set(re.findall(r'_call\(\s*"(\w+)"', runner))
    assert len(of_the_runner) > 30
    of_one_component = {"component_commands", "component_states"}  # of Salt's modules terraform, terraform_resource
    assert {path.stem for path in VERBS.glob("*.py")} == of_the_runner | of_one_component | SHARED | {"__init__"}


def test_every_room_has_a_level():
    rooms = {path.stem for path in (REPOSITORY / "saltform").iterdir() if path.suffix == ".py" or path.is_dir()}
    assert rooms - {"__init__", "__pycache__", "py"} <= LEVEL.keys()


@pytest.mark.parametrize("package", ["saltform", "hive_emulator"])
def test_salt_is_imported_only_by_the_bridge(package):
    guilty = [
        str(path)
        for path in modules(package)
        for name in imports(path)
        if name.split(".")[0] == "salt" and "bridge" not in path.parts
    ]
    assert not guilty


def test_the_emulator_and_the_engine_do_not_know_each_other():
    assert not [name for path in modules("hive_emulator") for name in imports(path) if name.startswith("saltform")]
    assert not [name for path in modules("saltform") for name in imports(path) if name.startswith("hive_emulator")]


def test_nothing_but_process_starts_processes():
    allowed = {"process", "launcher.py"}  # the launcher is itself a process that runs terraform
    guilty = [
        path.name
        for path in modules("saltform")
        for name in imports(path)
        if name == "subprocess" and not allowed & set(path.parts)
    ]
    assert not guilty


def test_a_deploy_imports_what_lends_plans_and_starts_only_when_something_has_changed():
    """Most of a `salt-run` that changes nothing would be spent on what it doesn't need."""
    program = "import sys, saltform.bridge.runner, saltform.verbs.deploy; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    heavy = ("saltform.credentials", "saltform.plan", "saltform.policy", "saltform.terraform.session", "salt.")
    heavy += tuple(
        f"saltform.features.{room}" for room in ("approval", "minions", "releases", "recovery", "previews")
    )
    assert not [name for name in done.stdout.split() if name.startswith(heavy)]
