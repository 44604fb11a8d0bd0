"""Imports go one way, the engine doesn't know Salt, and the emulator knows neither."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
OPERATIONS = REPOSITORY / "saltform" / "operations"
# From the bottom up: a room may import what is on its own level or below, never above.
LEVELS = [
    {"errors", "status", "files", "layout", "mounts", "graph", "schedule", "loader"},
    {"process"},
    {"config"},
    {"events", "fleet", "tfstate", "runlog", "workers", "limits"},
    {"workspace", "credentials", "terraform", "report", "progress", "pillar_outputs", "drift"},
    {"plan", "policy"},
    {"operations"},
    {"bridge"},
]
LEVEL = {room: number for number, rooms in enumerate(LEVELS) for room in rooms}


def modules(package):
    return sorted(path for path in (REPOSITORY / package).rglob("*.py") if "__pycache__" not in path.parts)


def imports(path):
    """Every absolute import of a file, wherever it stands, except those only for type checkers."""
    tree = ast.parse(path.read_text())
    ignored = {
        id(child)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        for child in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in ignored:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            if node.module in ("saltform", "saltform.operations"):
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


def test_the_folder_of_operations_shows_the_verbs():
    runner = (REPOSITORY / "salt" / "_runners" / "infrastructure.py").read_text()
    of_the_runner = set(re.findall(r'_call\(\s*"(\w+)"', runner))
    assert len(of_the_runner) > 30
    of_one_component = {"component_commands", "component_states"}  # of Salt's modules terraform, terraform_resource
    assert {path.stem for path in OPERATIONS.glob("*.py")} == of_the_runner | of_one_component | {"__init__"}


@pytest.mark.parametrize(
    "path", sorted(OPERATIONS.glob("*/*.py")), ids=lambda path: str(path.relative_to(OPERATIONS))
)
def test_what_verbs_share_knows_no_verb(path):
    verbs = {f"saltform.operations.{verb.stem}" for verb in OPERATIONS.glob("*.py")}
    assert not verbs.intersection(imports(path))


def test_a_verb_knows_the_verbs_that_it_is_made_of_and_no_other():
    """What two verbs only have in common is in a room."""
    verbs = {path.stem: path for path in OPERATIONS.glob("*.py")}
    known = {
        verb: {name.split(".")[2] for name in imports(path) if name.startswith("saltform.operations.")} & set(verbs)
        for verb, path in verbs.items()
    }
    assert {verb: names for verb, names in known.items() if names} == {
        "component_commands": {"plan", "deploy", "destroy"},
        "component_states": {"component_commands", "status"},
        "deploy": {"plan"},  # with dry_run
        "drift": {"deploy"},  # heals
        "promote": {"plan", "deploy"},
        "report": {"show"},
        "restore": {"backup"},  # whose file it reads
        "resume": {"deploy", "destroy", "promote", "rollback"},
    }


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
    program = "import sys, saltform.bridge.runner, saltform.operations.deploy; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    heavy = ("saltform.credentials", "saltform.plan", "saltform.policy", "saltform.terraform.session", "salt.")
    heavy += tuple(f"saltform.operations.{room}" for room in ("approval.", "fleet.", "release.", "step."))
    assert not [name for name in done.stdout.split() if name.startswith(heavy)]


def test_no_two_files_of_tests_have_one_name():
    """They are modules without a package: `pytest` on the whole tree would import only the first of them."""
    names = Counter(path.name for path in modules("tests") if path.name.startswith("test_"))
    assert not [name for name, times in names.items() if times > 1]
