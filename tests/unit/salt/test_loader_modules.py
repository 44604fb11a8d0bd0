"""What Salt loads: every function explains itself, and a host without the engine is told what to install."""

from __future__ import annotations

import importlib.util
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

TREE = Path(__file__).parents[3] / "salt"
# An outputter is called by Salt alone, and has a test of its own.
FILES = sorted(path for path in TREE.glob("_*/*.py") if path.parent.name != "_output")
DOCUMENTED = ("_modules", "_runners")  # functions that people call from a command line


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"loaded_{path.parent.name}_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def functions() -> Iterator[tuple[str, Path, Callable[..., object]]]:
    for path in FILES:
        for name, function in inspect.getmembers(load(path), inspect.isfunction):
            if not name.startswith("_") and name != "load":
                yield f"{path.parent.name}.{path.stem}.{name}", path, function


FUNCTIONS = {name: (path, function) for name, path, function in functions()}


def test_nothing_makes_the_tree_a_package() -> None:
    """With an __init__.py the folder `salt` would shadow Salt itself."""
    assert not list(TREE.rglob("__init__.py"))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_explains_itself_and_its_arguments(name: str) -> None:
    path, function = FUNCTIONS[name]
    words = inspect.getdoc(function) or ""
    if path.parent.name in DOCUMENTED:
        assert "CLI Example:" in words
        assert f"{path.stem}.{function.__name__}" in words
    for argument in inspect.signature(function).parameters.values():
        if argument.kind not in (argument.VAR_KEYWORD, argument.VAR_POSITIONAL):
            assert f"\n{argument.name}\n" in words, f"{argument.name} is not explained"


WITHOUT_THE_ENGINE = ("saltform_request",)  # a minion that asks for runs needs nothing but Salt


@pytest.mark.parametrize(
    "path",
    [path for path in FILES if path.stem not in WITHOUT_THE_ENGINE],
    ids=lambda path: f"{path.parent.name}.{path.stem}",
)
def test_a_host_without_the_engine_is_told_what_to_install(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = load(path)
    assert module.__virtual__() == path.stem
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    loads, reason = module.__virtual__()
    assert loads is False
    assert "(README, Install)" in reason
    assert "install saltform" not in reason  # nobody has published that name: whoever does would be installed


@pytest.mark.parametrize(
    ("sfun", "given", "called"),
    [
        ("present", {}, ("present", "staging/web", {"refresh": True, "preserve_data": True})),
        ("present", {"refresh": False}, ("present", "staging/web", {"refresh": True, "preserve_data": True})),
        ("absent", {"preserve_data": False}, ("absent", "staging/web", {"preserve_data": False})),
        ("output", {"equals": None}, ("output", "staging/web", {"equals": None})),
    ],
)
def test_a_watch_does_what_the_watching_function_does(
    sfun: str, given: dict[str, object], called: tuple[str, str, dict[str, object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    module = load(TREE / "_states" / "terraform_resource.py")
    calls: list[tuple[str, str, dict[str, object], tuple[str, ...]]] = []
    monkeypatch.setattr(module, "_do", lambda *arguments: calls.append(arguments))
    module.mod_watch("staging/web", sfun=sfun, __id__="an id", misspelt=1, **given)
    [(function, name, passed_on, _known)] = calls
    assert (function, name, passed_on) == (*called[:2], {"__id__": "an id", "misspelt": 1, **called[2]})


def test_an_argument_that_is_misspelt_is_answered_with_the_nearest(monkeypatch: pytest.MonkeyPatch) -> None:
    runner = load(TREE / "_runners" / "infrastructure.py")
    monkeypatch.setattr(runner, "__context__", {}, raising=False)
    error = runner.deploy("staging", componets="consul")["error"]
    assert error["detail"] == "deploy has no such argument. Did you mean 'components'?"
